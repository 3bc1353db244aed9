"""The factors of a context: what a case leaves open, and the values that each is given."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """Values that count as one where contexts are combined; they take turns.

    optional: the standards let a target leave a packet like this without an answer.
    """

    values: tuple[str, ...]
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Factor:
    """One thing that a context varies.

    says: what it is, for a report. levels: the first is what a case meets without a context.
    agreed: the kind of the option with which a SYN-ACK has to agree to it, or None.
    """

    name: str
    says: str
    levels: tuple[Level, ...]
    agreed: int | None = None

    @property
    def usual(self) -> str:
        return self.levels[0].values[0]

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(value for level in self.levels for value in level.values)


def _one(*values: str) -> tuple[Level, ...]:
    return tuple(Level((value,)) for value in values)


_POWERS = tuple(str((1 << power) + step) for power in range(10, 16) for step in (-1, 0, 1))

_BITS = [bit for bit in (step * 13 % 32 for step in range(32)) if bit != 29]
"""High and low ones by turns. Bit 29 would make 192.0.2.x a multicast address."""

FACTORS: tuple[Factor, ...] = (
    Factor("family", "IP version", _one("4", "6")),
    Factor(
        "application",
        "what the target's application does: `think:N` answers N ms later, `shared:N` has N"
        " listeners on its port",
        (
            *_one("echo", "think:20", "think:300", "slow-reader:20", "late-close:20"),
            *_one("late-accept:20", "shared:3"),
        ),
    ),
    Factor(
        "age",
        "fast opens of the client before the case",
        (Level(("0",)), Level(("1",)), Level(("3", "16"))),
    ),
    Factor(
        "times",
        "timestamps: from 1 on, or so that TSval wraps, or from 0 on with ticks of a second",
        _one("none", "small", "wrap", "sign", "zero"),
        agreed=8,
    ),
    Factor("sack", "SACK-permitted in the SYN (RFC 2018)", _one("no", "yes"), agreed=4),
    Factor(
        "shift",
        "window scale of the SYN; 15 counts as 14 (RFC 7323 section 2.3)",
        _one("none", "0", "7", "14", "15"),
        agreed=3,
    ),
    Factor(
        "mss",
        "MSS of the SYN (RFC 9293 section 3.7.1)",
        _one("link", "none", "256", "536", "65535"),
    ),
    Factor(
        "place", "place of the fast open option among the others", _one("second", "first", "last")
    ),
    Factor(
        "fill",
        "an unknown option of so many bytes, or as many as there is room for, or NOP",
        _one("none", "before-2", "before-38", "behind-2", "behind-38", "nop"),
    ),
    Factor("dscp", "DSCP (RFC 2474)", _one("0", "46", "63")),
    Factor(
        "ecn",
        "an ECN-setup SYN (RFC 3168 section 6.1.1), or ECN bits in the IP header",
        (*_one("none", "setup"), Level(("ect",), optional=True), Level(("ce",), optional=True)),
    ),
    Factor("label", "flow label (RFC 6437), or identification of IPv4", _one("0", "1", "max")),
    Factor(
        "headers",
        "options of IPv4, or extension headers of IPv6, that say nothing",
        (*_one("none"), Level(("short",), optional=True), Level(("long",), optional=True)),
    ),
    Factor(
        "urgent",
        "urgent pointer without URG; `sum0` and `sumffff` let it make the checksum 0 or 0xFFFF",
        _one("0", "1", "65535", "sum0", "sumffff"),
    ),
    Factor(
        "push",
        "PSH: where text ends; also in a SYN with data; in nothing; in all but SYN and RST",
        _one("usual", "syn", "never", "all"),
    ),
    Factor(
        "port",
        "source port of the first connection; `same` is the target's",
        (
            Level(("any",)),
            Level(("1", "80", "443", "512", "1023")),
            Level(("same",)),
            Level(_POWERS),
            Level(("65535",)),
        ),
    ),
    Factor(
        "source",
        "second client: the neighbour, or the address that is apart in one bit (of IPv6: four"
        " times that bit)",
        (
            Level(("pair",)),
            Level(tuple(f"bit-{bit}" for bit in _BITS)),
        ),
    ),
    Factor(
        "isn",
        "ISN of the client: the SYN, or the text behind it, wraps or changes its sign bit",
        _one("any", "0", "4294967295", "4294967294", "4294967288", "2147483640"),
    ),
    Factor(
        "iss",
        "ISNs of the target: shortly before they wrap or change their sign bit, or from 0 on",
        _one("any", "wrap", "sign", "zero"),
    ),
    Factor("rtt", "round trip time in milliseconds", _one("0", "20", "100", "300")),
    Factor("mtu", "MTU of the link; IPv6 has 1280 at least", _one("1500", "1280", "576")),
    Factor("text", "bytes of requests to an echo", _one("letters", "zeros", "ones", "options")),
    Factor("size", "least bytes of a request to an echo", _one("16", "17", "256", "1000", "1400")),
)

BY_NAME = {factor.name: factor for factor in FACTORS}

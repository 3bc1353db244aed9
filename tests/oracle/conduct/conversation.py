"""A conversation as its rules see it: segments of both ends, with relative numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from typing import Any

from scapy_tfo import option as opt
from scapy_tfo.icmp import IcmpError
from scapy_tfo.oracle.conduct.conduct import Conduct, Tally
from scapy_tfo.oracle.conduct.history import History, Population
from scapy_tfo.segment import ACK, SYN, Segment

ISN, ISS = 4_294_967_000, 7_000
CLIENT, SERVER = ip_address("192.0.2.1"), ip_address("192.0.2.2")
CLIENT_6, SERVER_6 = ip_address("2001:db8::1"), ip_address("2001:db8::2")


def block(*options: opt.RawOption) -> bytes:
    return opt.padded(opt.push_options(options))


def scale(shift: int) -> opt.RawOption:
    return opt.RawOption(opt.WINDOW_SCALE, 3, bytes((shift,)))


def sack(*edges: tuple[int, int]) -> opt.RawOption:
    data = b"".join(((ISN + edge) % 2**32).to_bytes(4, "big") for pair in edges for edge in pair)
    return opt.RawOption(opt.SACK, 2 + len(data), data)


PERMITTED = opt.RawOption(opt.SACK_PERMITTED, 2)


class Conversation:
    """broken: names of the rules that were broken, in order. now: seconds, moved by hand."""

    def __init__(
        self, *, version: int = 4, ordered: bool = False, whole: bool = True, wary: bool = False
    ) -> None:
        self.ordered, self.whole, self.wary = ordered, whole, wary
        self.tally = Tally()
        self.population = Population()
        self.broken: list[str] = []
        self.now = 0.0
        self._ends = (CLIENT, SERVER) if version == 4 else (CLIENT_6, SERVER_6)
        self.begin("first")

    def begin(self, key: str) -> None:
        """Another connection to the same host."""
        history = History(
            key,
            self.population,
            ordered=self.ordered,
            whole=self.whole,
            steady=self.ordered,
            wary=self.wary,
        )
        self.conduct = Conduct(history, self.tally)

    def ours(self, flags: int = ACK, data: bytes = b"", **fields: Any) -> None:
        """We send a segment; seq and ack are relative."""
        isn, iss = fields.pop("isn", ISN), fields.pop("iss", ISS)
        seq = (isn + fields.pop("seq", 0 if flags & SYN else 1)) % 2**32
        number = fields.pop("ack", 1)
        ack = (iss + number) % 2**32 if flags & ACK else 0
        client, server = self._ends
        server = fields.pop("dst", server)
        segment = Segment(
            src=client, dst=server, sport=40_000, dport=80, seq=seq, ack=ack, flags=flags,
            payload=data, **_options(fields),
        )  # fmt: skip
        self.conduct.sent(segment, self.now)

    def theirs(self, flags: int = ACK, data: bytes = b"", **fields: Any) -> Sequence[str]:
        """The server sends one; returns the rules that it breaks."""
        isn, iss = fields.pop("isn", ISN), fields.pop("iss", ISS)
        seq = (iss + fields.pop("seq", 0 if flags & SYN else 1)) % 2**32
        number = fields.pop("ack", 1)
        ack = (isn + number) % 2**32 if flags & ACK else 0
        client, server = self._ends
        server = fields.pop("src", server)
        segment = Segment(
            src=server, dst=client, sport=80, dport=40_000, seq=seq, ack=ack, flags=flags,
            payload=data, **_options(fields),
        )  # fmt: skip
        found = [each.rule for each in self.conduct.came(segment, self.now, 0)]
        self.broken += found
        return found

    def icmp(self, kind: int = 3, code: int = 1, mtu: int = 0) -> None:
        """An error about the first text of the server that is not acknowledged."""
        client, server = self._ends
        seq = ISS + self.conduct.history.their_una
        about = Segment(src=server, dst=client, sport=80, dport=40_000, seq=seq, payload=b"x")
        error = IcmpError(
            src=client, dst=server, type=kind, code=code, mtu=mtu, quoted=about.to_bytes()
        )
        self.conduct.error(error, self.now)

    def rest(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds

    def end(self) -> None:
        """It is over: what was owed is broken."""
        self.broken += [each.rule for each in self.conduct.waited(self.now)]

    def handshake(
        self,
        offered: Iterable[opt.RawOption] = (opt.mss(1460),),
        answered: Iterable[opt.RawOption] = (opt.mss(1460),),
        **fields: Any,
    ) -> None:
        """SYN, SYN-ACK, ACK."""
        times = next((each for each in offered if each.kind == opt.TIMESTAMPS), None)
        self.ours(SYN, options=offered, **fields)
        self.theirs(SYN | ACK, options=answered)
        later = (opt.timestamps(101, 500),) if times is not None else ()
        self.ours(options=later)


def _options(fields: dict[str, Any]) -> dict[str, Any]:
    options = fields.get("options", b"")
    if isinstance(options, bytes):
        return fields
    return {**fields, "options": block(*options)}


__all__ = ["CLIENT", "ISN", "ISS", "PERMITTED", "Conversation", "block", "sack", "scale"]

"""The profile of a target: the choices that it makes where the standard leaves them open."""

from __future__ import annotations

from dataclasses import dataclass

from scapy_tfo import option as opt

FORMS = (opt.TFO, opt.EXPERIMENT_1, opt.EXPERIMENT_2)


@dataclass(frozen=True, slots=True)
class Usual:
    """The options of a SYN-ACK to a plain SYN that offers everything. mss: bytes by family."""

    mss: dict[int, int | None]
    scale: int | None
    sack: bool
    times: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """Choices of a target.

    name: "rfc", "linux" or "off". fast_open: it speaks fast open at all. forms: kinds in which
    it grants cookies. holds_data: a SYN's data without a cookie is acknowledged, and kept for the
    application until the handshake ends (RFC 9293 section 3.5 allows either). fresh: each program
    meets a target that knows nothing of the others. mtu: of the link, in bytes. options: what it
    answers without fast open; None where nobody asked. whole: segments are seen as they are sent;
    offloads of an interface show several as one. inline: its application gets urgent data in the
    stream (SO_OOBINLINE). gives_up_after: seconds without an answer of ours after which it may
    have given a connection up.
    """

    name: str = "rfc"
    fast_open: bool = True
    forms: frozenset[int] = frozenset((opt.TFO,))
    holds_data: bool = False
    fresh: bool = False
    mtu: int = 1500
    options: Usual | None = None
    whole: bool = True
    inline: bool = True
    gives_up_after: float = 20.0


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds of waiting. answer: for what is owed at once. text: for what an application owes.
    linger: after all that is owed came, for what must not come."""

    answer: float = 0.4
    text: float = 0.8
    linger: float = 0.0


SIMULATED = Patience()
"""On virtual time nothing is late; a delayed ACK may take half a second (RFC 9293 3.8.6.3)."""

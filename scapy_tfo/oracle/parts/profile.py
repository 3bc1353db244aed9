"""The profile of a target: the choices that it makes where the standard leaves them open."""

from __future__ import annotations

from dataclasses import dataclass

from scapy_tfo import option as opt
from scapy_tfo.oracle.parts.pending import COUNTS_NO_MORE

FORMS = (opt.TFO, opt.EXPERIMENT_1, opt.EXPERIMENT_2)
REQUEST, ANY = "request", "any"
MANY = 16
"""Connections, and more than any program opens."""
WHOLE = 536
"""Bytes of text that any stack takes at once; more may be cut (RFC 7413 section 4.1.3)."""


@dataclass(frozen=True, slots=True)
class Usual:
    """The options of a SYN-ACK to a plain SYN that offers everything. mss: by family, those seen
    in bytes: a target that remembers the MTU of a path tells each client its own."""

    mss: dict[int, frozenset[int | None]]
    scale: int | None
    sack: bool
    times: bool

    def mss_beside(self, family: int, came: int | None, mtu: int) -> int | None:
        """The MSS that could have come where this one did: the same, or the largest one seen.

        mtu: of the link, in bytes. An MTU is remembered for minutes (RFC 1191 section 6.3, RFC 8201
        section 4): one as the link has it may come again at any time.
        """
        seen = self.mss.get(family, frozenset())
        sizes = [each for each in seen if each is not None]
        whole = mtu - (40 if family == 4 else 60)
        if came in seen or (came == whole and sizes):
            return came
        return max(sizes, default=None)


SURE_LIFE = 25.0
"""Seconds for which any cookie is good: no server changes its key several times a minute."""


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
    have given a connection up. opens_without: SYNs whose text it hands over at once though they
    have no cookie (RFC 7413 section 7.3): REQUEST for those that ask for one, ANY for all.
    cookies_once: a cookie is good for one fast open. cookies_last: a cookie is good for longer than
    a minute; None where nobody tried. cookie_life: seconds for which one is good for sure.
    grants_each: it grants a cookie to each request, however
    close they come. syn_text: bytes that it takes of a SYN with a good cookie at least. slack: fast
    opens that may be pending beyond the limit. connections: that it holds at a time, as far as
    programs try. resets_last: seconds for which a fast open may count on that was reset while
    pending. ports_rest: after a connection's end its 4-tuple takes no SYN for a while.
    stateless: it keeps nothing of a SYN (SYN cookies, RFC 4987 section 3.6). pushed_only: text goes
    to the application when PSH comes (RFC 9293 section 3.9.1.2). think: seconds that its
    application takes for an answer, at most. paws: it refuses text with an old timestamp (RFC 7323
    section 5.3 leaves open whether it does).
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
    opens_without: frozenset[str] = frozenset()
    cookies_once: bool = False
    cookies_last: bool | None = None
    cookie_life: float = SURE_LIFE
    grants_each: bool = True
    syn_text: int = WHOLE
    slack: int = 0
    connections: int = MANY
    resets_last: float = COUNTS_NO_MORE
    ports_rest: bool = False
    stateless: bool = False
    pushed_only: bool = False
    think: float = 0.0
    paws: bool = True


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds of waiting. answer: for what is owed at once. text: for what an application owes.
    linger: after all that is owed came, for what must not come."""

    answer: float = 0.4
    text: float = 0.8
    linger: float = 0.0


SIMULATED = Patience()
"""On virtual time nothing is late; a delayed ACK may take half a second (RFC 9293 3.8.6.3)."""

"""The handshake of one connection, and what outlives it.

Numbers are relative: ours to our ISN, the target's to its ISS. Times are in seconds.
"""

from __future__ import annotations

from typing import NamedTuple

from scapy_tfo.program.options import Offer, offer_of

_NO_OFFER = offer_of(b"")


class SynRule(NamedTuple):
    """The answers allowed to a SYN with `size` bytes of text.

    owed: a SYN-ACK must come. least, most: bytes of text that it acknowledges. early: the text
    may be handed over before the handshake ends. forms: kinds of option that may come.
    granting: a cookie is expected. The other fields are requirements: silent for no SYN-ACK,
    taken for text taken without right, refused for text refused without right, option for an
    option that must not come, ungranted for one that is missing. single: one good cookie and no
    other Fast Open option.
    """

    owed: bool
    least: int
    most: int
    early: bool
    forms: frozenset[int]
    granting: bool
    silent: str
    taken: str
    refused: str
    option: str
    ungranted: str
    single: bool = False


class Handshake:
    """What our SYN asked for, and what the SYN-ACK said to it.

    rule: for the answer to the SYN, None before one was sent. offer: of its options; other_offers:
    a later SYN had others. size: bytes of its text; fin: it had FIN. syn_at: when the last SYN
    after the first went out. perhaps_early: one of those has a cookie, and is the first to a target
    that dropped the first. iss: the target's, None before a SYN-ACK. taken: numbers of text and
    FIN that the first SYN-ACK acknowledged. accepted: it accepted the fast open. syn_acks,
    syn_ack_at: how many came, and when the last did. opened_at: when our ACK went out.
    """

    __slots__ = (
        *("rule", "offer", "other_offers", "size", "fin", "syn_at", "perhaps_early"),
        *("iss", "taken", "accepted", "syn_acks", "syn_ack_at", "opened_at"),
    )

    def __init__(self) -> None:
        self.rule: SynRule | None = None
        self.offer: Offer = _NO_OFFER
        self.other_offers = False
        self.size = 0
        self.fin = False
        self.syn_at = 0.0
        self.perhaps_early = False
        self.iss: int | None = None
        self.taken: int | None = None
        self.accepted = False
        self.syn_acks = 0
        self.syn_ack_at = 0.0
        self.opened_at: float | None = None

    @property
    def early(self) -> bool:
        """The application may have the SYN's text before the handshake ends."""
        return self.rule is not None and self.rule.early and self.taken != 0

    def ask(self, rule: SynRule, offer: Offer, size: int, *, fin: bool) -> None:
        """We sent the first SYN."""
        self.rule = rule
        self.offer = offer
        self.size = size
        self.fin = fin

    def ask_again(self, now: float) -> None:
        """We sent another SYN, where there may be a connection."""
        self.syn_at = now

    def ask_anew(self, offer: Offer) -> None:
        """We sent another SYN, where there may be none."""
        self.perhaps_early = self.perhaps_early or offer.has_cookie

    def ask_for_more(self, offer: Offer) -> None:
        """The options of another SYN, which may be the one that is answered."""
        self.other_offers = self.other_offers or _asks(offer) != _asks(self.offer)

    def begin_answer(self, iss: int) -> None:
        """The first SYN-ACK came."""
        self.iss = iss

    def answer(self, taken: int, now: float, *, accepted: bool) -> None:
        """The first SYN-ACK was judged."""
        self.taken = taken
        self.accepted = accepted
        self.syn_acks = 1
        self.syn_ack_at = now

    def answer_again(self, now: float) -> None:
        """The SYN-ACK came again."""
        self.syn_acks += 1
        self.syn_ack_at = now

    def end(self, now: float) -> None:
        """We sent an ACK that the target must have taken."""
        self.opened_at = now


class History:
    """What outlives an incarnation.

    pristine: nothing was sent yet. cookie: that was granted here last; answer: the options of the
    last first SYN-ACK. asks_for_ecn: a SYN had one of the bits for ECN, which a server may take for
    a request of accurate ECN in any combination (RFC 9768 section 3.1.3). reset_at: when our RST
    went out that ended the last connection; perhaps_reset_at: that ended it for some. releases:
    RSTs and bare ACKs of ours after a SYN-ACK.
    """

    __slots__ = (
        *("answer", "asks_for_ecn", "cookie", "pristine", "releases"),
        *("perhaps_reset_at", "reset_at"),
    )

    def __init__(self) -> None:
        self.pristine = True
        self.cookie: bytes | None = None
        self.answer: Offer = _NO_OFFER
        self.asks_for_ecn = False
        self.reset_at: float | None = None
        self.perhaps_reset_at: float | None = None
        self.releases = 0

    def begin(self) -> None:
        """Something was sent."""
        self.pristine = False

    def ask_for_ecn(self) -> None:
        """A SYN had a bit for ECN."""
        self.asks_for_ecn = True

    def open(self) -> None:
        """A SYN went out that begins a connection."""
        self.reset_at = self.perhaps_reset_at = None

    def reset(self, now: float) -> None:
        """A RST of ours ended the connection."""
        self.reset_at = now

    def perhaps_reset(self, now: float) -> None:
        """A RST of ours ended the connection for some."""
        self.perhaps_reset_at = now

    def release(self) -> None:
        """A RST of ours, or a bare ACK, may have given back a place among the pending."""
        self.releases += 1

    def learn_answer(self, answer: Offer) -> None:
        """The options of a first SYN-ACK."""
        self.answer = answer

    def grant(self, cookie: bytes) -> None:
        """A cookie came."""
        self.cookie = cookie


def _asks(offer: Offer) -> tuple[bool, int | None, bool]:
    """What a SYN offers, values of clocks left out."""
    return offer.times is not None, offer.scale, offer.sack

"""Gives the conversations of one case what their context says."""

from __future__ import annotations

import contextlib
import copy
import functools
import random
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Protocol

from scapy_tfo import option as opt
from scapy_tfo.errors import SetupError
from scapy_tfo.option import RawOption
from scapy_tfo.segment import Address, Segment
from scapy_tfo.suite.context import ends, headers, offers
from scapy_tfo.suite.context.context import USUAL, Context
from scapy_tfo.suite.context.signing import SIZE, is_signed, signed
from scapy_tfo.wire.link import Link

_FIRST_TSVAL = {"small": 1, "wrap": (1 << 32) - 2, "sign": (1 << 31) - 2}

_DEFAULT_MSS = {4: 536, 6: 1220}
"""Bytes, where a SYN says nothing (RFC 9293 section 3.7.1)."""


FIXED = {4: 40, 6: 60}
"""IP and TCP header without options, in bytes."""


class Board(Protocol):
    """What a conversation is sent on, see suite.switchboard.Switchboard."""

    @property
    def link(self) -> Link: ...

    def has_met(self, key: tuple[Address, int, Address, int]) -> bool: ...


class Dress:
    """A context as one case sees it, in one family.

    family: 4 or 6. now: a clock, in seconds. mtu: of the link, in bytes. thinks: seconds that the
    application takes to answer.
    """

    def __init__(self, context: Context, family: int, now: Callable[[], float], mtu: int) -> None:
        self.context = context
        self._family = family
        self._mtu = mtu
        self._now = now
        self._stamped = 0
        self._plain = not context.values
        self._began = 0.0 if self._plain else now()
        name, _, milliseconds = context["application"].partition(":")
        self.thinks = int(milliseconds or 0) / 1000 if name != "echo" else 0.0
        self.overhead = headers.overhead(context, family)
        self._key = b""

    def signing(self, key: bytes) -> Dress:
        """The same for one conversation whose segments are signed with TCP MD5."""
        signing = copy.copy(self)
        signing._key, signing.overhead = key, self.overhead + SIZE
        return signing

    def is_signed(self, segment: Segment) -> bool:
        """Whether it has the signature that this conversation demands, if any."""
        return not self._key or is_signed(segment, self._key)

    # What a conversation begins with

    def reserve(self, board: Board, source: Address, to: tuple[Address, int], port: int) -> int:
        """A source port: that one, or for 0 one of the context that nobody has, or else any.

        to: the target's address and port. Raises SetupError where that one is taken.
        """
        chosen = () if port or self._plain else ends.ports(self.context, to[1])
        for each in chosen:
            # The target may remember a connection that had the same ends.
            if board.has_met((source, each, *to)):
                continue
            with contextlib.suppress(SetupError):
                return board.link.reserve_port(source, each)
        return board.link.reserve_port(source, port)

    def isn(self, dice: random.Random, *, again: bool) -> int:
        """The ISN of a conversation. again: it has the ends of another, whose ISN the target may
        remember."""
        drawn = dice.getrandbits(32)
        return drawn if again else ends.isn(self.context, drawn)

    def mss(self, link: int) -> int:
        """The MSS that a SYN offers, in bytes, or means where it has none. link: what the link
        carries."""
        wanted = "link" if self._plain else self.context["mss"]
        known = {"link": link, "none": _DEFAULT_MSS[self._family]}
        return known[wanted] if wanted in known else int(wanted)

    # Options

    def offer(
        self,
        mss: int,
        fast_open: Sequence[RawOption],
        others: Sequence[RawOption],
        later: Sequence[RawOption],
        size: int,
    ) -> tuple[list[RawOption], bool]:
        """The options of a SYN, and whether they have timestamps that are not the case's.

        others: what the case gives besides. later: what is yet to be added to them. size: of its
        data, in bytes.
        """
        if self._plain:
            return [opt.mss(mss), *fast_open, *others], False
        silent = self.context["mss"] == "none" and mss == _DEFAULT_MSS[self._family]
        head = [] if silent else [opt.mss(mss)]
        room = self._mtu - FIXED[self._family] - size & ~3
        room = min(room, opt.MAX_OPTIONS) - len(opt.push_options(later))
        taken = {each.kind for each in (*others, *later)}
        context = self.context.without(("times",) if opt.TIMESTAMPS in taken else ())
        every = offers.offered(context, head, fast_open, others, self.tsval(), room)
        ours = any(each.kind == opt.TIMESTAMPS for each in every)
        return every, ours and opt.TIMESTAMPS not in taken

    def agreed_tsval(self, heard: Sequence[Segment]) -> int | None:
        """The next TSval, where the SYN-ACK agreed to timestamps. heard: what came so far."""
        answer = next((each for each in heard if each.is_syn_ack), None)
        return self.tsval() if answer is not None and answer.timestamps else None

    def tsval(self) -> int:
        """The next TSval: it grows with each segment and with each millisecond, over all
        conversations of the case, or each second where it is 0 at first."""
        first = _FIRST_TSVAL.get(self.context["times"])
        passed = self._now() - self._began
        if first is None:
            # A tick of a second is the longest (RFC 7323 section 5.4).
            return int(passed)
        self._stamped += 1
        return (first + self._stamped - 1 + int(passed * 1000)) & 0xFFFFFFFF

    # Headers

    def mark(self, values: MutableMapping[str, Any]) -> None:
        """Give fields of a Segment the values of the context."""
        if not self._plain:
            headers.mark(self.context, self._family, values)

    def packet(self, segment: Segment) -> tuple[Segment, bytes]:
        """A segment as it leaves, and its bytes."""
        if self._key:
            segment = signed(segment, self._key)
        if self._plain:
            return segment, segment.to_bytes()
        segment = headers.summed(self.context, segment)
        return segment, headers.to_bytes(self.context, segment, self._mtu)


@functools.cache
def plain(family: int) -> Dress:
    """What a conversation wears that has no context."""
    return Dress(USUAL, family, lambda: 0.0, 65535)

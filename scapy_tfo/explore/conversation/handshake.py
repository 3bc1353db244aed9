"""What the answer to a SYN may acknowledge and carry, by the cookie of the SYN (RFC 7413 4.2.2)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.option import FastOpen
from scapy_tfo.oracle.parts.profile import ANY, REQUEST, Profile
from scapy_tfo.segment import ACK, RST, SYN, Segment

_AGAIN = 0.9
"""Seconds between two SYNs, where the second is none that a path made: less than the client's first
timeout."""
_AT_ONCE = 0.1
"""Seconds within which what answers a SYN answers none before it."""
_NEVER = 6.0
"""Seconds for which no host makes a client wait."""
_AGREED = (opt.WINDOW_SCALE, opt.SACK_PERMITTED, opt.TIMESTAMPS)
_OFFERS = {opt.MSS, opt.WINDOW_SCALE, opt.SACK_PERMITTED, opt.TIMESTAMPS}


def without_fast_open(profile: Profile) -> Profile:
    """What is known of a target, at a listener that has no fast open."""
    return replace(profile, fast_open=False, opens_without=frozenset())


def _kinds(segment: Segment) -> tuple[bool, ...]:
    """Which of the options it has that both ends must agree on."""
    return tuple(segment.option(each) is not None for each in _AGREED)


class Handshake:
    """The handshake of one connection. isn: the client's. cookie: its good one. taken: a
    right target takes the data that comes with it. narrowed: the target was told of a small MTU.
    off: its listener has no fast open.

    answered: the target sent a SYN-ACK. acked: an ACK behind it has come to the target.
    at_once: the SYN-ACK came shortly behind the only SYN.
    """

    def __init__(
        self,
        profile: Profile,
        isn: int,
        cookie: bytes,
        *,
        taken: bool,
        narrowed: bool = False,
        off: bool = False,
    ) -> None:
        self._profile = profile
        self._off = off
        self._narrowed = narrowed
        self._taken = taken
        self._isn = isn
        self._cookie = cookie
        self._syns: list[Segment] = []
        self._text_end = 0
        self._asked_at: float | None = None
        self._latest = 0.0
        self._offered: set[tuple[bool, ...]] = set()
        self._agreed: set[tuple[bool, ...]] = set()
        self.answered = self.acked = self.at_once = False

    def forgot(self, segment: Segment, first: int, accepted: bool, gone: bool) -> str:
        """Why a target cannot know what a segment belongs to, or what was agreed on, "" where it
        can. One may keep nothing of a SYN (RFC 4987 section 3.6). first: the number behind the SYN
        and what it took."""
        if len(self._offered) > 1 and len(self._agreed) > 1:
            return "two SYNs offered different options, and each was answered with its own"
        if not self._profile.stateless:
            return ""
        if gone:
            return "an old ACK may open a connection at a listener that keeps nothing of a SYN"
        if accepted or segment.flags & SYN or segment.seq == first:
            return ""
        return "a listener that keeps nothing of a SYN knows no later segment"

    def sent(self, segment: Segment, now: float) -> Problem | None:
        """A segment of the client's came to the target; what that shows. now: seconds."""
        if segment.flags & SYN:
            self._syns.append(segment)
            self._offered.add(_kinds(segment))
            self._latest = now
            return self._asked(now)
        if segment.flags & (RST | ACK) == ACK:
            self.acked = self.answered
            end = seq.distance(self._isn, segment.end) - 1
            self._text_end = max(self._text_end, end)
        return None

    def sent_beside(self, syn: Segment) -> None:
        """Another SYN was sent in the client's name: which of them is answered nobody can tell."""
        self._offered.add(_kinds(syn))
        if not self.answered:
            self._syns.append(syn)

    def _asked(self, now: float) -> Problem | None:
        """A SYN came. Nothing was lost, so those before it are answered, whatever options they have
        (RFC 9293 section 3.10.7.2; RFC 7413 section 4.1.1: a bad option is ignored)."""
        first = self._asked_at
        if first is None:
            self._asked_at = now
        if first is None or self.answered or now - first <= _NEVER:
            return None
        return self._unanswered(now - first)

    def _unanswered(self, seconds: float) -> Problem:
        self._asked_at = math.inf
        told = f"nothing in {seconds:.1f} s"
        return Problem("syn-unanswered", -1, "an answer to a SYN at a listener", told)

    def answers(self, segment: Segment, now: float) -> Problem | None:
        """The target sent a segment; whether it ignored a SYN before it. now: seconds.

        A host may take its time for an answer. One that answers a SYN at once, as it always does,
        and none of those before it, did not want them.
        """
        first = self._asked_at
        if first is None or self.answered or not segment.flags & (SYN | RST):
            return None
        if segment.flags & RST:
            # An application that aborts in SYN-RECEIVED (RFC 9293 section 3.10.5) is an answer.
            self._asked_at = None
            return None
        is_prompt = now - self._latest <= _AT_ONCE
        self.at_once = is_prompt and len(self._syns) == 1
        ignored = self._latest - first > _AGAIN and is_prompt
        return self._unanswered(self._latest - first) if ignored else None

    def _is_good(self, segment: Segment) -> bool:
        """Whether its data may be taken at once."""
        cookie = segment.cookie
        if cookie is not None and cookie and cookie == self._cookie:
            return True
        opens = self._profile.opens_without
        return ANY in opens or (REQUEST in opens and cookie == b"")

    def came(self, segment: Segment, number: int) -> Problem | None:
        """The target sent a segment; what is wrong with it."""
        if segment.flags & RST:
            return None
        if not segment.flags & SYN:
            return self._later(segment, number)
        self._agreed.add(_kinds(segment))
        first, self.answered = not self.answered, True
        if not self._syns:
            return Problem("answer-to-nothing", number, "no SYN-ACK without a SYN", str(segment))
        acked = seq.distance(self._isn, segment.ack) - 1
        sizes = [len(each.payload) for each in self._syns]
        most = max(sizes) if self._may_take() else 0
        if not 0 <= acked <= most:
            taken = not most and 0 < acked <= max(sizes)
            rule = "refused-text-acknowledged" if taken else "syn-ack-number"
            expected = f"{most} bytes at most" if most else "no text"
            return Problem(rule, number, f"{expected} acknowledged", f"{acked} bytes acknowledged")
        opening = self._syns[0]
        if first and len(self._syns) == 1:
            return self._first(segment, opening, acked, number)
        return None

    def _later(self, segment: Segment, number: int) -> Problem | None:
        """Data of a SYN that was not taken is gone, and has to come again (RFC 7413 4.2.2)."""
        acked = seq.distance(self._isn, segment.ack) - 1
        if self._may_take() or not self._syns or acked <= self._text_end:
            return None
        told = f"{max(self._text_end, 0)} bytes acknowledged, that came behind the SYN"
        return Problem("refused-data-taken", number, told, f"{acked} bytes")

    def _may_take(self) -> bool:
        return self._profile.holds_data or any(map(self._is_good, self._syns))

    def _first(self, segment: Segment, opening: Segment, acked: int, number: int) -> Problem | None:
        profile = self._profile
        # More than every stack takes at once may be cut (RFC 7413 section 4.1.3).
        wanted = len(opening.payload) if len(opening.payload) <= profile.syn_text else 0
        asked = [each for each in opening.fast_open if isinstance(each, FastOpen)]
        forms = {each.form for each in asked}
        is_read = bool(forms & profile.forms)
        is_good = bool(self._cookie) and opening.cookie == self._cookie and is_read
        if self._taken and is_good and acked < wanted:
            return Problem("fast-open-refused", number, f"{wanted} bytes taken", f"{acked} bytes")
        granted = [each for each in segment.fast_open if isinstance(each, FastOpen)]
        if segment.fast_open and (self._off or not asked):
            return Problem("option-unasked", number, "no Fast Open option", str(segment))
        if len(segment.fast_open) > 1 or len(granted) < len(segment.fast_open):
            return Problem("option-odd", number, "one Fast Open option, and whole", str(segment))
        if granted and granted[0].form not in forms:
            kinds = ", ".join(str(int(each)) for each in sorted(forms))
            return Problem("option-form", number, f"kind {kinds}, as asked", str(segment))
        if (found := self._options(segment, opening, number)) is not None:
            return found
        grants = profile.fast_open and profile.grants_each and not profile.opens_without
        wants = opening.cookie == b"" and is_read and len(asked) == 1
        if wants and grants and not any(each.cookie for each in granted):
            return Problem("no-cookie", number, "a cookie for a request", str(segment))
        return None

    def _options(self, segment: Segment, opening: Segment, number: int) -> Problem | None:
        """Fast open changes nothing about the other options (RFC 7413 section 4.1)."""
        usual = self._profile.options
        offered = Counter(each.kind for each in opt.pull_options(opening.options))
        # What is behind a length that is a lie may read as any option, once more.
        if usual is None or any(offered[kind] != 1 for kind in _OFFERS):
            return None
        scale, ours = segment.option(opt.WINDOW_SCALE), opening.option(opt.WINDOW_SCALE)
        left_out = scale is None and ours is not None and ours.data == b"\0"
        came = (
            segment.mss,
            # A shift of 0 need not be answered (RFC 7323 section 2.2).
            usual.scale if left_out else None if scale is None else scale.data[0],
            segment.option(opt.SACK_PERMITTED) is not None,
            segment.timestamps is not None,
        )
        mss = usual.mss_beside(segment.src.version, segment.mss, self._profile.mtu)
        if self._narrowed and segment.mss is not None and segment.mss < (mss or 0):
            # What it takes itself may follow the path, too.
            mss = segment.mss
        wanted = (mss, usual.scale, usual.sack, usual.times)
        if came == wanted:
            return None
        told = "MSS, window scale, SACK and timestamps as in other SYN-ACKs"
        return Problem("options-changed", number, f"{told}: {wanted}", f"{came}")

    def handed_over(self) -> Problem | None:
        """The application got the connection."""
        if self.acked or any(map(self._is_good, self._syns)):
            return None
        return Problem(
            "handed-over-early",
            -1,
            "no connection for the application before the handshake ends",
            "accepted behind the SYN, without a good cookie",
        )

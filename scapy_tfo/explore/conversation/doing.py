"""Does the deeds of a schedule, each where its place has come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from scapy_tfo.explore.conversation.deeds import KINDS, Doing, Pieces, joined, with_text_before
from scapy_tfo.explore.conversation.schedule import Deed
from scapy_tfo.explore.ends.context import Context
from scapy_tfo.segment import RST, SYN, Segment

_WAITS = 0.2
"""Seconds for which text waits for a FIN."""


class Deeds:
    """Those of one conversation, up to one that connects again. passed: packets so far.

    again: the deed that connects again, if there is one. then: those of the next connection.
    """

    def __init__(self, deeds: Sequence[Deed], doing: Doing) -> None:
        self._doing = doing
        self.passed = 0
        at = next((at for at, each in enumerate(deeds) if KINDS[each.kind].again), None)
        self.again = None if at is None else deeds[at]
        self.then = () if at is None else tuple(deeds[at + 1 :])
        self._left = [each for each in deeds[:at] if not KINDS[each.kind].company]
        self.company = [each for each in deeds[:at] if KINDS[each.kind].company]
        self._held: Segment | None = None
        self._last: Segment | None = None

    @property
    def edits(self) -> bool:
        """Whether segments of either end may still be changed."""
        return bool(self._left) or self._held is not None

    def _due(self) -> list[Deed]:
        return [each for each in self._left if each.after <= self.passed]

    def leaves(self, segment: Segment, carry: Callable[[Segment], None]) -> None:
        """A segment of the client's is to go on its way. carry: takes what does."""
        held, self._held = self._held, None
        if held is not None:
            whole = joined(held, segment)
            if whole is None:
                self._send(held, carry)
            else:
                segment = whole
        last = self._last
        if segment.payload and not segment.flags & (SYN | RST):
            self._last = segment
        for each in self._due():
            repeats = KINDS[each.kind].repeats
            if repeats is not None and repeats(segment):
                longer = with_text_before(last, segment)
                if longer is not None:
                    self._left.remove(each)
                    segment = longer
                    break
        for each in self._due():
            joins = KINDS[each.kind].joins
            if joins is not None and joins(segment, self._doing):
                self._left.remove(each)
                self._hold(segment, carry)
                return
        self._send(segment, carry)

    def _hold(self, segment: Segment, carry: Callable[[Segment], None]) -> None:
        def waited() -> None:
            if self._held is segment:
                self._held = None
                self._send(segment, carry)

        self._held = segment
        self._doing.later(_WAITS, waited)

    def _send(self, segment: Segment, carry: Callable[[Segment], None]) -> None:
        pieces: Pieces = [(0.0, segment)]
        for each in self._due():
            edit = KINDS[each.kind].edit
            if edit is not None:
                changed = _edited(pieces, edit)
                if changed:
                    pieces = changed
                    self._left.remove(each)
        for seconds, piece in pieces:
            if seconds:
                self._later(seconds, piece, carry)
            else:
                carry(piece)

    def _later(self, seconds: float, piece: Segment, carry: Callable[[Segment], None]) -> None:
        self._doing.later(seconds, lambda: carry(piece))

    def comes(self, segment: Segment) -> Segment:
        """A segment of the target's is on its way; what arrives."""
        for each in self._due():
            edit = KINDS[each.kind].back
            pieces = [] if edit is None else edit(segment)
            if pieces:
                self._left.remove(each)
                segment = pieces[0][1]
        return segment

    def beside(self, is_open: bool, inject: Callable[[str], bool]) -> None:
        """Do what is done beside the segments that are sent anyway. is_open: the handshake is over,
        at both ends. inject: sends a segment by its name, False where there is none."""
        for each in self._due():
            kind = KINDS[each.kind]
            done = False
            if kind.act is not None:
                done = is_open and kind.act(self._doing)
            elif kind.beside:
                done = (is_open or not kind.waits) and inject(kind.beside)
            if done:
                self._left.remove(each)

    def company_due(self) -> bool:
        """Whether another client is to begin now; True once for each."""
        if self.company and self.company[0].after <= self.passed:
            del self.company[0]
            return True
        return False


def _edited(pieces: Pieces, edit: Callable[[Segment], Pieces]) -> Pieces:
    """The pieces with the first one changed that is fit; [] where none is."""
    for at, (seconds, piece) in enumerate(pieces):
        changed = edit(piece)
        if changed:
            late = [(seconds + more, each) for more, each in changed]
            return [*pieces[:at], *late, *pieces[at + 1 :]]
    return []


def context_for(context: Context, deeds: Sequence[Deed]) -> Context:
    """A context with the settings that deeds take."""
    wanted: dict[str, Any] = {}
    for each in deeds:
        for name, value in KINDS[each.kind].settings:
            wanted.setdefault(name, value)
    if not wanted:
        return context
    settings = replace(context.settings, **wanted)
    return replace(context, settings=settings)

"""The receiving half of a connection: window, reassembly, end of stream (RFC 9293 3.10.7.4)."""

from __future__ import annotations

from scapy_tfo import seq

_AGES = 1 << 30
"""Bytes, behind which no copy of a segment is under way any more."""


class ReceiveSide:
    """Names are those of RFC 9293: `irs`, `nxt`, `wnd`.

    wnd: bytes offered. shift: what the window field is shifted by once the handshake is over.
    ts_recent: the TSval to echo, from when (RFC 7323 section 4.3). keeps_early, reports_duplicates:
    the settings `keep_early_text` and `dsack`.
    """

    def __init__(
        self, window: int, *, keeps_early: bool = True, reports_duplicates: bool = False
    ) -> None:
        self.irs = 0
        self.nxt = 0
        self.wnd = window
        self.shift = 0
        self.finished = False
        self.ts_recent = 0
        self.ts_recent_at = 0.0
        self.last_ack_sent = 0
        self.keeps_early = keeps_early
        self.reports_duplicates = reports_duplicates
        self._held: list[tuple[int, bytes]] = []
        self._newest: list[int] = []
        self._duplicate: tuple[int, int] | None = None
        self._fin_at: int | None = None

    def start(self, irs: int) -> None:
        """A SYN came: the stream begins behind it."""
        self.irs = irs
        self.nxt = self.last_ack_sent = seq.add(irs, 1)

    def field(self, *, scaled: bool) -> int:
        """The window field to send; in a SYN it is never scaled (RFC 7323 section 2.2)."""
        return min(self.wnd >> self.shift if scaled else self.wnd, 0xFFFF)

    def holds(self, number: int) -> bool:
        """Whether a sequence number lies in the window."""
        return 0 <= seq.distance(self.nxt, number) < self.wnd

    def is_acceptable(self, start: int, length: int) -> bool:
        """The four tests of RFC 9293 table 6."""
        if length == 0:
            return start == self.nxt if self.wnd == 0 else self.holds(start)
        return self.holds(start) or self.holds(seq.add(start, length - 1))

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        """Take a segment's text and FIN; the bytes that are now in order.

        What lies outside the window, before it or behind, is cut off; what comes early is held.
        """
        end = seq.add(start, len(payload))
        if self.reports_duplicates:
            self.note_duplicate(start, end)
        if seq.before(end, self.nxt) or (end == self.nxt and not fin):
            return b""
        early = seq.distance(start, self.nxt)
        if early > 0:
            payload, start = payload[early:], self.nxt
        elif early < 0:
            if not self.keeps_early:
                return b""
            self._newest.insert(0, start)
        room = seq.distance(start, seq.add(self.nxt, self.wnd))
        if fin and len(payload) < room and self._fin_at is None:
            self._fin_at = seq.add(start, len(payload))
        payload = payload[: max(room, 0)]
        if payload:
            self._held.append((start, payload))
        return self._collect()

    def _collect(self) -> bytes:
        if self.finished:
            self._held.clear()
            return b""
        out = bytearray()
        self._held.sort(key=lambda piece: seq.distance(self.nxt, piece[0]))
        rest = []
        for start, payload in self._held:
            skip = seq.distance(start, self.nxt)
            if skip < 0:
                rest.append((start, payload))
            elif skip < len(payload):
                out += payload[skip:]
                self.nxt = seq.add(self.nxt, len(payload) - skip)
        self._held = rest
        if not rest:
            self._newest.clear()
        if self._fin_at is not None and seq.at_most(self._fin_at, self.nxt):
            surplus = seq.distance(self._fin_at, self.nxt)
            if surplus:
                del out[-surplus:]
            self.nxt = seq.add(self._fin_at, 1)
            self.finished = True
            self._held.clear()
        return bytes(out)

    def note_duplicate(self, start: int, end: int) -> None:
        """Remember which part of a segment had come before, to report it once (RFC 2883)."""
        begin = seq.add(self.irs, 1)
        if (self.nxt - begin) % seq.MODULUS > _AGES:
            begin = seq.add(self.nxt, -_AGES)
        if seq.before(start, begin):
            start = begin
        held = [(begin, self.nxt), *self.blocks()]
        for first, last in held:
            low = start if seq.before(first, start) else first
            high = end if seq.before(end, last) else last
            if seq.before(low, high):
                self._duplicate = (low, high)
                return

    @property
    def has_gap(self) -> bool:
        """Whether text is held past a gap."""
        return bool(self._held)

    @property
    def has_report(self) -> bool:
        """Whether a SACK option has anything to say."""
        return bool(self._held) or self._duplicate is not None

    def report(self, most: int) -> list[tuple[int, int]]:
        """What a SACK option says, `most` ranges at most.

        A duplicate comes first and is told once (RFC 2883 section 4). Then come the ranges held:
        first the one that the last segment fell into, the others by how lately they were reported
        first (RFC 2018 section 4).
        """
        blocks = self.blocks()
        ordered: list[tuple[int, int]] = []
        for start in self._newest:
            for block in blocks:
                if 0 <= seq.distance(block[0], start) < seq.distance(*block):
                    if block not in ordered:
                        ordered.append(block)
                    break
        self._newest = [start for start, _ in ordered]
        ordered += [block for block in blocks if block not in ordered]
        if self._duplicate is not None:
            ordered.insert(0, self._duplicate)
            self._duplicate = None
        return ordered[:most]

    def blocks(self) -> list[tuple[int, int]]:
        """Ranges held out of order, joined, by sequence number."""
        joined: list[tuple[int, int]] = []
        for start, payload in sorted(
            self._held, key=lambda piece: seq.distance(self.nxt, piece[0])
        ):
            end = seq.add(start, len(payload))
            if joined and seq.at_most(start, joined[-1][1]):
                if seq.before(joined[-1][1], end):
                    joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
        return joined

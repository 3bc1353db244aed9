"""The receiving half of a connection: window, reassembly, end of stream (RFC 9293 3.10.7.4)."""

from __future__ import annotations

from scapy_tfo import seq


class ReceiveSide:
    """Names are those of RFC 9293: `irs`, `nxt`, `wnd`.

    wnd: bytes offered. shift: what the window field is shifted by once the handshake is over.
    ts_recent: the TSval to echo, from when (RFC 7323 section 4.3).
    """

    def __init__(self, window: int) -> None:
        self.irs = 0
        self.nxt = 0
        self.wnd = window
        self.shift = 0
        self.finished = False
        self.ts_recent = 0
        self.ts_recent_at = 0.0
        self.last_ack_sent = 0
        self._held: list[tuple[int, bytes]] = []
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
        if seq.before(end, self.nxt) or (end == self.nxt and not fin):
            return b""
        early = seq.distance(start, self.nxt)
        if early > 0:
            payload, start = payload[early:], self.nxt
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
        if self._fin_at is not None and seq.at_most(self._fin_at, self.nxt):
            surplus = seq.distance(self._fin_at, self.nxt)
            if surplus:
                del out[-surplus:]
            self.nxt = seq.add(self._fin_at, 1)
            self.finished = True
            self._held.clear()
        return bytes(out)

    def blocks(self) -> list[tuple[int, int]]:
        """Ranges held out of order, joined, in order (RFC 2018 section 3)."""
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

"""The sending half of a connection: sequence numbers, windows, congestion, retransmission.

RFC 9293 sections 3.3.1 and 3.8, RFC 5681, RFC 6298. `point` is where sending goes on: it falls
back behind `nxt` when what was sent must be sent again.
"""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.reference.parts.undo import Undo
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.settings import Undo as Finds
from scapy_tfo.values import value


@value(frozen=True, slots=True)
class Chunk:
    """What one segment carries: its first sequence number, payload, and whether FIN."""

    seq: int
    payload: bytes
    fin: bool


class SendSide:
    """Names are those of RFC 9293: `una`, `nxt`, `wnd`, `wl1`, `wl2`, `iss`.

    mss: payload bytes of a full segment, options already taken off. wnd: bytes, scaled.
    shift: what the window field of the peer is shifted by. told: the segment that is being taken
    tells of congestion.
    """

    control = "reno"
    """The congestion control, as hosts name it: that of RFC 5681."""

    def __init__(self, iss: int, settings: Settings) -> None:
        self.settings = settings
        self.iss = iss
        self.una = iss
        self.nxt = iss
        self.point = iss
        self.data = bytearray()
        self.base = seq.add(iss, 1)
        self.fin_queued = False
        self.mss = 536
        self.wnd = 0
        self.max_wnd = 0
        self.wl1 = 0
        self.wl2 = 0
        self.shift = 0
        self.cwnd = 0
        self.ssthresh = 1 << 30
        self.rto = settings.initial_rto
        self.srtt: float | None = None
        self.rttvar = 0.0
        self.retries = 0
        self.timer: float | None = None
        self._timed: tuple[int, float] | None = None
        self._duplicates = 0
        self._recover = iss
        self._recovering = False
        self._is_open = False
        self._probed = False
        self.told = False
        self.undo: Undo | None = None
        if settings.undo is not Finds.OFF:
            self.undo = Undo(by_timestamps=settings.undo is Finds.TIMESTAMPS)

    @property
    def syn_acked(self) -> bool:
        # Numbers come round to the first one again.
        return self._is_open or self.una != self.iss

    @property
    def floor(self) -> int:
        """The first sequence number of data or FIN that is not acknowledged."""
        return self.una if self.syn_acked else seq.add(self.iss, 1)

    @property
    def end(self) -> int:
        """The sequence number behind all data written; FIN's, where one is queued."""
        return seq.add(self.base, len(self.data))

    @property
    def outstanding(self) -> int:
        """Sequence numbers sent and not acknowledged."""
        return seq.distance(self.una, self.nxt)

    @property
    def fin_sent(self) -> bool:
        return self.fin_queued and seq.before(self.end, self.nxt)

    @property
    def fin_acked(self) -> bool:
        return self.fin_queued and seq.before(self.end, self.una)

    @property
    def unsent(self) -> int:
        """Bytes, and a FIN, that wait from `point` on."""
        return seq.distance(self.point, self.end) + self.fin_queued

    def begin_at(self, iss: int) -> None:
        """Use another initial sequence number; nothing has been sent yet."""
        self.iss = self.una = self.nxt = self.point = self._recover = iss
        self.base = seq.add(iss, 1)

    def sent_syn(self, payload: int = 0) -> None:
        """SYN went out, with that many bytes of the data written (RFC 7413 4.2.2 step 2)."""
        self.nxt = self.point = seq.add(self.iss, 1 + payload)

    def initial_window(self) -> int:
        """Congestion window in bytes before anything is acknowledged (RFC 5681 section 3.1)."""
        return self.settings.initial_window_for(self.mss)

    def window_after_lost_handshake(self) -> int:
        """Congestion window in bytes once SYN or SYN-ACK was retransmitted (RFC 5681 3.1)."""
        return self.mss

    def right_edge(self) -> int:
        """The sequence number that the peer's window ends before."""
        return seq.add(self.floor, self.wnd)

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        """What may be sent now, None where the windows or the data end.

        probe: one byte at least, whatever the window (RFC 9293 section 3.8.6.1).
        """
        start = self.point
        left = seq.distance(start, self.end)
        if left <= 0 and not self.fin_queued and not probe:
            return None
        window = seq.distance(start, self.right_edge())
        room = min(window, seq.distance(start, seq.add(self.floor, self.cwnd)))
        if probe:
            window = room = max(1, window)
        size = max(0, min(self.mss, left, room))
        fin = self.fin_queued and size == left and size < window and left >= 0
        if not fin and (size == 0 or not (probe or self._worth_sending(size, left, window))):
            return None
        at = seq.distance(self.base, start)
        return Chunk(start, bytes(self.data[at : at + size]), fin)

    def _worth_sending(self, size: int, left: int, window: int) -> bool:
        """Silly window avoidance (RFC 9293 section 3.8.6.2.1).

        Before the handshake ends no window can creep open, and all of it is used.
        """
        if size == self.mss:
            return True
        if size == left:
            is_new = self.syn_acked and self.point == self.nxt
            return not (self.settings.nagle and is_new and self.outstanding)
        return size == window and (not self.syn_acked or 2 * size >= self.max_wnd)

    def sent(self, chunk: Chunk, now: float, *, timed: bool = True) -> None:
        """Advance over a chunk that went out. timed: False leaves the timer to the handshake."""
        end = seq.add(chunk.seq, len(chunk.payload) + chunk.fin)
        # What runs while nothing is under way is the persist timer, which this is not for.
        persists = not self.outstanding
        again = seq.before(chunk.seq, self.nxt)
        if not again and self._timed is None:
            self._timed = (end, now)
        elif again:
            self._timed = None
        if seq.before(self.point, end):
            self.point = end
        if seq.before(self.nxt, end):
            self.nxt = end
        if timed and (persists or self.timer is None):
            self.timer = now + self.rto

    def rewind(self) -> None:
        """Send everything that is not acknowledged again."""
        self.point = self.floor

    def head(self) -> Chunk:
        """The first segment that is not acknowledged, to be sent again."""
        at = seq.distance(self.base, self.floor)
        size = min(self.mss, seq.distance(self.floor, self.nxt), len(self.data) - at)
        fin = self.fin_sent and at + size == len(self.data)
        return Chunk(self.floor, bytes(self.data[at : at + size]), fin)

    def measure(self, rtt: float) -> None:
        """Take a round-trip time in seconds into the timeout (RFC 6298 section 2)."""
        if self.srtt is None:
            self.srtt, self.rttvar = rtt, rtt / 2
        else:
            self.rttvar = 0.75 * self.rttvar + 0.25 * abs(self.srtt - rtt)
            self.srtt = 0.875 * self.srtt + 0.125 * rtt
        self._reset_rto()

    def _reset_rto(self) -> None:
        assert self.srtt is not None
        timeout = self.srtt + max(4 * self.rttvar, 0.001)
        self.rto = min(max(timeout, self.settings.min_rto), self.settings.max_rto)

    def acknowledged(self, ack: int, now: float) -> bool:
        """Take an acknowledgement of something new; True where the head must go out again."""
        size = seq.distance(self.una, ack)
        if self._timed and seq.at_most(self._timed[0], ack):
            self.measure(now - self._timed[1])
            self._timed = None
        done = min(max(seq.distance(self.base, ack), 0), len(self.data))
        del self.data[:done]
        self.base = seq.add(self.base, done)
        self.una, self._is_open = ack, True
        if seq.before(self.point, ack):
            self.point = ack
        self.retries = 0
        self._duplicates = 0
        self.timer = now + self.rto if self.outstanding else None
        if not self._recovering:
            if seq.before(self._recover, ack):
                self._recover = ack
            if done and not self.told:
                # The ACK of a SYN opens no window (RFC 5681 section 3.1), and neither does one that
                # tells of congestion (RFC 3168 section 6.1.2).
                self._grow(done)
            return False
        if seq.at_most(self._recover, ack):
            self._recovering = False
            self.cwnd = self.ssthresh
            return False
        self.cwnd = max(self.mss, self.cwnd - size + self.mss)
        return True

    def _grow(self, acked: int) -> None:
        if self.cwnd < self.ssthresh:
            self.cwnd += min(acked, self.mss)
        else:
            self.cwnd += max(1, self.mss * self.mss // self.cwnd)

    def threshold(self) -> int:
        """The slow start threshold in bytes after a loss (RFC 5681 section 3.1, equation 4)."""
        return max(self.outstanding // 2, 2 * self.mss)

    def halve(self) -> None:
        """The peer tells of congestion (RFC 3168 section 6.1.2)."""
        self.ssthresh = self.threshold()
        self.cwnd = min(self.cwnd, self.ssthresh)

    def duplicate(self) -> bool:
        """Count a duplicate acknowledgement; True where the head must go out (RFC 5681 3.2)."""
        self._duplicates += 1
        if self._recovering:
            self.cwnd += self.mss
            return False
        if self._duplicates != 3 or not seq.at_most(self._recover, self.una):
            return False
        self.ssthresh = self.threshold()
        self.cwnd = self.ssthresh + 3 * self.mss
        self._recover = self.nxt
        self._recovering = True
        self._timed = None
        return True

    def update_window(self, field: int, segment_seq: int, ack: int, *, scaled: bool = True) -> bool:
        """Take a window field (RFC 9293 3.10.7.4, fifth); True where the window changed."""
        window = field << self.shift if scaled else field
        if not (
            seq.before(self.wl1, segment_seq)
            or (self.wl1 == segment_seq and seq.at_most(self.wl2, ack))
        ):
            return False
        self.wl1, self.wl2 = segment_seq, ack
        return self.set_window(window)

    def set_window(self, window: int) -> bool:
        """Set the peer's window in bytes; True where it changed."""
        changed = window != self.wnd
        if self._probed and window:
            # What a probe carried into the closed window was dropped there.
            self._probed = False
            self.rewind()
        self.wnd = window
        self.max_wnd = max(self.max_wnd, window)
        return changed

    def heard(self) -> None:
        """The peer answers, though its window is shut: it is not gone (RFC 9293 3.8.6.1)."""
        if self.wnd == 0:
            self.retries = 0

    def keep_probing(self, now: float) -> None:
        """Start the persist timer where data waits and no timer runs."""
        if self.timer is None and (self.outstanding or self.unsent):
            self.timer = now + self.rto

    def timed_out(self) -> bool:
        """The timer fired: back off (RFC 6298 section 5); False where it is time to give up."""
        self.timer = None
        self._timed = None
        self.retries += 1
        if self.outstanding and self.wnd:
            if self.undo is not None:
                self.undo.timed_out(self)
            self.ssthresh = self.threshold()
            self.cwnd = self.mss
            self._recover = self.nxt
            self._recovering = False
            self._duplicates = 0
        self._probed = not self.wnd
        self.rto = min(self.rto * 2, self.settings.max_rto)
        self.rewind()
        return self.retries <= self.settings.data_retries

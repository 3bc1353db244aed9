"""What a connection does with what has come: hand it over, or keep it, and acknowledge it."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.reference import options
from scapy_tfo.reference.core import _DELAYED_ACK, Core
from scapy_tfo.reference.states import EndOfStream, Received, State


class Reader(Core):
    """The application's end of the stream that comes in.

    An application that does not read fills the receive buffer, and the window closes.
    """

    _unread: bytearray | None = None
    _whole_window = 0
    _end_waits = False
    _closed_for_reading = False
    _largest = 0
    _closes_gap = False

    # What the application calls.

    def pause(self) -> None:
        """Stop reading: what comes is kept, and the window is smaller by it (RFC 9293 3.8.6)."""
        if self._unread is None:
            self._unread = bytearray()

    def read_some(self, size: int, now: float) -> None:
        """While paused, take so many bytes of what is kept, at most."""
        if self._unread is None:
            return
        data = bytes(self._unread[:size])
        del self._unread[:size]
        self._hand_over(data)
        if data:
            self._open_window(now)
        self.stack.arm(self)

    def resume(self, now: float) -> None:
        """Read again, all that was kept first."""
        if self._unread is None:
            return
        self.read_some(len(self._unread), now)
        self._unread = None

    def _hand_over(self, data: bytes) -> None:
        if data:
            self.tell(Received(self, data))
        if self._end_waits and not self._unread:
            self._end_waits = False
            self.tell(EndOfStream(self))

    def _open_window(self, now: float) -> None:
        """Offer the room there is, by no small steps (RFC 9293 section 3.8.6.2.2)."""
        room = self._whole_window - len(self._unread or b"")
        if room - self.recv.wnd >= self.window_step() and self.state is not State.CLOSED:
            self.recv.wnd = room
            if self.is_synchronized and not self.recv.finished:
                self.tell_window(now)
        if not self._unread:
            self.recv.wnd = self._whole_window

    def window_step(self) -> int:
        """By how many bytes a window must open before the peer is told."""
        return min(self._whole_window // 2, self.advertised_mss())

    def tell_window(self, now: float) -> None:
        """Say that the window has opened."""
        self.send_ack(now)

    def enlarge_window(self, size: int, now: float) -> None:
        """Offer a larger window than so far, and say so."""
        unread = len(self._unread or b"")
        if unread:
            self._whole_window = max(self._whole_window, size)
        self.recv.wnd = max(self.recv.wnd, size - unread)
        self.send_ack(now)

    def close(self, now: float) -> None:
        """As `shutdown`, and read on; with `half_duplex_close` nothing is read any more.

        Then text that was never read, or comes from now on, is answered by RST (RFC 9293 section
        3.6.1, RFC 1122 4.2.2.13).
        """
        if self.settings.half_duplex_close and self.state is not State.CLOSED:
            if self._unread:
                self.abort(now)
                return
            self._closed_for_reading = True
        super().close(now)
        if not self._closed_for_reading:
            self.resume(now)

    # What has come in order.

    def advertised_mss(self) -> int:
        """The MSS that we offer, in bytes."""
        if self.settings.advertised_mss is not None:
            return self.settings.advertised_mss
        return options.mss_for(self.local[0], self.settings.mtu)

    def deliver(self, data: bytes) -> None:
        """Hand bytes to the application."""
        if not data:
            return
        if self._unread is None:
            self.tell(Received(self, data))
        else:
            if not self._unread:
                self._whole_window = self.recv.wnd
            self._unread += data
            left = max(0, self.recv.wnd - len(data))
            room = max(0, self._whole_window - len(self._unread))
            # What was read meanwhile is not offered by small steps here either.
            self.recv.wnd = room if room - left >= self.window_step() else left

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        """Take a segment's text and FIN, and hand over what is in order."""
        ended = self.recv.finished
        if not self._acks_at_once:
            self._largest = max(self._largest, len(payload))
            self._closes_gap = self.recv.has_gap
        data = self.recv.take(start, payload, fin)
        self.deliver(data)
        if self.recv.finished and not ended:
            self._received_first = not self.send.fin_sent
            if self._unread:
                self._end_waits = True
            else:
                self.tell(EndOfStream(self))
        if payload or fin:
            self._ack_wanted = True

    def ack_may_wait(self, now: float) -> bool:
        """Whether the acknowledgement may be delayed (RFC 1122 section 4.2.3.2, RFC 5681 4.2).

        It may not for every `ack_every`th full segment, nor where it is urgent. A segment is full
        that is as long as any before.
        """
        waiting = seq.distance(self.recv.last_ack_sent, self.recv.nxt)
        enough = self.settings.ack_every * max(1, self._largest)
        if waiting >= enough or self.ack_is_urgent(waiting):
            return False
        if _DELAYED_ACK not in self.alarms:
            self.alarms[_DELAYED_ACK] = (now + self.settings.ack_delay, self.send_ack)
        return True

    def ack_is_urgent(self, waiting: int) -> bool:
        """Whether text came twice, out of order, or fills a gap; or the stream has ended.

        waiting: sequence numbers that came in order and are not acknowledged yet.
        """
        recv = self.recv
        return waiting <= 0 or recv.finished or recv.has_gap or self._closes_gap

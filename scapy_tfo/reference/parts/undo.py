"""Takes back what a retransmission timeout did, where it proves to have come too early.

Found by the timestamps (RFC 3522), or by what the next two acknowledgements cover (F-RTO, RFC 5682
section 2.1); answered as RFC 4015 section 3.2 says.
"""

from __future__ import annotations

from typing import Protocol

from scapy_tfo import seq


class Sender(Protocol):
    """What is used of the sending half (see `SendSide`)."""

    una: int
    nxt: int
    point: int
    mss: int
    cwnd: int
    ssthresh: int

    @property
    def outstanding(self) -> int: ...

    @property
    def unsent(self) -> int: ...

    def initial_window(self) -> int: ...

    def measure(self, rtt: float) -> None: ...

    def rewind(self) -> None: ...


class Undo:
    """by_timestamps: RFC 3522; otherwise F-RTO."""

    def __init__(self, *, by_timestamps: bool) -> None:
        self._by_timestamps = by_timestamps
        self._window = 0
        self._recover: int | None = None
        self._stamp: int | None = None
        self._probing = False

    def timed_out(self, sender: Sender) -> None:
        """The timer fired, and nothing has been changed yet."""
        if self._recover is None:
            self._window = max(sender.outstanding, min(sender.ssthresh, sender.cwnd))
            self._recover = sender.nxt
        elif not self._by_timestamps:
            # The second timeout for the same text is not taken for a mistake (RFC 5682 2.1).
            self._recover = None
        self._probing = False

    def sent_again(self, stamp: int) -> None:
        """The head goes out again with this TSval."""
        if self._recover is not None and self._stamp is None:
            self._stamp = stamp

    def acknowledged(self, sender: Sender, una: int, echo: int | None, age: float) -> bool:
        """Take an acknowledgement; True where the timeout was a mistake and is undone.

        una: SND.UNA before it. echo: its TSecr. age: seconds since that TSval was sent.
        """
        if self._recover is None:
            return False
        advanced = seq.distance(una, sender.una)
        if self._by_timestamps:
            if advanced <= 0:
                return False
            early = echo is not None and self._stamp is not None
            early = early and seq.before(echo or 0, self._stamp or 0)
            self._forget()
            if early:
                sender.measure(age)
                self._restore(sender, advanced)
            return early
        return self._frto(sender, advanced)

    def _frto(self, sender: Sender, advanced: int) -> bool:
        recover = self._recover
        if recover is None or advanced <= 0 or seq.at_most(recover, sender.una):
            if self._probing:
                sender.cwnd = min(sender.cwnd, 3 * sender.mss)
                sender.rewind()
            self._forget()
            return False
        if self._probing:
            self._forget()
            self._restore(sender, advanced)
            return True
        if seq.distance(sender.point, sender.nxt) >= 0 and sender.unsent > seq.distance(
            sender.point, sender.nxt
        ):
            self._probing = True
            sender.point = sender.nxt
            sender.cwnd = sender.outstanding + 2 * sender.mss
        else:
            self._forget()
        return False

    def _restore(self, sender: Sender, advanced: int) -> None:
        sender.ssthresh = max(self._window, 2 * sender.mss)
        # At least a segment: a few bytes acknowledged by themselves would let nothing out.
        window = sender.outstanding + min(advanced, sender.initial_window())
        sender.cwnd = max(window, sender.mss)
        sender.point = sender.nxt

    def _forget(self) -> None:
        self._recover = self._stamp = None
        self._probing = False

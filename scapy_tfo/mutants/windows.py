"""Servers that mistake the client's window or segment size (RFC 9293 section 3.8.6, RFC 7323)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.options import Offer
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.states import State
from scapy_tfo.segment import SYN, Segment


@mutant("AFT-7", also=("ACC-7",))
class ScalesTheWindowOfTheSyn(PassiveConnection):
    """The window of the SYN is shifted by the scale that the SYN offers."""

    def early_window(self, syn: Segment) -> int:
        return syn.window << self.send.shift


@mutant("AFT-7", also=("ACC-7",))
class IgnoresTheWindowOfTheSyn(PassiveConnection):
    """Before the ACK as much is sent as the initial window allows, whatever the SYN's window."""

    def early_window(self, syn: Segment) -> int:
        return 0xFFFF


@mutant("AFT-7")
class NeverScalesWindows(PassiveConnection):
    """The scale is agreed, and the client's windows are then taken as they are."""

    def agree(self, offer: Offer) -> None:
        super().agree(offer)
        self.send.shift = 0


@mutant("AFT-7")
class ScalesByItsOwnShift(PassiveConnection):
    """The client's windows are shifted by the scale of the server."""

    def agree(self, offer: Offer) -> None:
        super().agree(offer)
        self.send.shift = self.recv.shift


class WindowOfTheAck(PassiveConnection):
    """Reads the window of the segment that ends the handshake in its own way."""

    def read(self, segment: Segment) -> int:
        raise NotImplementedError

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        first = self.state is State.SYN_RCVD
        taken = super().ack_arrives(segment, start, now)
        if first and taken:
            self.send.set_window(self.read(segment))
        return taken


@mutant("AFT-7")
class WindowOfTheAckIsNotScaled(WindowOfTheAck):
    """The window of the segment that ends the handshake is taken as it is, like the SYN's."""

    def read(self, segment: Segment) -> int:
        return segment.window


@mutant("AFT-7")
class WindowOfTheAckIsIgnored(WindowOfTheAck):
    """The window of the SYN holds until a segment comes after the one that ends the handshake."""

    window = 0

    def early_window(self, syn: Segment) -> int:
        self.window = syn.window
        return self.window

    def read(self, segment: Segment) -> int:
        return self.window


@mutant("AFT-7")
class WindowOfTextIsNotRead(PassiveConnection):
    """The window of text that comes in order, and acknowledges nothing new, is not looked at."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        open_text = self.state is State.ESTABLISHED and segment.payload and not segment.is_fin
        if open_text and start == self.recv.nxt and segment.ack == self.send.una:
            self.send.heard()
            return True
        return super().ack_arrives(segment, start, now)


@mutant("ACC-11")
class WindowsEndAtZero(SendSide):
    """Which window is the newest goes by the bare number: none is taken once that is round zero."""

    def update_window(self, field: int, segment_seq: int, ack: int, *, scaled: bool = True) -> bool:
        if segment_seq < self.wl1:
            return False
        return super().update_window(field, segment_seq, ack, scaled=scaled)


@mutant("AFT-7")
class RemembersWindowsThatChange(SendSide):
    """A segment with the window as it was leaves no trace: an older one may still set another."""

    def update_window(self, field: int, segment_seq: int, ack: int, *, scaled: bool = True) -> bool:
        if (field << self.shift if scaled else field) == self.wnd:
            return False
        return super().update_window(field, segment_seq, ack, scaled=scaled)


@mutant("AFT-7")
class SmallWindowIsNeverUsed(SendSide):
    """No timer runs for text that waits for a window which is small, but not closed."""

    def keep_probing(self, now: float) -> None:
        if self.timer is None and (self.outstanding or (self.unsent and not self.wnd)):
            self.timer = now + self.rto


@mutant("AFT-7")
class ClosedWindowStaysClosed(SendSide):
    """A window that was closed after the handshake never opens again."""

    def set_window(self, window: int) -> bool:
        return super().set_window(0 if self.syn_acked and self.closed else window)

    @property
    def closed(self) -> bool:
        return self.max_wnd > 0 and self.wnd == 0


@mutant("AFT-7")
class NeverProbesAClosedWindow(SendSide):
    """No probe goes into a closed window: when the segment that opens it is lost, all waits."""

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        return super().next_chunk(probe=probe and self.wnd > 0)


@mutant("AFT-7")
class OverrunsTheWindow(SendSide):
    """After the handshake the client's window is never looked at."""

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        if self.syn_acked and self.wnd:
            self.wnd = max(self.wnd, 0xFFFF)
        return super().next_chunk(probe=probe)


@mutant("AFT-7", also=("ACC-7",))
class EarlyDataIsSentOverTheWindow(SendSide):
    """Before the ACK whole segments are sent, the last of them over the SYN's window."""

    def right_edge(self) -> int:
        edge = super().right_edge()
        return edge if self.syn_acked or not self.wnd else edge + self.mss


@mutant("AFT-7a", bug="LXS-11")
class FirstWriteWaitsForATimer(SendSide):
    """A first write of more than half the SYN's window waits for the probe timer."""

    largest = 0
    probed = False

    def set_window(self, window: int) -> bool:
        self.largest = self.largest or window
        return super().set_window(window)

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        self.probed = self.probed or probe
        if not self.probed and 2 * len(self.data) > self.largest:
            return None
        return super().next_chunk(probe=probe)


@mutant("AFT-7a")
class AckSetsNothingFree(PassiveConnection):
    """What the ACK of the handshake sets free is sent when the next segment or timer comes."""

    def arrive(self, segment: Segment, now: float) -> None:
        self.ends_handshake = self.state is State.SYN_RCVD
        super().arrive(segment, now)
        self.ends_handshake = False

    ends_handshake = False

    def flush(self, now: float) -> None:
        if self.state is State.ESTABLISHED and self.ends_handshake:
            self.send.keep_probing(now)
            self.stack.arm(self)
            return
        super().flush(now)


@mutant("AFT-7a")
class WaitsForFullSegmentsOnly(SendSide):
    """Less than a full segment waits for a timer, even where it ends what was written."""

    def _worth_sending(self, size: int, left: int, window: int) -> bool:
        return size == self.mss


@mutant("AFT-7b")
class IgnoresTheMss(PassiveConnection):
    """Segments are as large as the server's own link allows."""

    def path_mss(self) -> int:
        return self.stack.mss_towards(self.remote[0])


@mutant("AFT-7b")
class ForgetsTheMssAfterTheHandshake(PassiveConnection):
    """The MSS of the SYN holds until the ACK, and then segments are as large as the link allows."""

    def establish(self, now: float) -> None:
        super().establish(now)
        self.mss_offered = self.stack.mss_towards(self.remote[0])
        self.resize()


@mutant("AFT-7b")
class NoMssMeansAnySize(PassiveConnection):
    """Where the SYN has no MSS option, segments are as large as the link allows."""

    def agree(self, offer: Offer) -> None:
        super().agree(offer)
        if offer.mss is None:
            self.mss_offered = self.stack.mss_towards(self.remote[0])
            self.resize()


@mutant("AFT-7b")
class OptionsComeOnTopOfTheMss(PassiveConnection):
    """Timestamps are not taken off the size that a packet may have by the MSS."""

    def resize(self) -> None:
        self.send.mss = self.path_mss()


@mutant("AFT-7")
class EarlyWindowsAreNotScaled(PassiveConnection):
    """In SYN-RCVD the server's window goes unscaled on every segment, not on SYNs alone."""

    def transmit(
        self,
        number: int,
        flags: int,
        now: float,
        payload: bytes = b"",
        raw_options: list[opt.RawOption] | None = None,
    ) -> None:
        agreed = self.scaling
        self.scaling = agreed and (self.state is not State.SYN_RCVD or bool(flags & SYN))
        super().transmit(number, flags, now, payload, raw_options)
        self.scaling = agreed

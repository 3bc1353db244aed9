"""What a receiver does with text and FIN, and how it acknowledges (RFC 9293 section 3.10.7.4)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.reference.recvside import ReceiveSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.states import State
from scapy_tfo.segment import ACK, FIN, PSH, URG, Flags, Segment
from scapy_tfo.variants.registry import add, variant


@variant({"early-text": "dropped"})
class DropsEarlyText(ReceiveSide):
    """Text that comes before its turn is dropped, and must be sent again."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        return b"" if seq.before(self.nxt, start) else super().take(start, payload, fin)


@variant({"early-text": "one segment is kept", "sack-renege": "dropped for the next"})
class KeepsOneEarlySegment(ReceiveSide):
    """Of the text that comes before its turn the latest segment is kept."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        if seq.before(self.nxt, start) and payload:
            self._held.clear()
        return super().take(start, payload, fin)


@variant({"early-fin-kept": "dropped"})
class DropsEarlyFins(ReceiveSide):
    """A FIN that comes before its turn is dropped; the text before it is kept."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        return super().take(start, payload, fin and seq.at_most(start, self.nxt))


@variant({"early-text-ack": "no"})
class AcknowledgesNoEarlyText(PassiveConnection):
    """Text that comes before its turn is kept and not acknowledged."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        wanted, early = self._ack_wanted, seq.before(self.recv.nxt, start)
        super().take_text(start, payload, fin)
        if early:
            self._ack_wanted = wanted


@variant({"overlapping-text": "of the later segment"})
class LaterTextWins(ReceiveSide):
    """Where early segments overlap, the bytes of the later one count."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        if seq.before(self.nxt, start):
            end = seq.add(start, len(payload))
            cut: list[tuple[int, bytes]] = []
            for at, held in self._held:
                before, behind = seq.distance(at, start), seq.distance(at, end)
                if before > 0:
                    cut.append((at, held[:before]))
                if behind < len(held):
                    cut.append((seq.add(at, max(behind, 0)), held[max(behind, 0) :]))
            self._held = cut
        return super().take(start, payload, fin)


@variant({"text-over-window": "dropped"})
class DropsTextOverTheWindow(ReceiveSide):
    """A segment that reaches over the end of the window is dropped as a whole."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        over = seq.before(seq.add(self.nxt, self.wnd), seq.add(start, len(payload) + fin))
        return b"" if over else super().take(start, payload, fin)


@variant({"text-after-fin": "ignored"})
class IgnoresTextAfterTheFin(PassiveConnection):
    """New text behind the client's FIN is ignored without an ACK."""

    def text_arrives(self, segment: Segment, start: int, now: float) -> None:
        if not (self.recv.finished and segment.payload and seq.at_most(self.recv.nxt, start)):
            super().text_arrives(segment, start, now)


@variant({"urgent-data": "apart from it"}, combines=False)
class UrgentByteIsApart(PassiveConnection):
    """The application does not find the urgent byte in the stream."""

    urgent: int | None = None

    def text_arrives(self, segment: Segment, start: int, now: float) -> None:
        if segment.flags & URG and segment.urgent:
            self.urgent = seq.add(start, segment.urgent - 1)
        super().text_arrives(segment, start, now)

    def deliver(self, data: bytes) -> None:
        if self.urgent is not None and data:
            first = seq.add(self.recv.nxt, -len(data) - self.recv.finished)
            at = seq.distance(first, self.urgent)
            if 0 <= at < len(data):
                data = data[:at] + data[at + 1 :]
        super().deliver(data)


@variant({"text-without-push": "queued"}, combines=False)
class WaitsForPush(PassiveConnection):
    """Text is handed over when a segment with PSH or FIN has come."""

    queued = b""
    pushed = True

    def text_arrives(self, segment: Segment, start: int, now: float) -> None:
        self.pushed = bool(segment.flags & (PSH | FIN))
        super().text_arrives(segment, start, now)

    def deliver(self, data: bytes) -> None:
        self.queued += data
        if self.pushed or self.recv.finished or self._unread is not None:
            # What an application that does not read will get takes room all the same. What waited
            # took none so far, and the edge of the window stays where it is.
            edge, every = self.recv.wnd - len(data), self.queued
            self.queued = b""
            super().deliver(every)
            self.recv.wnd = max(self.recv.wnd, edge)


@variant({"ack-and-data": "before the answer"})
class AcknowledgesBeforeItAnswers(PassiveConnection):
    """Text is acknowledged by a segment before the answer."""

    def text_arrives(self, segment: Segment, start: int, now: float) -> None:
        super().text_arrives(segment, start, now)
        if self._ack_wanted and self.state is not State.CLOSED:
            self.send_ack(now)


@variant({"sack-sent": "never"})
class ReportsNoBlocks(ReceiveSide):
    """SACK is agreed to and never sent."""

    def report(self, most: int) -> list[tuple[int, int]]:
        return []


@variant({"sack-count": "one"})
class ReportsOneBlock(ReceiveSide):
    """An ACK reports one block, that of the segment that caused it."""

    def report(self, most: int) -> list[tuple[int, int]]:
        return super().report(min(most, 1))


@variant({"sack-with-data": "yes"})
class ReportsBlocksWithData(PassiveConnection):
    """A segment with data reports blocks, too, where it has room."""

    def segment_options(self, now: float, *, payload: bool) -> list[opt.RawOption]:
        return super().segment_options(now, payload=payload and not self.roomy)

    roomy = False

    def transmit(
        self,
        number: int,
        flags: Flags,
        now: float,
        payload: bytes = b"",
        raw_options: list[opt.RawOption] | None = None,
    ) -> None:
        self.roomy = len(payload) + opt.MAX_OPTIONS <= min(self.path_mss(), self.send.mss)
        super().transmit(number, flags, now, payload, raw_options)
        # Who asks for options before it sends a segment does not know how full that one is.
        self.roomy = False


@variant({"sack-order": "by sequence number"})
class SortsReports(ReceiveSide):
    """Behind the first block the others stand by their sequence numbers."""

    def report(self, most: int) -> list[tuple[int, int]]:
        blocks = super().report(most)
        others = sorted(blocks[1:], key=lambda block: seq.distance(self.nxt, block[0]))
        return [*blocks[:1], *others]


@variant({"sack-repeat": "the last by sequence number"})
class ReportsTheFirstRanges(ReceiveSide):
    """Where not all ranges have room, those with the highest sequence numbers are left out."""

    def report(self, most: int) -> list[tuple[int, int]]:
        every = super().report(len(self._held) + 2)
        others = sorted(every[1:], key=lambda block: seq.distance(self.nxt, block[0]))
        kept = {*every[:1], *others[: most - 1]}
        return [each for each in every if each in kept]


@variant({"ack-of-gap": "delayed", "ack-delay": "200 ms", "ack-stretch": "two"}, ack_delay=0.2)
class AcknowledgesFilledGapsLater(PassiveConnection):
    """Text that fills a gap is acknowledged up to 200 ms later."""

    def ack_is_urgent(self, waiting: int) -> bool:
        self._closes_gap = False
        return super().ack_is_urgent(waiting)


@variant(
    {"ack-of-early-text": "delayed", "ack-delay": "200 ms", "ack-stretch": "two"}, ack_delay=0.2
)
class AcknowledgesEarlyTextLater(PassiveConnection):
    """Text that comes before its turn is acknowledged up to 200 ms later."""

    early = False

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        self.early = seq.before(self.recv.nxt, start)
        super().take_text(start, payload, fin)

    def ack_is_urgent(self, waiting: int) -> bool:
        return not (self.early and waiting >= 0) and super().ack_is_urgent(waiting)


@variant({"ack-of-fin": "200 ms", "ack-delay": "200 ms", "ack-stretch": "two"}, ack_delay=0.2)
class AcknowledgesFinsLater(PassiveConnection):
    """A FIN is acknowledged up to 200 ms later."""

    def ack_is_urgent(self, waiting: int) -> bool:
        return not (self.recv.finished and waiting > 0) and super().ack_is_urgent(waiting)


@variant({"window-reopens": "in the answer to a probe"})
class OpensTheWindowInSilence(PassiveConnection):
    """That a window opened is told by the next ACK that is due for another reason."""

    def tell_window(self, now: float) -> None:
        return


@variant({"window-fraction": "a quarter of the buffer"})
class TellsOfAQuarterOfTheWindow(PassiveConnection):
    """A window that opened by a quarter of the buffer is told."""

    def window_step(self) -> int:
        return min(self._whole_window // 4, super().window_step())


@variant({"window-shrinks": "it may"})
class WindowShrinks(ReceiveSide):
    """Every other segment offers half the window; what the whole would hold is still taken."""

    turn = 0

    def field(self, *, scaled: bool) -> int:
        self.turn += 1
        whole = super().field(scaled=scaled)
        return whole // 2 if self.turn % 2 == 0 else whole


for _bytes, _choice in ((65_535, "65,535"), (4096, "4,096"), (1111, "1,111"), (1460, "one MSS")):
    add(
        f"window-of-{_bytes}",
        f"The receive window is {_bytes:,} bytes.",
        {"window-size": _choice},
        receive_window=_bytes,
    )
add(
    "few-answers-to-unacceptable-segments",
    "Unacceptable segments without text are answered twice a second.",
    {"ack-of-unacceptable": "one in half a second"},
    echoes_per_second=2,
)
for _seconds, _told in ((0.04, "40 ms"), (0.2, "200 ms"), (0.49, "490 ms")):
    add(
        f"acks-wait-{_told.replace(' ', '-')}",
        f"Acknowledgements wait up to {_told}, or for the second full segment.",
        {"ack-delay": _told, "ack-stretch": "two"},
        ack_delay=_seconds,
    )
add(
    "acks-stretch",
    "Acknowledgements wait up to 490 ms, or for the eighth full segment.",
    {"ack-delay": "490 ms", "ack-stretch": "eight"},
    ack_delay=0.49,
    ack_every=8,
)
add("d-sack", "Text that came twice is reported (RFC 2883).", {"d-sack": "yes"}, dsack=True)


@variant({"ack-of-old-text": "read where it ends at the last ACK or behind"})
class ReadsTheAckOfOldText(PassiveConnection):
    """What a segment acknowledges is read if it ends no earlier than the ACK that was sent last."""

    def unacceptable_arrives(self, segment: Segment, now: float) -> None:
        start, edge = segment.seq, seq.add(self.recv.nxt, self.recv.wnd)
        is_late = seq.at_most(self.recv.last_ack_sent, segment.end) and seq.at_most(start, edge)
        if is_late and segment.flags & ACK and self.state is not State.SYN_RCVD:
            self.note_timestamp(segment, start, now)
            if not self.ack_arrives(segment, start, now) or self.state is State.CLOSED:
                return
        super().unacceptable_arrives(segment, now)

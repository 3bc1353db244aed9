"""How a sender finds out about loss and repairs it (RFC 2018, RFC 3042, RFC 5681, RFC 6298)."""

from __future__ import annotations

import itertools

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings, Undo
from scapy_tfo.segment import Segment
from scapy_tfo.variants.registry import add, variant

Block = tuple[int, int]


def reported(segment: Segment) -> list[Block]:
    """The ranges of a SACK option."""
    option = segment.option(opt.SACK)
    data = option.data if option is not None and len(option.data) % 8 == 0 else b""
    edges = [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)]
    return list(zip(edges[::2], edges[1::2], strict=True))


def shortened(chunk: Chunk, size: int) -> Chunk:
    """The first bytes of a chunk; a FIN behind them stays for later."""
    if size >= len(chunk.payload) + chunk.fin:
        return chunk
    return Chunk(chunk.seq, chunk.payload[:size], False)


class Scoreboard(SendSide):
    """Sends nothing again that the peer reported, and fills the holes between (RFC 2018 5).

    blocks: what was reported. repaired: what was sent again ends before it.
    """

    forgets = True

    def __init__(self, iss: int, settings: Settings) -> None:
        super().__init__(iss, settings)
        self.blocks: set[Block] = set()
        self.repaired = iss

    def note(self, blocks: list[Block]) -> None:
        """Take the blocks of an acceptable segment that name what was sent."""
        for first, last in blocks:
            edges = (self.floor, first, seq.add(first, 1), last, self.nxt)
            if all(seq.at_most(one, other) for one, other in itertools.pairwise(edges)):
                self.blocks.add((first, last))

    def hole(self, number: int) -> int:
        """The first sequence number from there on that was not reported."""
        inside = True
        while inside:
            ends = [
                last
                for first, last in self.blocks
                if seq.at_most(first, number) and seq.before(number, last)
            ]
            inside = bool(ends)
            number = ends[0] if ends else number
        return number if seq.at_most(number, self.end) else self.end

    def up_to_a_block(self, chunk: Chunk) -> Chunk:
        """A chunk without what was reported behind its first byte."""
        sizes = [seq.distance(chunk.seq, first) for first, _ in self.blocks]
        return shortened(chunk, min((each for each in sizes if each > 0), default=1 << 30))

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        if self.blocks and not probe and seq.before(self.point, self.nxt):
            self.point = self.hole(self.point)
            beyond = all(seq.at_most(last, self.point) for _, last in self.blocks)
            if beyond and self._recovering:
                self.point = self.nxt
        chunk = super().next_chunk(probe=probe)
        return self.up_to_a_block(chunk) if chunk is not None and self.blocks else chunk

    def head(self) -> Chunk:
        return self.up_to_a_block(super().head())

    def sent(self, chunk: Chunk, now: float, *, timed: bool = True) -> None:
        end = seq.add(chunk.seq, len(chunk.payload) + chunk.fin)
        if seq.before(chunk.seq, self.nxt) and seq.before(self.repaired, end):
            self.repaired = end
        super().sent(chunk, now, timed=timed)

    def duplicate(self) -> bool:
        again = super().duplicate()
        if again and self.blocks:
            self.point = self.floor
        return again

    def acknowledged(self, ack: int, now: float) -> bool:
        again = super().acknowledged(ack, now)
        self.blocks = {each for each in self.blocks if seq.before(ack, each[1])}
        if seq.before(self.repaired, ack):
            self.repaired = ack
        return again and not (self.blocks and seq.before(self.floor, self.repaired))

    def timed_out(self) -> bool:
        if self.forgets:
            self.blocks.clear()
        return super().timed_out()


class KeptScoreboard(Scoreboard):
    """What was reported is left out after a timeout, too, but for the head."""

    forgets = False


class ReadsReports(PassiveConnection):
    """Hands the sending half what the peer reported."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if self.sack and self.is_synchronized and isinstance(self.send, Scoreboard):
            self.send.note(reported(segment))
        return super().ack_arrives(segment, start, now)


@variant({"sack-used": "left out", "sack-after-timeout": "forgotten"}, more=(Scoreboard,))
class LeavesOutWhatWasReported(ReadsReports):
    """What the peer reported is not sent again until a timeout."""


@variant({"sack-used": "left out", "sack-after-timeout": "kept"}, more=(KeptScoreboard,))
class LeavesItOutAfterATimeout(ReadsReports):
    """What the peer reported is not sent again, but for the head at a timeout."""


@variant({"rto-samples": "each"})
class TimesEverySegment(SendSide):
    """Every segment is timed, until one is sent again."""

    samples: tuple[tuple[int, float], ...] = ()

    def sent(self, chunk: Chunk, now: float, *, timed: bool = True) -> None:
        again = seq.before(chunk.seq, self.nxt)
        super().sent(chunk, now, timed=timed)
        self._timed = None
        self.samples = () if again else (*self.samples, (self.nxt, now))

    def acknowledged(self, ack: int, now: float) -> bool:
        for _, then in [each for each in self.samples if seq.at_most(each[0], ack)]:
            self.measure(now - then)
        self.samples = tuple(each for each in self.samples if seq.before(ack, each[0]))
        return super().acknowledged(ack, now)

    def timed_out(self) -> bool:
        self.samples = ()
        return super().timed_out()


class LimitedTransmit(SendSide):
    """The first two duplicate ACKs let a segment of new text out each (RFC 3042).

    news: the last duplicate reported something new, or SACK is not agreed to.
    """

    news = False

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        few = self.point == self.nxt and not self._recovering and self.news
        more = self.mss * min(self._duplicates, 2) if few else 0
        self.cwnd += more
        chunk = super().next_chunk(probe=probe)
        self.cwnd -= more
        return chunk


@variant({"limited-transmit": "yes"}, more=(LimitedTransmit,))
class SendsNewTextOnDuplicates(PassiveConnection):
    """The first two duplicate ACKs let new text out."""

    heard: tuple[Block, ...] = ()

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        blocks = reported(segment)
        if isinstance(self.send, LimitedTransmit):
            self.send.news = not self.sack or not set(blocks) <= set(self.heard)
        self.heard = tuple(blocks)
        return super().ack_arrives(segment, start, now)


@variant({"loss-recovery": "Reno"})
class RecoversLikeReno(SendSide):
    """Fast recovery ends with the first ACK of new text."""

    def acknowledged(self, ack: int, now: float) -> bool:
        if self._recovering and seq.before(ack, self._recover):
            self._recover = ack
        return super().acknowledged(ack, now)


@variant({"window-inflation": "as many as were outstanding"})
class InflatesTheWindowLittle(SendSide):
    """In recovery as many duplicate ACKs open the window as segments were outstanding."""

    left = 0

    def duplicate(self) -> bool:
        if self._recovering:
            self.left -= 1
            if self.left < 0:
                return False
        else:
            self.left = self.outstanding // self.mss - 3
        return super().duplicate()


@variant({"congestion-control": "another"})
class Cubic(SendSide):
    """The congestion window grows as a cubic function of time (RFC 9438)."""

    control = "cubic"
    now = 0.0
    peak = 0
    since: float | None = None

    def threshold(self) -> int:
        self.peak, self.since = self.cwnd, None
        return max(self.outstanding * 7 // 10, 2 * self.mss)

    def acknowledged(self, ack: int, now: float) -> bool:
        self.now = now
        return super().acknowledged(ack, now)

    def _grow(self, acked: int) -> None:
        if self.cwnd < self.ssthresh:
            super()._grow(acked)
            return
        if self.since is None:
            self.since, self.peak = self.now, max(self.peak, self.cwnd)
        turn = (self.peak / self.mss * 0.3 / 0.4) ** (1 / 3)
        aim = self.peak + 0.4 * (self.now - self.since - turn) ** 3 * self.mss
        step = (min(aim, 1.5 * self.cwnd) - self.cwnd) * self.mss / self.cwnd
        self.cwnd += max(1, int(step))


@variant({"repacketize": "as it was"})
class ResendsSegmentsAsTheyWere(SendSide):
    """Text that is sent again is cut as it was the first time."""

    ends: tuple[int, ...] = ()

    def as_it_was(self, chunk: Chunk) -> Chunk:
        """A chunk up to the end of the segment that held its first byte."""
        end = next((each for each in self.ends if seq.before(chunk.seq, each)), None)
        return chunk if end is None else shortened(chunk, seq.distance(chunk.seq, end))

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        chunk = super().next_chunk(probe=probe)
        return None if chunk is None else self.as_it_was(chunk)

    def head(self) -> Chunk:
        return self.as_it_was(super().head())

    def sent(self, chunk: Chunk, now: float, *, timed: bool = True) -> None:
        before = self.nxt
        super().sent(chunk, now, timed=timed)
        if self.nxt != before:
            self.ends = (*self.ends, self.nxt)

    def acknowledged(self, ack: int, now: float) -> bool:
        self.ends = tuple(each for each in self.ends if seq.before(ack, each))
        return super().acknowledged(ack, now)


@variant({"resend-extent": "only what is missing"})
class ResendsWhatIsMissing(SendSide):
    """After a timeout the head is sent again, and the next head for each ACK of some of it."""

    repairing = False

    def timed_out(self) -> bool:
        self.repairing = bool(self.outstanding and self.wnd and self.syn_acked)
        return super().timed_out()

    def sent(self, chunk: Chunk, now: float, *, timed: bool = True) -> None:
        super().sent(chunk, now, timed=timed)
        if self.repairing:
            self.point = self.nxt

    def acknowledged(self, ack: int, now: float) -> bool:
        again = super().acknowledged(ack, now)
        self.repairing = self.repairing and seq.before(ack, self._recover)
        return again or self.repairing


@variant({"beyond-shrunk-window": "yes"})
class ResendsBeyondAShrunkWindow(SendSide):
    """What was sent is sent again though the window shrank, if it is not shut."""

    def right_edge(self) -> int:
        edge = super().right_edge()
        again = self.wnd and self.syn_acked and seq.before(edge, self.nxt)
        return self.nxt if again and seq.before(self.point, self.nxt) else edge


class OverridesSillyWindows(SendSide):
    """A short segment goes into a small window after `override` seconds (RFC 9293 3.8.6.2.1)."""

    override = 0.0
    overriding = False

    def keep_probing(self, now: float) -> None:
        idle = self.timer is None
        super().keep_probing(now)
        if idle and self.timer is not None and self.wnd and not self.outstanding:
            self.overriding = True
            self.timer = now + self.override

    def sent(self, chunk: Chunk, now: float, *, timed: bool = True) -> None:
        self.stop()
        super().sent(chunk, now, timed=timed)

    def set_window(self, window: int) -> bool:
        if not window:
            self.stop()
        return super().set_window(window)

    def timed_out(self) -> bool:
        if not self.overriding:
            return super().timed_out()
        self.stop()
        return True

    def stop(self) -> None:
        """The timer that runs, if any, is that of retransmissions from now on."""
        if self.overriding:
            self.overriding, self.timer = False, None


@variant({"silly-window-timeout": "0.1 s"})
class FillsSmallWindowsAfterATenth(OverridesSillyWindows):
    """A short segment goes into a small window after 0.1 s."""

    override = 0.1


@variant({"silly-window-timeout": "0.5 s"})
class FillsSmallWindowsAfterHalfASecond(OverridesSillyWindows):
    """A short segment goes into a small window after 0.5 s."""

    override = 0.5


@variant({"idle-restart": "yes"})
class StartsSlowlyAfterAPause(PassiveConnection):
    """A connection that sent nothing for a timeout begins with the initial window again."""

    sent_at = 0.0

    def send_chunk(self, chunk: Chunk, now: float) -> None:
        super().send_chunk(chunk, now)
        self.sent_at = now

    def write(self, data: bytes, now: float) -> None:
        send = self.send
        if send.syn_acked and not send.outstanding and now - self.sent_at > send.rto:
            send.cwnd = min(send.cwnd, send.initial_window())
        super().write(data, now)


for _undo, _name in ((Undo.TIMESTAMPS, "by-timestamps"), (Undo.FRTO, "by-the-next-acks")):
    add(
        f"undoes-timeouts-{_name}",
        f"A timeout that came too early is found out as by {_undo.value}, and undone.",
        {"undo": "yes"},
        undo=_undo,
    )

"""Servers that mishandle a second SYN (RFC 9293 section 3.10.7.4)."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import Closed, State
from scapy_tfo.segment import Segment

# The same SYN in SYN-RCVD.


@mutant("DUP-1", also=("ACC-9", "DUP-6"))
class DuplicateIsDelivered(PassiveConnection):
    """A duplicate of the accepted SYN delivers its data once more."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        super().answer_duplicate(segment, now)
        if self.fast_opened:
            self.deliver(segment.payload)


@mutant("DUP-1", also=("ACC-9", "ACC-10", "DUP-6"))
class DuplicateIsAppended(PassiveConnection):
    """A duplicate's data is delivered and acknowledged behind what was accepted."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        if self.fast_opened:
            self.take_text(self.recv.nxt, segment.payload, False)
        super().answer_duplicate(segment, now)


@mutant("DUP-1")
class DuplicateResets(PassiveConnection):
    """A duplicate of the accepted SYN resets the connection."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        self.abort(now)


@mutant("DUP-1", also=("ACC-8a", "ACC-10"))
class DuplicateIsAnsweredForTheSynOnly(PassiveConnection):
    """The SYN-ACK to a duplicate acknowledges the SYN only."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        right = self.recv.nxt
        self.recv.nxt = seq.add(self.recv.irs, 1)
        super().answer_duplicate(segment, now)
        self.recv.nxt = right


@mutant("DUP-1")
class DuplicateIsAnsweredBesideTheIsn(PassiveConnection):
    """The SYN-ACK to a duplicate has the sequence number that is sent next."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        right = self.send.iss
        self.send.iss = self.send.nxt
        super().answer_duplicate(segment, now)
        self.send.iss = right


class StartsOver(Stack):
    """A host that replaces a connection when a certain SYN comes."""

    def replaces(self, connection: PassiveConnection, segment: Segment) -> bool:
        raise NotImplementedError

    def segment_arrives(self, segment: Segment, now: float) -> None:
        ends = (segment.dst, segment.dport, segment.src, segment.sport)
        old = self.connections.get(ends)
        if isinstance(old, PassiveConnection) and segment.is_syn and self.replaces(old, segment):
            old.release_pending()
            old.finish(Closed(old))
        super().segment_arrives(segment, now)


@mutant("DUP-1")
class DuplicateStartsOver(StartsOver):
    """A duplicate in SYN-RCVD opens a second connection in place of the first."""

    def replaces(self, connection: PassiveConnection, segment: Segment) -> bool:
        return connection.state is State.SYN_RCVD and connection.recv.irs == segment.seq


@mutant("DUP-1", also=("ACC-8a", "ACC-9", "ACC-10"))
class PlainDuplicateRevokes(PassiveConnection):
    """A duplicate without option and data takes back what was accepted."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        if not segment.payload and not segment.fast_open:
            self.recv.nxt = seq.add(self.recv.irs, 1)
        super().answer_duplicate(segment, now)


@mutant("DUP-1", also=("ACC-8a", "ACC-9", "ACC-10"))
class DuplicateWithoutDataRevokes(PassiveConnection):
    """A duplicate with a cookie and no data takes back what was accepted."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        if not segment.payload and segment.cookie:
            self.recv.nxt = seq.add(self.recv.irs, 1)
        super().answer_duplicate(segment, now)


@mutant("DUP-1", also=("ACC-8a", "ACC-9", "ACC-10"))
class DuplicateWithoutOptionRevokes(PassiveConnection):
    """A duplicate with data and no option takes back what was accepted."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        if segment.payload and not segment.fast_open:
            self.recv.nxt = seq.add(self.recv.irs, 1)
        super().answer_duplicate(segment, now)


@mutant("DUP-1", also=("ACC-8a", "ACC-9", "ACC-10"))
class WrongCookieInADuplicateRevokes(PassiveConnection):
    """A duplicate with another cookie is refused, and what was accepted with it."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        option = self.listener.read_fast_open(segment)
        wrong = option is not None and bool(option.cookie)
        if wrong and option and not self.listener.check_cookie(segment, option).is_valid:
            self.recv.nxt = seq.add(self.recv.irs, 1)
        super().answer_duplicate(segment, now)


@mutant("DUP-1", also=("AFT-10",))
class RequestInADuplicateDropsTheConnection(PassiveConnection):
    """A duplicate that asks for a cookie ends the connection in silence."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        if segment.cookie == b"" and self.fast_opened:
            self.finish(Closed(self))
        else:
            super().answer_duplicate(segment, now)


@mutant("DUP-1", also=("ACC-3", "ACC-4"))
class DuplicateOfARefusalIsDelivered(PassiveConnection):
    """The duplicate of a refused SYN has its data delivered."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        if not self.fast_opened and segment.cookie:
            self.take_text(self.recv.nxt, segment.payload, False)
        super().answer_duplicate(segment, now)


@mutant("DUP-1")
class ManyDuplicatesReset(PassiveConnection):
    """The third duplicate of a SYN is taken for an attack, and resets."""

    count = 0

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        self.count += 1
        if self.count < 3:
            super().answer_duplicate(segment, now)
        else:
            self.abort(now)


@mutant("DUP-1", also=("ACC-9", "DUP-6"))
class DuplicateAfterTheAnswerSendsItAgain(PassiveConnection):
    """A duplicate that comes when data was sent makes the application answer once more."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        super().answer_duplicate(segment, now)
        if self.fast_opened and self.send.outstanding > 1:
            self.deliver(segment.payload)


# Another SYN in SYN-RCVD.


@mutant("DUP-6")
class OtherDataIsDelivered(PassiveConnection):
    """Other data under the same ISN is delivered beside the first."""

    first = b""

    def take_syn_data(self, syn: Segment) -> None:
        super().take_syn_data(syn)
        self.first = syn.payload

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        super().answer_duplicate(segment, now)
        if self.fast_opened and segment.payload != self.first:
            self.deliver(segment.payload)


@mutant("DUP-6")
class MoreDataIsTaken(PassiveConnection):
    """What a duplicate holds beyond the first SYN's data is delivered."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        if self.fast_opened:
            self.take_text(seq.add(segment.seq, 1), segment.payload, False)
        super().answer_duplicate(segment, now)


@mutant("DUP-6", also=("ACC-8a", "ACC-9", "ACC-10"))
class LessDataTakesBack(PassiveConnection):
    """A duplicate with less data takes the rest of the first one's back."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        if segment.payload:
            less = seq.before(segment.end, self.recv.nxt)
            self.recv.nxt = segment.end if less else self.recv.nxt
        super().answer_duplicate(segment, now)


class _OtherSyn(PassiveConnection):
    """A connection that acts on a SYN with another ISN while in SYN-RCVD."""

    def other_syn(self, segment: Segment, now: float) -> bool:
        """True where the SYN was acted on."""
        raise NotImplementedError

    def syn_arrives(self, segment: Segment, now: float) -> None:
        other = self.state is State.SYN_RCVD and segment.seq != self.recv.irs
        if not (other and self.fast_opened and self.other_syn(segment, now)):
            super().syn_arrives(segment, now)


@mutant("DUP-6")
class SecondIsnReplacesTheFirst(_OtherSyn):
    """A SYN with another ISN moves the connection to it, and its data is delivered as well."""

    def other_syn(self, segment: Segment, now: float) -> bool:
        self.recv.start(segment.seq)
        self.take_syn_data(segment)
        self.send_syn_ack(now)
        return True


@mutant("DUP-6")
class SynInTheWindowIsText(_OtherSyn):
    """The data of a SYN inside the window is put into the stream at its place."""

    def other_syn(self, segment: Segment, now: float) -> bool:
        self.take_text(segment.seq, segment.payload, False)
        return False


@mutant("DUP-6")
class OlderSynIsDelivered(_OtherSyn):
    """The data of a SYN with an older ISN is delivered on the spot."""

    def other_syn(self, segment: Segment, now: float) -> bool:
        if seq.distance(segment.seq, self.recv.irs) > 0:
            self.deliver(segment.payload)
        return False


@mutant("DUP-6")
class DistantSynMovesTheStream(_OtherSyn):
    """A SYN with a distant ISN is challenged, yet the stream goes on behind it."""

    def other_syn(self, segment: Segment, now: float) -> bool:
        self.challenge(now)
        self.recv.nxt = segment.end
        return True


@mutant("DUP-6", also=("ACC-3",))
class SynAfterARefusalIsAccepted(PassiveConnection):
    """The data of a valid cookie after a wrong one is delivered, and not counted as received."""

    kept = b""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        option = self.listener.read_fast_open(segment)
        if option is not None and self.listener.check_cookie(segment, option).is_valid:
            self.kept = b"" if self.fast_opened else segment.payload
        super().answer_duplicate(segment, now)

    def establish(self, now: float) -> None:
        super().establish(now)
        self.deliver(self.kept)


@mutant("DUP-6", also=("ACC-10",))
class FastOpenAfterAPlainSynIsLost(PassiveConnection):
    """The data of a fast open on a pending plain connection is acknowledged, and lost."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if self.state is State.SYN_RCVD and not self.fast_opened and segment.cookie:
            self.recv.nxt = segment.end
        super().syn_arrives(segment, now)

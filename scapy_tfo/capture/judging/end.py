"""One end of a captured connection under the rules, and what is in doubt of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from scapy_tfo.address import Address
from scapy_tfo.capture.connections import End
from scapy_tfo.capture.judging.doubts import Doubt
from scapy_tfo.capture.judging.verdict import EndVerdict, Finding
from scapy_tfo.icmp import IcmpError
from scapy_tfo.oracle.conduct.conduct import RULES, Conduct, Tally
from scapy_tfo.oracle.conduct.history import History, Population
from scapy_tfo.oracle.conduct.rule import Breach, Rule
from scapy_tfo.segment import ACK, SYN, Segment
from scapy_tfo.seq import distance

_SHOWN = 5
"""Frames that a finding cites."""

LOSS = frozenset({"ack-of-nothing", "ack-of-a-gap", "block-of-nothing", "echo-of-nothing"})
"""Rules that a right stack seems to break where the capture lacks a packet of its peer."""

_SILENT = frozenset({Doubt.ONE_WAY, Doubt.START})
"""What seems to be a breach under such a doubt says nothing."""

_BY_NAME = {each.name: each for each in RULES}


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the capture of a connection. proven: it has every packet of both ends, from
    the first SYN on. unjoined: segments are in it as they were sent. places: addresses of the ends
    whose packets it has in the order in which they were sent. place: that the file names, None
    where it does not. began: it has a SYN in front."""

    proven: bool = False
    unjoined: bool = False
    places: frozenset[Address] = frozenset()
    place: Address | None = None
    began: bool = True


@dataclass(slots=True)
class _Found:
    breach: Breach
    count: int = 0
    packets: list[int] = field(default_factory=list)


class JudgedEnd:
    """doubt: why the capture does not prove that it has every packet of the other end, None while
    it does. mixed: why numbers cannot be compared, None while they can. is_cut: a packet of the
    connection was cut short: who knows whether its checksum was right."""

    def __init__(
        self, end: End, key: object, population: Population, known: Known, *, opens: bool
    ) -> None:
        self.end = end
        self._began = known.began
        self._is_placed = end.address in known.places
        self._is_there = self._is_placed or end.address == known.place
        self.history = History(
            key,
            population,
            ordered=known.proven and self._is_placed,
            whole=known.unjoined,
            opens=opens,
        )
        self.doubt = None if known.proven else Doubt.UNPROVEN
        self.mixed: Doubt | None = None
        self.is_cut = False
        self.packets = 0
        self.lacking: list[int] = []
        self._tally = Tally()
        self._conduct = Conduct(self.history, self._tally)
        self._found: dict[tuple[str, bool], _Found] = {}

    # What comes

    def came(self, segment: Segment, at: float, number: int) -> None:
        """It sent a segment. at: seconds. number: of the frame."""
        lacking, mixed = False, self.history.mixed
        for each in self._conduct.came(segment, at, number):
            if mixed and (_BY_NAME[each.rule].complete or _BY_NAME[each.rule].ordered):
                # It may belong to a connection with other offers.
                continue
            found = self._found.setdefault((each.rule, self.is_cut), _Found(each.breach))
            found.count += 1
            if len(found.packets) < _SHOWN:
                found.packets.append(number)
            lacking = lacking or each.rule in LOSS
        if lacking and self.doubt is not None:
            self.lack(number)
        history = self.history
        if history.complete or history.isn is None:
            return
        # What it acknowledges was sent, whether it was captured or not.
        history.theirs.fill(min(history.their_una, history.theirs.end))
        if segment.flags & ACK and not segment.flags & SYN and not history.mixed:
            history.sent.fill(distance(history.isn, segment.ack))

    def sent(self, segment: Segment, at: float) -> None:
        """Its peer sent a segment. at: seconds."""
        self._conduct.sent(segment, at)

    def error(self, error: IcmpError, at: float) -> None:
        """Its peer, or somebody on the path, sent it an ICMP error. at: seconds."""
        self._conduct.error(error, at)

    def lack(self, number: int) -> None:
        """The capture lacks something that its peer sent, as the frame shows."""
        self.doubt = Doubt.LACKS
        self.history.complete = False
        if len(self.lacking) < _SHOWN:
            self.lacking.append(number)

    def mix(self, why: Doubt) -> None:
        """Its numbers are not to be compared from now on."""
        if self.mixed is None:
            self.mixed = why
        self.history.mixed = True

    def is_keepalive(self, segment: Segment) -> bool:
        """Whether its only byte may be any, since the peer has had it (RFC 9293 section 3.8.4)."""
        history = self.history
        if len(segment.payload) != 1 or history.iss is None:
            return False
        start = distance(history.iss, segment.seq)
        return start == history.theirs.end - 1 and history.their_una >= history.theirs.end

    # What is to be said

    def verdict(self, other: JudgedEnd) -> EndVerdict:
        """What the rules say of it in the end."""
        doubts = self._doubts(other)
        broken, unsure = [], []
        for (name, is_cut), found in self._found.items():
            finding = Finding(
                name, found.count, tuple(found.packets), found.breach.expected, found.breach.actual
            )
            doubt = self._doubt_of(_BY_NAME[name], other)
            if doubt is None and not is_cut:
                broken.append(finding)
            elif doubt not in _SILENT:
                unsure.append(finding)
        return EndVerdict(
            end=str(self.end),
            address=str(self.end.address),
            is_there=self._is_there,
            role="client" if self.history.opens else "server",
            packets=self.packets,
            held=self._tally.by_name,
            broken=tuple(broken),
            unsure=tuple(unsure),
            unjudged=doubts,
            lacking=tuple(self.lacking),
        )

    def _doubts(self, other: JudgedEnd) -> dict[Doubt, tuple[str, ...]]:
        found: dict[Doubt, list[str]] = {}
        broken = {name for name, _ in self._found}
        for rule in RULES:
            if self.history.opens and rule.listens:
                continue
            doubt = self._why_not(rule)
            if doubt is None:
                doubt = self._doubt_of(rule, other)
                if doubt is Doubt.UNPROVEN and rule.name not in broken:
                    # What holds as far as the capture shows needs no proof.
                    continue
            if doubt is not None:
                found.setdefault(doubt, []).append(rule.name)
        return {doubt: tuple(names) for doubt, names in found.items()}

    def _why_not(self, rule: Rule) -> Doubt | None:
        """Why a rule was not asked, of all packets or of the later ones."""
        history = self.history
        if history.mixed and (rule.numbers or rule.complete or rule.ordered):
            return self._why_mixed()
        if rule.ordered and not history.ordered:
            return Doubt.UNPROVEN if self._is_placed else Doubt.PLACE
        if rule.whole and not history.whole:
            return Doubt.JOINED
        return Doubt.CUT if rule.contents and not history.contents else None

    def _why_mixed(self) -> Doubt:
        history = self.history
        known = history.isn is not None and history.iss is not None
        return self.mixed or (Doubt.AGAIN if known else Doubt.START)

    def _doubt_of(self, rule: Rule, other: JudgedEnd) -> Doubt | None:
        """Why what a rule finds is not sure."""
        if rule.complete and not other.packets:
            return Doubt.ONE_WAY
        if rule.complete or rule.ordered:
            return self.doubt if self._began else Doubt.START
        return Doubt.TWICE if rule.numbers and self.doubt is Doubt.TWICE else None

"""Judges all connections of a capture, however large it is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.address import Address
from scapy_tfo.capture.connections import End
from scapy_tfo.capture.judging.conversation import Conversation
from scapy_tfo.capture.judging.doubts import Doubt
from scapy_tfo.capture.judging.end import Known
from scapy_tfo.capture.judging.packets import Seen, Unread, View, read
from scapy_tfo.capture.judging.verdict import Judgement
from scapy_tfo.capture.link_types import UnknownLinkError
from scapy_tfo.capture.reader import Contents, Frame, each_frame, survey
from scapy_tfo.errors import SetupError
from scapy_tfo.oracle.conduct.history import Population

MOST_MEMORY = 256 << 20
"""Bytes that connections under judgement may take, about; beyond, those that are silent for longest
are set aside."""

_QUIET = 60.0
"""Seconds behind its end from which on nothing more of a connection is under way."""
_BEFORE = 130.0
"""Seconds from the beginning of a capture in which a SYN may be one that was sent before and is
sent again: stacks give up or have sent it again by then (RFC 9293 section 3.8.3)."""
_SWEEP = 10_000
"""Packets from one search for connections that are over to the next."""
_HOSTS = 1 << 14
_RECENT = 1 << 16
_LISTED = 20_000
"""Connections that are listed one by one, and as many with findings."""

Key = tuple[frozenset[End], View]


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What the user knows of a capture. complete: nothing was dropped, and it began before its
    connections. unjoined: no interface put segments together or cut them. places: addresses of ends
    that it was taken at. between: two ends, if no other connections are to be judged."""

    complete: bool = False
    unjoined: bool = False
    places: frozenset[Address] = frozenset()
    between: frozenset[End] = frozenset()


class Judge:
    """Takes the packets of a capture in their order, and says what the rules make of them.

    contents: what the file says of itself.
    """

    def __init__(self, word: Word, contents: Contents, *, memory: int = MOST_MEMORY) -> None:
        self.judgement = Judgement()
        self._word = word
        self._contents = contents
        self._memory = memory
        self._open: OrderedDict[Key, Conversation] = OrderedDict()
        self._cost = 0
        self._populations: OrderedDict[Hashable, Population] = OrderedDict()
        self._recent: OrderedDict[Key, Doubt] = OrderedDict()
        self._began: dict[int, float] = {}
        self._unread: dict[frozenset[bytes], int] = {}

    def take(self, frame: Frame) -> None:
        """The next frame. Raises UnknownLinkError."""
        self.judgement.packets += 1
        self._began.setdefault(frame.interface, frame.when / 1e9)
        seen = read(frame)
        if isinstance(seen, Unread):
            self._learn_unread(frozenset((seen.src, seen.dst)), frame.number)
        elif seen is not None:
            self.judgement.segments += 1
            if not self._word.between or self._word.between == {seen.src, seen.dst}:
                self._take(seen)
        if not self.judgement.packets % _SWEEP:
            self._sweep(frame.when / 1e9)

    def close(self) -> Judgement:
        """That was all."""
        while self._open:
            self._conclude(self._open.popitem(last=False)[1])
        judgement = self.judgement
        judgement.connections.sort(key=lambda each: (not each.is_broken, each.first))
        if self._unread:
            count = len(self._unread)
            judgement.notes.append(
                f"fragments, or TCP headers that were cut short, between {count} pairs of hosts: "
                "what they held is taken for lacking"
            )
        return judgement

    def _take(self, seen: Seen) -> None:
        key = frozenset((seen.src, seen.dst)), seen.view
        talk = self._open.get(key)
        if talk is not None and talk.is_another(seen):
            self._recent[key] = Doubt.AGAIN
            if talk.is_over and seen.at - talk.last > _QUIET:
                del self._recent[key]
            del self._open[key]
            self._conclude(talk)
            talk = None
        if talk is None:
            talk = self._open[key] = self._begin(key, seen)
            self._cost += talk.cost
        before = talk.cost
        talk.take(seen)
        self._cost += talk.cost - before
        self._open.move_to_end(key)
        while self._cost > self._memory and len(self._open) > 1:
            oldest, other = self._open.popitem(last=False)
            self._remember(oldest, Doubt.ASIDE)
            self._conclude(other)

    def _begin(self, key: Key, seen: Seen) -> Conversation:
        view = seen.view
        own = self._population(seen.src, view), self._population(seen.dst, view)
        talk = Conversation(seen, own, self._known(seen), aside=self._recent.pop(key, None))
        pair = frozenset((seen.src.address.packed, seen.dst.address.packed))
        if pair in self._unread:
            talk.lack(self._unread[pair])
        return talk

    def _known(self, seen: Seen) -> Known:
        statistics = self._contents.statistics.get(seen.view.interface)
        is_whole = statistics is not None and statistics.is_whole
        late = seen.at - self._began[seen.view.interface] > _BEFORE
        # A run of ours begins its connections itself.
        proven = self._word.complete or (is_whole and (late or bool(seen.view.case)))
        return Known(proven, self._word.unjoined, self._word.places, seen.view.place)

    def _population(self, end: End, view: View) -> Population:
        key = end.address, view
        found = self._populations.pop(key, None) or Population()
        self._populations[key] = found
        if len(self._populations) > _HOSTS:
            self._populations.popitem(last=False)
        return found

    def _learn_unread(self, pair: frozenset[bytes], number: int) -> None:
        if self._unread.setdefault(pair, number) != number:
            return
        for (ends, _), talk in self._open.items():
            if frozenset(each.address.packed for each in ends) == pair:
                talk.lack(number)

    def _remember(self, key: Key, why: Doubt) -> None:
        self._recent[key] = why
        if len(self._recent) > _RECENT:
            self._recent.popitem(last=False)

    def _sweep(self, now: float) -> None:
        """Conclude what is over, so that memory is for what goes on."""
        over = [
            key for key, each in self._open.items() if each.is_over and now - each.last > _QUIET
        ]
        for key in over:
            self._conclude(self._open.pop(key))

    def _conclude(self, talk: Conversation) -> None:
        self._cost -= talk.cost
        judgement = self.judgement
        verdict = talk.verdict()
        judgement.count += 1
        judgement.broken += verdict.is_broken
        judgement.unsure += verdict.is_unsure
        for end in verdict.ends:
            judgement.doubts.update(end.unjudged.keys())
            judgement.rules.update(end.held)
        telling = verdict.is_broken or verdict.is_unsure
        if len(judgement.connections) < (2 * _LISTED if telling else _LISTED):
            judgement.connections.append(verdict)
        else:
            judgement.left_out += 1


def judge_frames(frames: Iterable[Frame], word: Word) -> Judgement:
    """Judge frames that are at hand. Raises UnknownLinkError."""
    judge = Judge(word, Contents())
    for frame in frames:
        judge.take(frame)
    return judge.close()


def judge_file(path: Path, word: Word) -> Judgement:
    """Judge a capture file, pcap or pcapng, however large.

    Raises SetupError where it cannot be read, is no capture, or has a link type that is not known.
    A file that is cut off is judged as far as it goes.
    """
    contents = survey(path)
    judge = Judge(word, contents)
    for frame in each_frame(path, Contents()):
        try:
            judge.take(frame)
        except UnknownLinkError as error:
            raise SetupError(f"{path.name}, frame {frame.number}: {error}") from error
    judgement = judge.close()
    if contents.flaw:
        judgement.notes.append(f"{contents.flaw}: judged as far as it goes")
    return judgement

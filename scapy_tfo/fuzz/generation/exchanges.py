"""A theme of whole conversations: whatever two ends may tell each other behind a handshake.

Each draws a few traits and leaves the others out: what a trait does at each turn would hide what
another needs a quiet connection for.
"""

from __future__ import annotations

from random import Random

from scapy_tfo.fuzz.generation.harmless import harmless_segment, icmp_error, uncounted
from scapy_tfo.fuzz.generation.option_lists import GOOD, NOP, REQUEST, SACK_OK, TIMES
from scapy_tfo.program.program import Cookie, Flow, Option, Program, Send, Step, Wait

_SIZES = (1, 3, 20, 20, 100, 100, 536, 1000, 1400)
_WINDOWS = (65535, 65535, 5000, 1000, 100, 0, 0)
_SPOILT = Option("fo", cookie=Cookie("own", (("flip", 9),)))
_OF_OTHER = Option("fo", cookie=Cookie("other"))
_PIECES = 40
"""Into which a client's stream is cut."""

_TRAITS = {
    "order": 0.6,
    "less": 0.5,
    "duplicates": 0.35,
    "windows": 0.5,
    "rests": 0.4,
    "marks": 0.25,
    "end": 0.3,
    "urgent": 0.12,
    "harmless": 0.2,
    "errors": 0.15,
    "beside": 0.15,
}
"""With what probability a conversation has each: text out of its order; acknowledgements of less
than came, as if others had overtaken them; the same acknowledgement several times; windows that
change; waits; ECN; a FIN of the client's; urgent pointers; segments that must not change anything;
ICMP errors; another connection."""


class _Client:
    """What the client of one flow has sent of its stream, and what it acknowledges.

    is_early: the text of the SYN is taken; it comes again otherwise. pieces: where each begins and
    ends that may be sent. done: how many of them were sent in order. top: how many the stream has,
    once it ended. begun: how many of them were sent at least in part. answered: the number up to
    which text was sent before the last wait.
    """

    def __init__(
        self, dice: Random, flow: Flow, syn: Send, traits: frozenset[str], *, is_early: bool
    ) -> None:
        self._dice = dice
        self._family = flow.family
        self.flow = syn.flow
        self.syn = syn
        self.traits = traits
        self.begin = begin = 1 + syn.size * is_early
        self.pieces: list[tuple[int, int]] = []
        if syn.size and not is_early:
            self.pieces.append((begin, 1 + syn.size))
            begin += syn.size
        while len(self.pieces) < _PIECES:
            size = dice.choice(_SIZES)
            self.pieces.append((begin, begin + size))
            begin += size
        self.done = self.begun = 0
        self.top = _PIECES
        self.early: set[int] = set()
        self.ended = False
        self.answered = self.begin
        self._window = 65535
        self._repeats = 0
        self._last: tuple[int | str, int, int] = "all", 65535, 0

    @property
    def next(self) -> int:
        """The number of what follows in order."""
        return self.pieces[self.done][0] + (self.ended and self.done == self.top)

    @property
    def has_text(self) -> bool:
        return self.done < min(self.top, _PIECES - 4)

    def piece(self) -> tuple[int, int]:
        """In order, ahead of its turn, or once more, whole or a part of it."""
        dice = self._dice
        roll = dice.random() if "order" in self.traits else 0.0
        if roll < 0.5 or (roll >= 0.75 and not (self.done or self.early)):
            at = self.done
        elif roll < 0.75:
            at = min(self.done + dice.choice((1, 1, 2, 3)), self.top - 1)
        else:
            at = dice.choice([*range(max(0, self.done - 3), self.done), *sorted(self.early)])
        begin, end = self.pieces[at]
        if roll and dice.random() < 0.07 and end - begin > 1:
            self.begun = max(self.begun, at + 1)
            return begin, end - 1
        self._sent(at)
        if roll and dice.random() < 0.07 and at + 1 < self.top:
            self._sent(at + 1)
            end = self.pieces[at + 1][1]
        return begin, end

    def _sent(self, at: int) -> None:
        self.begun = max(self.begun, at + 1)
        if at >= self.done:
            self.early.add(at)
        while self.done in self.early:
            self.early.discard(self.done)
            self.done += 1

    def fin(self) -> Send:
        """Behind all that was sent, also where some of it is missing."""
        self.ended = True
        self.top = self.begun
        if self._dice.random() < 0.3:
            self.top += 1
            begin, end = self.pieces[self.top - 1]
            self._sent(self.top - 1)
            return Send(self.flow, "FP.", begin, "all", end - begin, window=self._window)
        end, ack = self.pieces[self.top][0], self.acknowledgement()
        return Send(self.flow, "F.", end, ack, window=self._window)

    def acknowledgement(self) -> int | str:
        """Of all that came, or of less."""
        return self._less() if "less" in self.traits and self._dice.random() < 0.3 else "all"

    def _less(self) -> int | str:
        """Of a part of what came, if anything did."""
        came = self.answered - self.begin
        return self._dice.randrange(1, 1 + came) if came else "all"

    def _duplicate(self) -> Send:
        """The last acknowledgement again, as if something before what came were lost."""
        self._repeats -= 1
        ack, window, sack = self._last
        return Send(self.flow, ".", self.next, ack, window=window, sack=sack)

    def turn(self) -> Step:
        """What it sends next."""
        dice, roll = self._dice, self._dice.random()
        if "end" in self.traits and not self.ended and self.done and roll < 0.12:
            return self.fin()
        if "harmless" in self.traits and roll > 0.85:
            return harmless_segment(dice, self.syn, self.next)
        if "errors" in self.traits and 0.7 < roll < 0.8:
            return icmp_error(dice, self.flow, self.next, self._family)
        if self._repeats and roll < 0.8:
            return self._duplicate()
        return self._segment()

    def _segment(self) -> Send:
        dice, ack = self._dice, self.acknowledgement()
        text = self.has_text and dice.random() < 0.7
        begin, end = self.piece() if text else (self.next, self.next)
        flags, mark, urgent = "P." if dice.random() < 0.6 else ".", 0, 0
        if "marks" in self.traits:
            flags += dice.choice(("", "", "", "W", "E"))
            mark = dice.choice((0, 2, 2, 3)) if text else 0
        if "urgent" in self.traits and text and dice.random() < 0.3:
            flags += "U"
            urgent = dice.choice((1, end - begin, 60000))
        if "windows" in self.traits and dice.random() < 0.4:
            self._window = dice.choice(_WINDOWS)
        if not self._repeats and "duplicates" in self.traits and dice.random() < 0.3:
            ack = self._less() if ack == "all" else ack
            if ack != "all":
                self._repeats = dice.randrange(3, 9)
                self._last = ack, self._window, dice.choice((0, 1, 100, 536, 1000, 1400))
        return Send(
            self.flow,
            flags,
            begin,
            ack,
            end - begin,
            window=self._window,
            urgent=urgent,
            traffic_class=mark,
            sack=self._last[2] if ack == self._last[0] else 0,
        )


def exchange(dice: Random) -> Program:
    """Any of the traits, with any of the options that both may agree on."""
    traits = frozenset(name for name, chance in _TRAITS.items() if dice.random() < chance)
    family = 4 if dice.random() < 0.7 else 6
    isn = dice.choice((0xFFFFFFFF, 0xFFFFFF00, 0xFFFFF000, 0x7FFFFF00))
    flows = [Flow(family, isn=isn if dice.random() < 0.25 else None)]
    clients = [_opened(dice, 0, flows[0], traits)]
    rests = (None,) * 8 + ((0.1, 0.1, 0.3, 0.3, 1.2, 1.2, 3.5, 9.0) if "rests" in traits else ())
    steps: list[Step] = [clients[0].syn, Wait(dice.choice(rests))]
    turns = dice.randrange(4, 24)
    joins = dice.randrange(turns) if "beside" in traits else -1
    for turn in range(turns):
        if turn == joins:
            flows.append(_beside(dice, flows[0]))
            clients.append(_opened(dice, 1, flows[1], traits))
            steps += [clients[1].syn, Wait(dice.choice(rests))]
        steps.append(dice.choice(clients).turn())
        if dice.random() < 0.5:
            steps.append(Wait(dice.choice(rests)))
            for each in clients:
                each.answered = each.pieces[each.done][0]
    for each in clients:
        steps += [Send(each.flow, ".", each.next, "all"), Wait()]
    return Program(tuple(flows), tuple(steps))


def retries(dice: Random) -> Program:
    """Answers that are lost again and again, each for longer than a timer of the target's, and
    acknowledged then; in between, rests, and segments that must not count."""
    size = dice.choice((0, 20, 20, 1000))
    cookie = dice.choice((GOOD, GOOD, GOOD, REQUEST, _SPOILT) if size else (GOOD, REQUEST))
    syn = Send(0, "S", size=size, options=(*_options(dice), cookie))
    steps: list[Step] = [syn, Wait(dice.choice((None, None, 1.5, 4.0, 8.0)))]
    at = 1 + size * (cookie == GOOD)
    for _ in range(dice.randrange(1, 7)):
        length = dice.choice((20, 100, 1000))
        steps.append(Send(0, "P.", at, "all", length))
        at += length
        if dice.random() < 0.4:
            steps += [Wait(), uncounted(dice, syn, at), Wait(dice.choice((1.5, 4.0)))]
        else:
            steps.append(Wait(dice.choice((0.5, 1.5, 4.0, 8.0, 20.0))))
        if dice.random() < 0.85:
            rest = dice.choice((None, None, None, 0.3, 2.0, 70.0, 300.0))
            steps += [Send(0, ".", at, "all"), Wait(rest)]
    steps += [Send(0, ".", at, "all"), Wait()]
    return Program((Flow(4 if dice.random() < 0.7 else 6),), tuple(steps))


def _beside(dice: Random, first: Flow) -> Flow:
    """Another connection, which may have the ports or the address of the first."""
    client, port = dice.randrange(2), dice.choice(("main", "main", "second", "plain"))
    shares = (client, port) != (first.client, first.port) and dice.random() < 0.3
    return Flow(first.family, client, port, sport_of=0 if shares else None)


def _opened(dice: Random, number: int, flow: Flow, traits: frozenset[str]) -> _Client:
    size = dice.choice((0, 0, 20, 1000))
    of_fast_open = (GOOD,) * 6 + ((REQUEST, _SPOILT) if size else (REQUEST, REQUEST, None, None))
    cookie = dice.choice((*of_fast_open, _OF_OTHER, _OF_OTHER) if number and size else of_fast_open)
    options = (*_options(dice), *((cookie,) if cookie else ()))
    syn = Send(number, "SEW" if "marks" in traits else "S", size=size, options=options)
    return _Client(dice, flow, syn, traits, is_early=cookie == GOOD and flow.port != "plain")


def _options(dice: Random) -> tuple[Option, ...]:
    out = [Option("mss", dice.choice((1460, 1460, 1220, 536, 1000)))] if dice.random() < 0.8 else []
    if dice.random() < 0.5:
        out.append(SACK_OK)
    if dice.random() < 0.4:
        out.append(TIMES)
    if dice.random() < 0.4:
        out += [NOP, Option("ws", dice.choice((0, 2, 7, 14)))]
    return tuple(out)

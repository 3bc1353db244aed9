"""A theme of whole conversations: whatever two ends may tell each other behind a handshake."""

from __future__ import annotations

from random import Random

from scapy_tfo.fuzz.generation.option_lists import GOOD, NOP, REQUEST, SACK_OK, TIMES
from scapy_tfo.program.program import Flow, Option, Program, Send, Step, Wait

_SIZES = (1, 3, 20, 20, 100, 100, 536, 1000, 1400)
_MOST = 40
"""Segments behind the SYN."""


class _Client:
    """What the client has sent of its stream.

    pieces: where each begins and ends that may be sent. done: how many of them were sent in order.
    """

    def __init__(self, dice: Random, begin: int) -> None:
        self._dice = dice
        self.begin = begin
        self.pieces: list[tuple[int, int]] = []
        for _ in range(_MOST):
            size = dice.choice(_SIZES)
            self.pieces.append((begin, begin + size))
            begin += size
        self.done = 0
        self.early: set[int] = set()

    @property
    def next(self) -> int:
        """The number of what follows in order."""
        return self.pieces[self.done][0]

    def piece(self) -> tuple[int, int]:
        """In order, ahead of its turn, or once more, whole or a part of it."""
        dice, roll = self._dice, self._dice.random()
        if roll < 0.5 or (roll >= 0.75 and not (self.done or self.early)):
            at = self.done
        elif roll < 0.75:
            at = self.done + dice.choice((1, 1, 2, 3))
        else:
            at = dice.choice([*range(max(0, self.done - 3), self.done), *sorted(self.early)])
        begin, end = self.pieces[at]
        self._sent(at)
        if dice.random() < 0.15:
            end = self.pieces[at + 1][1] if dice.random() < 0.5 else max(begin + 1, end - 1)
        return begin, end

    def _sent(self, at: int) -> None:
        self.early.add(at)
        while self.done in self.early:
            self.early.discard(self.done)
            self.done += 1

    def acknowledgement(self) -> int | str:
        """Of all that came, or of less."""
        if self._dice.random() < 0.7 or self.next <= self.begin:
            return "all"
        return self._dice.randrange(1, 1 + self.next - self.begin)


def exchange(dice: Random) -> Program:
    """Text in any order and more than once, acknowledgements, windows, marks and rests, with any of
    the options that both may agree on."""
    speaks_ecn = dice.random() < 0.25
    size = dice.choice((0, 0, 20, 1000))
    syn = Send(0, "SEW" if speaks_ecn else "S", size=size, options=_options(dice, size))
    client = _Client(dice, 1 + size)
    steps: list[Step] = [syn, Wait()]
    for _ in range(dice.randrange(4, _MOST // 2)):
        steps.append(_segment(dice, client, speaks_ecn=speaks_ecn))
        if dice.random() < 0.5:
            steps.append(Wait(dice.choice((None,) * 8 + (0.1, 0.1, 0.3, 0.3, 1.2, 1.2, 3.5, 9.0))))
    steps += [Send(0, ".", client.next, "all"), Wait()]
    isn = dice.choice((0xFFFFFFFF, 0xFFFFFF00, 0xFFFFF000, 0x7FFFFF00))
    family = 4 if dice.random() < 0.7 else 6
    return Program((Flow(family, isn=isn if dice.random() < 0.25 else None),), tuple(steps))


def _options(dice: Random, size: int) -> tuple[Option, ...]:
    out = [Option("mss", dice.choice((1460, 1460, 1220, 536, 1000)))] if dice.random() < 0.8 else []
    if dice.random() < 0.5:
        out.append(SACK_OK)
    if dice.random() < 0.4:
        out.append(TIMES)
    if dice.random() < 0.4:
        out += [NOP, Option("ws", dice.choice((0, 2, 7, 14)))]
    out += [GOOD] if size or dice.random() < 0.3 else dice.choice(([], [REQUEST]))
    return tuple(out)


def _segment(dice: Random, client: _Client, *, speaks_ecn: bool) -> Send:
    text = dice.random() < 0.7
    begin, end = client.piece() if text else (client.next, client.next)
    flags, mark = "P." if dice.random() < 0.6 else ".", 0
    if speaks_ecn:
        flags += dice.choice(("", "", "", "W", "E"))
        mark = dice.choice((0, 2, 2, 3)) if text else 0
    return Send(
        0,
        flags,
        begin,
        client.acknowledgement(),
        end - begin,
        window=dice.choice((65535, 65535, 65535, 65535, 5000, 1000, 100, 0)),
        traffic_class=mark,
    )

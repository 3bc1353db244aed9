"""A theme of what plain TCP foresees and hardly any peer sends, one thing in a conversation."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from scapy_tfo import option as opt
from scapy_tfo.fuzz.generation.option_lists import GOOD, MSS, NOP, REQUEST, SACK_OK, TIMES
from scapy_tfo.program.program import Flow, Option, Program, Send, Step, Wait

_FAR = 1 << 29
_TIMED = (NOP, NOP, TIMES)
_ISNS = (None, None, None, 0xFFFFFFFF, 0xFFFFFFF0, 0xFFFFFF00, 0x7FFFFFF5)
_FULL = {4: 1460, 6: 1440}
"""Bytes of text in a packet of 1,500, by family."""
_ODD_OPTIONS = (
    Option("raw", kind=200, data=b"??"),
    Option("raw", kind=opt.MSS, data=b"\0\x40"),
    Option("raw", kind=opt.SACK_PERMITTED),
    Option("raw", kind=opt.WINDOW_SCALE, data=b"\5"),
    Option("raw", kind=opt.TIMESTAMPS, data=bytes(8)),
)
"""Behind a handshake that agreed on none of them."""


class _Talk:
    """The steps of a flow so far. at: the number of what the client sends next. family: 4 or 6."""

    def __init__(self, dice: Random, *options: Option, ack: int | None = None) -> None:
        self.dice = dice
        self.family = 4 if dice.random() < 0.7 else 6
        cookie = dice.choice((GOOD, GOOD, REQUEST, None))
        size = dice.choice((0, 20)) if cookie == GOOD else 0
        offered = (MSS, *options, *((cookie,) if cookie else ()))
        self.syn = Send(0, "S", ack=ack, size=size, options=offered)
        self.steps: list[Step] = [self.syn, Wait()]
        self.at = 1 + size

    def opens(self) -> _Talk:
        """The handshake ends, mostly with some text that is echoed."""
        size = self.dice.choice((0, 10, 300))
        self.says(size)
        return self

    def says(self, size: int, options: tuple[Option, ...] | None = None) -> None:
        """Text in its turn, or an ACK."""
        self.sends(Send(0, "P." if size else ".", self.at, "all", size, options=options))
        self.at += size

    def sends(self, *steps: Step) -> None:
        """Steps, and time for their answers."""
        self.steps += [*steps, Wait()]

    def program(self) -> Program:
        """All of it, and a last exchange."""
        self.says(10)
        return Program((Flow(self.family, isn=self.dice.choice(_ISNS)),), tuple(self.steps))


def _number_without_ack(dice: Random) -> _Talk:
    """A SYN whose acknowledgement field holds something, though it has no ACK (RFC 9293 3.1)."""
    return _Talk(dice, ack=dice.choice((1, 1000, _FAR))).opens()


def _reset_behind_a_challenge(dice: Random) -> _Talk:
    """A SYN on an open connection, and the RST that its challenge ACK brings (RFC 5961 4)."""
    talk = _Talk(dice).opens()
    number = dice.choice((-1000, talk.at + 5, talk.at + 1000, _FAR))
    talk.sends(Send(0, "S", number, options=(MSS,)))
    talk.sends(Send(0, "R", talk.at))
    return talk


def _without_timestamps(dice: Random) -> _Talk:
    """Segments that lack the agreed timestamps, between others (RFC 7323 3.2)."""
    talk = _Talk(dice, *_TIMED).opens()
    for _ in range(dice.randrange(1, 3)):
        size = dice.choice((0, 10))
        # Some drop it, so the text comes once more.
        talk.sends(Send(0, "P." if size else ".", talk.at, "all", size, options=()))
        talk.says(size)
    return talk


def _blocks_of_nothing(dice: Random) -> _Talk:
    """SACK blocks of what the target has not sent, or of half a block (RFC 2018)."""
    talk = _Talk(dice, SACK_OK).opens()
    data = dice.choice((dice.randbytes(8), dice.randbytes(16), bytes(8), b"\xff" * 8))
    block = Option("raw", kind=opt.SACK, data=data)
    talk.sends(Send(0, ".", talk.at, "all", options=(NOP, NOP, block)))
    return talk


def _scale_in_a_later_segment(dice: Random) -> _Talk:
    """A window scale without SYN, and more text than the window has room for (RFC 7323 2.3)."""
    agreed, later = dice.choice(((0, 14), (0, 7), (7, 0), (None, 7)))
    offer = () if agreed is None else (NOP, Option("ws", agreed))
    talk = _Talk(dice, *offer).opens()
    size, window = dice.choice((100, 1000, 1400)), dice.choice((10, 100, 500))
    segment = Send(0, ".", talk.at, "all", window=window, options=(NOP, Option("ws", later)))
    talk.sends(segment)
    talk.sends(Send(0, "P.", talk.at, "all", size, window=window))
    talk.at += size
    return talk


def _window_that_shrinks(dice: Random) -> _Talk:
    """A window that ends before what is under way, for some timeouts (RFC 9293 3.8.6)."""
    talk = _Talk(dice).opens()
    heard = talk.at
    for _ in range(dice.choice((1, 2, 3))):
        talk.says(1000)
    window = dice.choice((10, 300, 999, 1500))
    talk.steps.append(Send(0, ".", talk.at, heard + dice.choice((-1, 0, 9)), window=window))
    rest = dice.choice((1.5, 4.0, 9.0, 20.0))
    talk.steps += [Wait(rest), Send(0, ".", talk.at, "all", window=window), Wait(rest)]
    return talk


def _odd_text(dice: Random) -> _Talk:
    """Text that is odd in something that is no reason to drop it (RFC 9293 3.1)."""
    talk = _Talk(dice).opens()
    odd = dice.choice(_ODD_OPTIONS)
    options = (NOP, NOP, odd) if dice.random() < 0.7 else ()
    reserved = 0 if options else dice.choice((1, 2, 4))
    size = dice.choice((1, 10, 300))
    talk.sends(Send(0, "P.", talk.at, "all", size, options=options, reserved=reserved))
    talk.at += size
    return talk


def _full_segments(dice: Random) -> _Talk:
    """Segments as large as a packet holds, in order and not."""
    talk = _Talk(dice).opens()
    size = _FULL[talk.family]
    order = [talk.at + size * each for each in range(dice.randrange(1, 5))]
    talk.at = order[-1] + size
    if dice.random() < 0.5:
        dice.shuffle(order)
    for at in order:
        talk.sends(Send(0, "P." if dice.random() < 0.5 else ".", at, "all", size))
    return talk


_KINDS: tuple[Callable[[Random], _Talk], ...] = (
    _number_without_ack,
    _reset_behind_a_challenge,
    _without_timestamps,
    _blocks_of_nothing,
    _scale_in_a_later_segment,
    _window_that_shrinks,
    _odd_text,
    _full_segments,
)


def rare(dice: Random) -> Program:
    """One of the kinds, and whether the connection still works."""
    return dice.choice(_KINDS)(dice).program()

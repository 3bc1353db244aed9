"""Themes of segments after a SYN: duplicates, text, acknowledgements, resets, losses."""

from __future__ import annotations

from random import Random

from scapy_tfo.fuzz.generation.option_lists import (
    GOOD,
    MSS,
    NOP,
    REQUEST,
    TIMES,
    opening,
    syn_options,
)
from scapy_tfo.program.program import (
    OF_PORTS,
    TOO_BIG,
    UNFOUNDED,
    Cookie,
    Expect,
    Flow,
    Icmp,
    Option,
    Program,
    Send,
    Step,
    Wait,
)

_ISNS = (0xFFFFFFFF, 0xFFFFFFF0, 0xFFFFFFFA, 0xFFFFFFEB, 0x7FFFFFF5)
_FAR = 1 << 29
_MANY_TIMEOUTS = 0.1
"""The part of connections with losses that live through more timeouts than are borne in a row."""
_TURNS, _TURN = 5, 100
"""How often that is, and bytes of each text."""
_TIMED = (NOP, NOP, TIMES)


def _flow(dice: Random, port: str = "main") -> Flow:
    isn = dice.choice(_ISNS) if dice.random() < 0.15 else None
    return Flow(4 if dice.random() < 0.8 else 6, 0, port, isn)


def _open(dice: Random, size: int = 20, chance: float = 0.75) -> list[Step]:
    steps: list[Step] = [Send(0, "S", size=size, options=opening(dice, chance))]
    if dice.random() < 0.85:
        steps.append(Wait())
    else:
        steps.append(Expect(0, "syn-ack"))
    return steps


def _pause(dice: Random, steps: list[Step], chance: float = 0.5) -> None:
    if dice.random() < chance:
        steps.append(Wait())


def duplicates(dice: Random) -> Program:
    """The SYN again, or one like it, before and after the handshake."""
    size = dice.choice((0, 10, 20, 20))
    steps = _open(dice, size, 0.7)
    if dice.random() < 0.2:
        steps.append(Send(0, ".", 1 + size, "all"))
        _pause(dice, steps)
    first = steps[0]
    assert isinstance(first, Send)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 5))):
        options = dice.choice(
            (first.options, (MSS,), (MSS, GOOD), (MSS, REQUEST), syn_options(dice))
        )
        if dice.random() < 0.2:
            wrong = Cookie("own", (("flip", 5),))
            options = (MSS, Option("fo", cookie=wrong))
        steps.append(
            Send(
                0,
                "S",
                dice.choice((0, 0, 0, 0, 1000, -1000, 1, 5, 1 + size, _FAR, -_FAR)),
                size=dice.choice((size, size, 0, 8, 30)),
                wrong=dice.random() < 0.3,
                options=options,
            )
        )
        _pause(dice, steps, 0.6)
    steps.append(Wait())
    return Program((_flow(dice),), tuple(steps))


def stream(dice: Random) -> Program:
    """Text and FIN behind the SYN, in pieces, overlapping, out of order, with and without ACK."""
    size = dice.choice((0, 10, 20, 20, 300, 1000))
    steps = _open(dice, size)
    at, ended = 1 + size, False
    for _ in range(dice.randrange(1, 6)):
        start = at + dice.choice((0, 0, 0, 0, 10, 30, -5, -size, -10))
        start = max(start, 1)
        length = dice.choice((0, 1, 10, 20, 100, 500))
        flags = dice.choices(
            (".", "P.", "F.", "FP.", "", "F", "P", "U."), (20, 40, 8, 8, 6, 4, 4, 2)
        )[0]
        if ended:
            flags = flags.replace("F", "")
        steps.append(
            Send(
                0,
                flags,
                start,
                "all" if "." in flags else None,
                length,
                wrong=flags in ("", "F", "P"),
                urgent=3 if "U" in flags else 0,
            )
        )
        if "." in flags:
            at = max(at, start + length)
            ended = ended or "F" in flags
        _pause(dice, steps, 0.45)
    steps.append(Wait())
    return Program((_flow(dice),), tuple(steps))


def resets(dice: Random) -> Program:
    """RST at, before and behind the window; then what is left of the connection."""
    size = dice.choice((0, 20, 20))
    steps = _open(dice, size, 0.8)
    if dice.random() < 0.3:
        steps += [Send(0, ".", 1 + size, "all"), Wait()]
    number = dice.choice((1 + size, 1 + size, 0, 1, size, 2 + size, 500, -1, _FAR, -_FAR))
    flags = dice.choice(("R", "R", "R."))
    steps += [
        Send(
            0,
            flags,
            number,
            "all" if "." in flags else None,
            dice.choice((0, 0, 0, 10)),
            wrong=True,
            options=dice.choice(((), (), (GOOD,), (REQUEST,))),
        ),
        Wait(),
    ]
    roll = dice.random()
    if roll < 0.4:
        steps += [
            Send(0, dice.choice((".", "P.", "F.")), 1 + size, "all", dice.choice((0, 10))),
            Wait(),
        ]
    elif roll < 0.55:
        steps += [Wait(4.0)]
    elif roll < 0.8:
        steps += [Send(0, "S", size=size, options=dice.choice(((MSS, GOOD), (MSS,)))), Wait()]
    flows = [_flow(dice)]
    if dice.random() < 0.4:
        flows.append(Flow(flows[0].family))
        steps += [Send(1, "S", size=20, options=dice.choice(((MSS, GOOD), (MSS,)))), Wait()]
    return Program(tuple(flows), tuple(steps))


def bad_acks(dice: Random) -> Program:
    """In SYN-RCVD, acknowledgements of what was never sent, with text and FIN that are wrong."""
    size = dice.choice((0, 20, 20))
    steps = _open(dice, size, 0.85)
    for _ in range(dice.choice((1, 1, 2))):
        beyond = dice.choice((0, -1, -_FAR, _FAR, 100_000, size + 3, 1 + size + 1, -1000))
        flags = dice.choice((".", "P.", "F.", "FP.", "S."))
        steps += [
            Send(
                0, flags, 1 + size if flags != "S." else 0, beyond, dice.choice((0, 10)), wrong=True
            ),
            Wait(),
        ]
    if dice.random() < 0.5:
        steps += [Send(0, "P.", 1 + size, "all", 10), Wait()]
    return Program((_flow(dice),), tuple(steps))


def elsewhere(dice: Random) -> Program:
    """The option on segments that are no SYN."""
    size = dice.choice((0, 20))
    steps = _open(dice, size, 0.5)
    at = 1 + size
    for _ in range(dice.randrange(1, 4)):
        option = dice.choice(
            (GOOD, GOOD, REQUEST, Option("fo", kind=254), Option("fo", kind=254, cookie=Cookie()))
        )
        flags = dice.choice((".", "P.", "P.", "F.", "R"))
        length = 10 if flags == "P." else 0
        steps.append(Send(0, flags, at, "all" if "." in flags else None, length, options=(option,)))
        at += length
        _pause(dice, steps, 0.6)
        if flags in ("F.", "R"):
            break
    steps.append(Wait())
    flows = [_flow(dice)]
    if dice.random() < 0.3:
        flows.append(Flow(flows[0].family, sport_of=0, port="second"))
        steps += [Send(1, "S", size=10, options=(MSS,)), Wait()]
    return Program(tuple(flows), tuple(steps))


def times(dice: Random) -> Program:
    """Timestamps that are old, new, wrapping, absent."""
    size = dice.choice((0, 20))
    extra = dice.choice(((GOOD,), (GOOD,), (), (REQUEST,)))
    steps: list[Step] = [
        Send(0, "S", size=size, options=(MSS, TIMES, *extra)),
        Wait(),
    ]
    at = 1 + size
    for _ in range(dice.randrange(1, 5)):
        delta = dice.choice((0, 0, 10, 1000, -100_000, -1))
        length = dice.choice((0, 10, 10))
        options = (NOP, NOP, Option("ts", delta)) if dice.random() < 0.93 else ()
        gap = dice.choice((0, 0, 0, 20))
        old = delta < -1000
        steps.append(
            Send(0, "P." if length else ".", at + gap, "all", length, wrong=old, options=options)
        )
        if not old and not gap:
            at += length
        _pause(dice, steps, 0.7)
    clock = dice.choice((None, None, None, 0xFFFFFFFB, 0x7FFFFFFB))
    return Program((_flow(dice),), (*steps, Wait()), clock=clock)


def windows(dice: Random) -> Program:
    """Windows from nothing to much, with scales, and segments that the peer limits."""
    size = dice.choice((20, 300, 1000, 1300))
    shift = dice.choice((None, None, 0, 2, 7, 14))
    mss = dice.choice((1460, 1460, 536, 100, 600, None))
    options = [] if mss is None else [Option("mss", mss)]
    if shift is not None:
        options += [NOP, Option("ws", shift)]
    if dice.random() < 0.2:
        options.append(TIMES)
    options.append(GOOD if dice.random() < 0.8 else REQUEST)
    first = dice.choice((65535, 65535, 0, 1, 10, 100, 500))
    steps: list[Step] = [Send(0, "S", size=size, window=first, options=tuple(options)), Wait()]
    at = 1 + size
    for _ in range(dice.randrange(0, 3)):
        length = dice.choice((0, 0, 10, 700))
        steps.append(
            Send(0, ".", at, "all", length, window=dice.choice((0, 1, 10, 50, 300, 1000, 65535)))
        )
        at += length
        steps.append(Wait(dice.choice((2.0, 4.0, 9.0))) if dice.random() < 0.25 else Wait())
    return Program((_flow(dice),), tuple(steps))


def losses(dice: Random) -> Program:
    """Nothing is acknowledged for a while: what is lost has to come again."""
    size = dice.choice((0, 20, 20, 1000, 1300))
    steps = _open(dice, size, 0.75)
    steps.append(Wait(dice.choice((0.5, 1.5, 2.0, 4.0, 8.0, 14.0))))
    roll = dice.random()
    at = 1 + size
    if roll < 0.3:
        steps += [Send(0, "P.", at, 1, 300), Wait(dice.choice((1.0, 4.0, 9.0)))]
        at += 300
    elif roll < 0.5:
        steps += [Send(0, "F.", at, 1), Wait(dice.choice((4.0, 8.0)))]
        return Program((_flow(dice),), tuple(steps))
    elif roll < 0.7:
        steps += [
            Send(0, ".", at, "all"),
            Wait(),
            Send(0, "P.", at, "all", 1000),
            Wait(dice.choice((3.0, 8.0))),
        ]
        at += 1000
    if dice.random() < _MANY_TIMEOUTS:
        return Program((_flow(dice),), (*steps, *_timeouts_between_answers(at)))
    for _ in range(dice.choice((0, 0, 1, 2, 3, 4))):
        steps += [Send(0, "P.", at, "all", 100), Wait(dice.choice((2.0, 4.0, 8.0)))]
        at += 100
        if dice.random() < 0.6:
            steps += [Send(0, ".", at, "all"), Wait()]
    if dice.random() < 0.5:
        steps += [Send(0, "P.", at, "all", 100), Wait()]
    if dice.random() < 0.2:
        steps += [Send(0, ".", at + 100, "all"), Wait(70.0)]
    return Program((_flow(dice),), tuple(steps))


def _timeouts_between_answers(at: int) -> list[Step]:
    """Again and again nothing is acknowledged for some timeouts, and then at once, so that a round
    trip can be measured. at: the number of the first text."""
    steps: list[Step] = []
    for number in range(_TURNS):
        start = at + 2 * _TURN * number
        steps += [Send(0, "P.", start, "all", _TURN), Wait(8.0), Send(0, ".", start + _TURN, "all")]
        steps += [Wait(), Send(0, "P.", start + _TURN, "all", _TURN), Wait()]
        steps += [Send(0, ".", start + 2 * _TURN, "all"), Wait()]
    return steps


def errors(dice: Random) -> Program:
    """ICMP errors about a fast open and its neighbours."""
    size = dice.choice((20, 1000))
    steps = _open(dice, size, 0.85)
    what = dice.choice(("unreachable", "unreachable", TOO_BIG))
    if dice.random() < 0.25:
        what = dice.choice((OF_PORTS, *UNFOUNDED))
    steps += [
        Icmp(
            0,
            what,
            dice.choice((0, 1, 2, 3, 4, 13)),
            dice.choice((68, 552, 1000, 1280, 40, 20)) if what == TOO_BIG else 0,
            dice.choice((0, 0, 0, 1, 5000, -5000, _FAR)),
        ),
        Wait(),
    ]
    if dice.random() < 0.2:
        steps.append(Wait(4.0))
    flows = [_flow(dice)]
    roll = dice.random()
    if roll < 0.6:
        flows.append(Flow(flows[0].family))
        syn: list[Step] = [
            Send(1, "S", size=20, options=dice.choice(((MSS, GOOD), (MSS,)))),
            Wait(),
        ]
        if roll < 0.25:
            steps = [*syn, Send(1, ".", dice.choice((1, 21)), "all"), Wait(), *steps]
        else:
            steps += syn
    return Program(tuple(flows), tuple(steps))


def replays(dice: Random) -> Program:
    """A SYN on a connection that is open, closing or closed; then another connection."""
    size = dice.choice((0, 20))
    steps = _open(dice, size, 0.7)
    first = steps[0]
    assert isinstance(first, Send)
    at = 1 + size
    steps.append(Send(0, ".", at, "all"))
    if dice.random() < 0.5:
        steps += [Send(0, "P.", at, "all", 10), Wait()]
        at += 10
    if dice.random() < 0.3:
        steps += [Send(0, "F.", at, "all"), Wait()]
        at += 1
        if dice.random() < 0.5:
            steps += [Send(0, ".", at, "all"), Wait()]
    for _ in range(dice.choice((1, 1, 2))):
        steps.append(
            Send(
                0,
                "S",
                dice.choice((0, 0, -1000, 1, at, at + 5, at + 1000, _FAR, -_FAR)),
                size=dice.choice((size, 20)),
                wrong=dice.random() < 0.5,
                options=dice.choice((first.options, (MSS, GOOD), (MSS,))),
            )
        )
        _pause(dice, steps, 0.6)
    flows = [_flow(dice)]
    if dice.random() < 0.5:
        flows.append(Flow(flows[0].family))
        steps += [
            Send(1, "S", size=20, options=dice.choice(((MSS, GOOD), (MSS,), (MSS, REQUEST)))),
            Wait(),
        ]
    return Program(tuple(flows), (*steps, Wait()))


def bulk(dice: Random) -> Program:
    """Much text, at once and in order, or with the first piece last."""
    size = dice.choice((0, 20, 1000))
    steps = _open(dice, size, 0.8)
    at = 1 + size
    pieces = []
    for _ in range(dice.randrange(4, 24)):
        length = dice.choice((1200, 1200, 1000, 536))
        pieces.append(Send(0, "P.", at, "all", length))
        at += length
    if dice.random() < 0.3:
        pieces = pieces[1:] + pieces[:1]
    for piece in pieces:
        steps += [piece, Wait()]
    return Program((_flow(dice),), tuple(steps))


def mixture(dice: Random) -> Program:
    """The steps of two themes on one flow."""
    makers = (duplicates, stream, resets, bad_acks, elsewhere, replays, losses)
    first, second = dice.choice(makers)(dice), dice.choice(makers)(dice)
    steps = [each for each in first.steps if getattr(each, "flow", 0) == 0]
    steps += [each for each in second.steps[2:] if getattr(each, "flow", 0) == 0]
    return Program(first.flows[:1], tuple(steps[:30]))

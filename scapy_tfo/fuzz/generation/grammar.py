"""Makes programs from seeds: `program_for` gives the same one for the same seed, everywhere.

Each theme is a kind of conversation in which fast open can go wrong; chance decides its details.
The themes of segments after the SYN are in `themes.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from scapy_tfo.fuzz.generation import themes as streams
from scapy_tfo.fuzz.generation.exchanges import exchange, retries
from scapy_tfo.fuzz.generation.option_lists import (
    GOOD,
    IN_DISGUISE,
    MSS,
    NOP,
    REQUEST,
    fast_open,
    opening,
    plain,
    syn_options,
)
from scapy_tfo.fuzz.generation.rare_segments import rare
from scapy_tfo.program.program import Cookie, Flow, Option, Program, Send, Step, Wait, check

VERSION = 7
"""Of what campaigns send: a number means the same program only within one."""
_DICE = 1
"""Of the themes: a seed means the same program only within one."""
_EXCHANGES, _RARE = 12, 5
"""Of so many numbers the last is a whole conversation, and this one has something rare."""
_RETRIES = 0.15
"""Of these, the part whose answers are lost for long."""
EXCHANGE, RETRIES = CONVERSATIONS = ("exchange", "retries")
"""Origins of whole conversations."""

_LIVE_PROFILES = ("live", "linux")
_SHORT, _HURRY = 1.0, 0.97
"""Of programs that wait for longer than so many seconds, this part is diced anew where waiting
takes real time: a second has room for thousands of others."""

_ISNS = (0, 1, 0xFFFFFFFF, 0xFFFFFFF0, 0xFFFFFFFA, 0x7FFFFFFF, 0x7FFFFFF5, 0x80000000)
_SIZES = (0, 1, 2, 3, 7, 10, 20, 20, 100, 255, 256, 300, 535, 536, 537, 700, 1000, 1200, 1400)
_FLAGS = ("S", "S", "S", "SP", "SEW", "SE", "SU", "SF", "SFP", "SPU", "SW")

Theme = Callable[[Random], Program]


def program_for(seed: int, profile: str = "auto") -> Program:
    """The program of a seed. profile: "auto" or "rfc" for every theme, "live" for those that
    make sense where other programs run at the same time."""
    dice = Random(f"{_DICE} {seed}")
    themes = _KERNEL if profile in _LIVE_PROFILES else _ALL
    names = list(themes)
    weights = [themes[name][0] for name in names]
    return _drawn(dice, profile, lambda: _made(dice, themes, dice.choices(names, weights)[0]))


def sent_for(number: int, profile: str = "auto") -> Program:
    """The program of a number in a campaign: that of the seed, a whole conversation, or one with
    something rare."""
    place = number % _EXCHANGES
    if place not in (_RARE, _EXCHANGES - 1):
        return program_for(number, profile)
    dice = Random(f"{VERSION} {number}")
    if place == _RARE:
        name, theme = "rare", rare
    else:
        name, theme = (RETRIES, retries) if dice.random() < _RETRIES else (EXCHANGE, exchange)
    return replace(_drawn(dice, profile, lambda: theme(dice)), origin=name)


def _drawn(dice: Random, profile: str, make: Callable[[], Program]) -> Program:
    """One that `make` gives; mostly a short one where waiting takes real time."""
    made = make()
    while profile in _LIVE_PROFILES and _waits(made) > _SHORT and dice.random() < _HURRY:
        made = make()
    check(made)
    return made


def _made(dice: Random, themes: dict[str, tuple[int, Theme]], name: str) -> Program:
    return replace(themes[name][1](dice), origin=name)


def _waits(program: Program) -> float:
    return sum(each.seconds or 0.0 for each in program.steps if isinstance(each, Wait))


def flow(dice: Random, port: str = "main") -> Flow:
    """Any flow to a listener: mostly IPv4 from the first client."""
    isn = dice.choice(_ISNS) if dice.random() < 0.2 else None
    return Flow(4 if dice.random() < 0.75 else 6, int(dice.random() < 0.1), port, isn)


def _end(dice: Random) -> str:
    """Mostly the connection is followed to its end; some are dropped to make room for more."""
    return "finish" if dice.random() < 0.6 else "reset"


def _size(dice: Random, options: tuple[Option, ...]) -> int:
    size = dice.choice(_SIZES)
    return min(size, 1400 - 40) if options else size


def probe(dice: Random) -> Program:
    """One SYN with anything in it, and what becomes of the connection."""
    port = dice.choices(("main", "second", "plain", "closed"), (80, 6, 10, 4))[0]
    options = syn_options(dice)
    syn = Send(
        0,
        dice.choice(_FLAGS) if dice.random() < 0.25 else "S",
        size=_size(dice, options),
        options=options,
        reserved=dice.choice((0, 0, 0, 0, 0, 1, 4, 7)) if dice.random() < 0.1 else 0,
        urgent=dice.choice((0, 1, 5)) if dice.random() < 0.1 else 0,
        traffic_class=dice.choice((0, 0, 0, 0x10, 0xB8, 0x02)) if dice.random() < 0.2 else 0,
    )
    return Program((flow(dice, port),), (syn, Wait()), _end(dice))


def spoilt(dice: Random) -> Program:
    """A cookie that looks like the right one, with data."""
    options: tuple[Option, ...] = (MSS, fast_open(dice))
    if dice.random() < 0.3:
        options = (MSS, dice.choice(IN_DISGUISE))
        if dice.random() < 0.3:
            options = (*options, dice.choice((GOOD, REQUEST)))
    syn = Send(0, "S", size=dice.choice(_SIZES[1:]), options=options)
    return Program((flow(dice),), (syn, Wait()), _end(dice))


def odd_segment(dice: Random) -> Program:
    """Segments that open nothing: without SYN, with impossible flags, broken; then a SYN."""
    steps: list[Step] = []
    for _ in range(dice.randrange(1, 4)):
        flags = dice.choice(
            ("SF", "SR", "S.", "R", "R.", ".", "P.", "F", "F.", "", "SFRP.U", "SR.")
        )
        steps.append(
            Send(
                0,
                flags,
                ack=dice.choice((0, 1, 1000)) if "." in flags else None,
                size=dice.choice((0, 10, 20)),
                options=dice.choice(((), (MSS, GOOD), (MSS, REQUEST), (GOOD,))),
            )
        )
        if dice.random() < 0.6:
            steps.append(Wait())
    if dice.random() < 0.7:
        steps += [Wait(), Send(0, "S", size=20, options=(MSS, GOOD)), Wait()]
    return Program((flow(dice),), tuple(steps))


def broken(dice: Random) -> Program:
    """A SYN or a segment with a wrong checksum or data offset; then the right one."""
    options = dice.choice(((MSS, GOOD), (MSS, REQUEST), (MSS,), (GOOD,)))
    bad = (
        Send(0, "S", size=20, options=options, checksum=dice.choice((1, 0x100, 0x7FFF)))
        if dice.random() < 0.6
        else Send(0, "S", size=20, options=options, data_offset=dice.choice((0, 1, 3, 4, 15)))
    )
    steps: list[Step] = [bad, Wait(0.2)]
    if dice.random() < 0.7:
        steps += [Send(0, "S", size=20, options=options), Wait()]
        if dice.random() < 0.5:
            steps += [Send(0, "P.", 21, "all", 10, checksum=77), Wait()]
    return Program((flow(dice),), tuple(steps))


def history(dice: Random) -> Program:
    """Several connections one after another, with cookies that came on the way."""
    flows: list[Flow] = []
    steps: list[Step] = []
    family = 4 if dice.random() < 0.7 else 6
    same_port = dice.random() < 0.2
    wrong = dice.choice((Cookie("own", (("flip", dice.randrange(64)),)), Cookie("5aa55aa5")))
    for index in range(dice.randrange(2, 6)):
        client = int(dice.random() < 0.35)
        port = dice.choices(("main", "second", "plain"), (80, 15, 5))[0]
        shared = same_port and all((each.client, each.port) != (client, port) for each in flows)
        flows.append(Flow(family, client, port, sport_of=0 if shared and index else None))
        roll = dice.random()
        options: tuple[Option, ...]
        if roll < 0.3 or not index:
            options = (MSS, Option("fo", kind=dice.choice((None, None, 254))))
        elif roll < 0.6:
            of = f"flow:{dice.randrange(index)}"
            if flows[int(of[5:])].client != client:
                of = "own"
            options = (
                MSS,
                Option("fo", kind=dice.choice((None, None, None, 254)), cookie=Cookie(of)),
            )
        elif roll < 0.8:
            options = (MSS, Option("fo", cookie=wrong))
        else:
            options = opening(dice)
        steps += [Send(index, "S", size=dice.choice((0, 10, 20)), options=options), Wait()]
        if dice.random() < 0.4:
            steps.append(Send(index, ".", dice.choice((1, 21)), "all"))
        elif dice.random() < 0.3:
            steps.append(Send(index, "R", dice.choice((1, 11, 21))))
    return Program(tuple(flows), tuple(steps))


def neighbours(dice: Random) -> Program:
    """Flows that have an address or a port in common, open at the same time."""
    family = 4 if dice.random() < 0.7 else 6
    ports = ("main", dice.choice(("main", "second", "plain")))
    flows = (
        Flow(family, 0, ports[0]),
        Flow(
            family,
            dice.randrange(2) if ports[1] == "main" else 0,
            ports[1],
            sport_of=0 if dice.random() < 0.6 else None,
        ),
    )
    if flows[1] == Flow(family, 0, "main", sport_of=0):
        flows = (flows[0], Flow(family, 1, "main", sport_of=0))
    steps: list[Step] = []
    for index in (0, 1):
        steps.append(Send(index, "S", size=dice.choice((0, 10, 20)), options=opening(dice, 0.6)))
        if dice.random() < 0.5:
            steps.append(Wait())
    if dice.random() < 0.4:
        steps += [Send(dice.randrange(2), "R", dice.choice((1, 11, 21))), Wait()]
    return Program(flows, tuple(steps))


def crowd(dice: Random) -> Program:
    """More fast opens than the small listener has room for; some are ended on the way."""
    count = dice.randrange(3, 9)
    flows = [Flow(4, 0, "small") for _ in range(count)]
    steps: list[Step] = []
    for index in range(count):
        roll = dice.random()
        options = (MSS, GOOD) if roll < 0.85 else opening(dice, 0.3)
        steps += [Send(index, "S", size=dice.choice((0, 10, 20, 20)), options=options), Wait()]
        if dice.random() < 0.35:
            other = dice.randrange(index + 1)
            steps.append(
                dice.choice(
                    (
                        Send(other, ".", 21, "all"),
                        Send(other, ".", 1, "all"),
                        Send(other, "R", 21),
                        Send(other, "R", 1),
                        Send(other, "S", size=20, options=(MSS, GOOD)),
                        Send(other, "F.", 21, "all"),
                        Send(other, "P.", 21, "all", 10),
                    )
                )
            )
            if dice.random() < 0.5:
                steps.append(Wait())
    if dice.random() < 0.15:
        steps.append(Wait(dice.choice((70.0, 200.0))))
        flows += [Flow(4, 0, "small") for _ in range(2)]
        for index in range(count, count + 2):
            steps += [Send(index, "S", size=20, options=(MSS, GOOD)), Wait()]
    return Program(tuple(flows), tuple(steps))


def fragments(dice: Random) -> Program:
    """A SYN with more text than a segment holds, in IP fragments; then some more."""
    size = dice.choice((100, 600, 1400, 1461, 2000, 3000, 4000))
    piece = dice.choice((8, 64, 200, 576, 1200, 1400)) if size < 1000 else 1200
    options = (MSS, dice.choice((GOOD, GOOD, REQUEST)))
    steps: list[Step] = [Send(0, "S", size=size, options=options, fragments=piece), Wait()]
    if dice.random() < 0.4:
        steps += [Send(0, ".", 1 + size, "all", 20), Wait()]
    return Program((flow(dice),), tuple(steps), _end(dice))


def plain_options(dice: Random) -> Program:
    """A SYN with ordinary options, with a cookie, without, or asking for one."""
    options = [*plain(dice)]
    roll = dice.random()
    if roll < 0.4:
        options.append(GOOD)
    elif roll < 0.6:
        options.append(REQUEST)
    elif roll < 0.85:
        options.append(Option("fo", cookie=Cookie("own", (("flip", dice.randrange(64)),))))
    if dice.random() < 0.3:
        options.insert(0, NOP)
    size = dice.choice((0, 20, 600, 1000, 1300))
    steps: list[Step] = [Send(0, "S", size=size, options=tuple(options)), Wait()]
    if dice.random() < 0.3:
        steps += [Wait(dice.choice((1.5, 4.0))), Send(0, ".", 1 + size, "all"), Wait()]
    return Program((flow(dice),), tuple(steps))


_LIVE: dict[str, tuple[int, Theme]] = {
    "probe": (22, probe),
    "spoilt": (10, spoilt),
    "odd-segment": (4, odd_segment),
    "broken": (3, broken),
    "plain-options": (8, plain_options),
    "neighbours": (4, neighbours),
    "duplicates": (9, streams.duplicates),
    "stream": (10, streams.stream),
    "resets": (6, streams.resets),
    "bad-acks": (6, streams.bad_acks),
    "elsewhere": (6, streams.elsewhere),
    "times": (5, streams.times),
    "windows": (6, streams.windows),
    "losses": (5, streams.losses),
    "errors": (4, streams.errors),
    "replays": (5, streams.replays),
    "bulk": (2, streams.bulk),
    "mixture": (6, streams.mixture),
}
_KERNEL: dict[str, tuple[int, Theme]] = {**_LIVE, "fragments": (2, fragments)}
_ALL: dict[str, tuple[int, Theme]] = {**_LIVE, "history": (8, history), "crowd": (5, crowd)}

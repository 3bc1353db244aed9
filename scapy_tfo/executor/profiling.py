"""Finds out what a target does where the standard leaves a choice.

The answers to a few simple programs make the profile by which all later replies are judged: options
that the target has without fast open must not go missing with it, and a form in which it grants
cookies is a form that it understands. What a program does not tell is left as the standard has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.executor.play import Play
from scapy_tfo.oracle.parts.pending import COUNTS_NO_MORE
from scapy_tfo.oracle.parts.profile import (
    ANY,
    FORMS,
    MANY,
    REQUEST,
    SURE_LIFE,
    WHOLE,
    Profile,
    Usual,
)
from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.program.cookies import Client
from scapy_tfo.program.program import SMALL, Cookie, Flow, Option, Program, Send, Step, Wait

_MSS = Option("mss", 1460)
_GOOD = (_MSS, Option("fo", cookie=Cookie()))
_REQUEST = (_MSS, Option("fo"))
_EVERYTHING = (_MSS, Option("sackok"), Option("ts"), Option("nop"), Option("ws", 7))
_PAUSE = 2.0
"""Seconds after which a target that grants one cookie a second grants the next."""
_A_MINUTE = 65.0
_LIVES = (1000.0, 60.0)
"""Seconds."""
_SIZE = 20
"""Bytes of text."""

Once = Callable[[Program, Profile], Play]
"""Runs a program once, keeping its packets."""
Ask = Callable[[Program], Play]


def acquaint(
    once: Once,
    clients: Sequence[Client] = ((4, 0), (6, 0)),
    name: str = "rfc",
    *,
    small: bool = True,
    virtual: bool = False,
) -> Profile:
    """Ask a target what it does.

    clients: those that there are; all programs but one come from the first. small: it
    has a listener that allows SMALL pending fast opens. virtual: waiting costs nothing.
    """
    blank = Profile(name, forms=frozenset(FORMS), holds_data=True, fresh=True, slack=2, paws=False)

    def ask(program: Program) -> Play:
        return once(program, blank)

    found = replace(blank, slack=0, options=_usual(ask, clients))
    family = clients[0][0]
    each = _grants_each(ask, family)
    forms = _forms(ask, family, 0.0 if each else _PAUSE)
    found = replace(
        found,
        fast_open=bool(forms),
        forms=forms,
        holds_data=any(_taken(ask, family, (_MSS,), _SIZE)),
        # Who grants cookies wants them: an empty one does not do either (RFC 7413 section 4.2.2).
        opens_without=frozenset() if forms else _opens_without(ask, family),
        grants_each=each,
        inline=_inline(ask, family),
        pushed_only=_pushed_only(ask, family),
        connections=_connections(ask, family),
        ports_rest=_ports_rest(ask, family),
        stateless=_stateless(ask, family),
        think=_think(ask, family),
        paws=_paws(ask, family),
    )
    if not forms:
        return found
    found = replace(found, slack=_slack(ask, family) if small else 0)
    return replace(
        found,
        cookies_once=_cookies_once(ask, family),
        cookies_last=_cookies_last(ask, family) if virtual else None,
        cookie_life=_cookie_life(ask, family) if virtual else SURE_LIFE,
        syn_text=_syn_text(ask, family),
        resets_last=_resets_last(ask, family, found.slack) if small and virtual else COUNTS_NO_MORE,
    )


# What is asked.


def _usual(ask: Ask, clients: Sequence[Client]) -> Usual | None:
    """The options of a SYN-ACK without fast open."""
    mss: dict[int, frozenset[int | None]] = {}
    scale, sack, times = None, False, False
    for family, client in clients:
        for link in _opened(ask, family, _syn(_EVERYTHING), Wait(), client=client):
            answer = link.history.answer
            mss[family] = mss.get(family, frozenset()) | {answer.mss}
            scale, sack, times = answer.scale, answer.sack, answer.times is not None
    return Usual(mss, scale, sack, times) if mss else None


def _forms(ask: Ask, family: int, pause: float) -> frozenset[int]:
    """The kinds in which it grants cookies."""
    forms = set()
    before = (Wait(pause),) if pause else ()
    for kind in FORMS:
        asking = Option("fo", kind=kind)
        for options in ((_MSS, asking), (asking,)):
            for link in _opened(ask, family, *before, _syn(options), Wait()):
                if any(isinstance(each, opt.FastOpen) for each in link.history.answer.fast_open):
                    forms.add(kind)
    return frozenset(forms)


def _grants_each(ask: Ask, family: int) -> bool:
    """Whether a request is granted though another one came just before, or a pause is needed."""
    flows = (Flow(family), Flow(family))
    program = Program(flows, (_syn(_REQUEST), Wait(), _syn(_REQUEST, flow=1), Wait()), end="reset")
    if all(
        link.handshake.iss is None or link.history.answer.fast_open for link in ask(program).links
    ):
        return True
    return not any(
        link.history.answer.fast_open
        for link in _opened(ask, family, Wait(_PAUSE), _syn(_REQUEST), Wait())
    )


def _opens_without(ask: Ask, family: int) -> frozenset[str]:
    """The SYNs without a cookie whose text is echoed before the handshake ends."""
    found = set()
    for what, options in ((ANY, (_MSS,)), (REQUEST, _REQUEST)):
        for link in _opened(ask, family, _syn(options, size=_SIZE), Wait(), Wait(_SOON)):
            # Who grants a cookie at the same time took what he should not have.
            if link.inbound.received > 1 and not link.history.answer.fast_open:
                found.add(what)
    return frozenset(found)


_SOON = 0.2
"""Seconds within which an application answers that has what it waits for."""


def _inline(ask: Ask, family: int) -> bool:
    """Whether an urgent byte stays in the stream."""
    urgent = Send(0, "PU.", 1, 1, _SIZE, urgent=_SIZE // 2)
    links = _opened(ask, family, _syn((_MSS,)), Wait(), Send(0, ".", 1, 1), urgent, Wait(_SOON))
    return not any(0 < link.inbound.received - 1 < _SIZE for link in links)


def _pushed_only(ask: Ask, family: int) -> bool:
    """Whether text without PSH waits for some with it."""
    steps = (_syn((_MSS,)), Wait(), Send(0, ".", 1, 1), Send(0, ".", 1, 1, _SIZE), Wait(_SOON))
    pushed = (Send(0, "P.", 1 + _SIZE, 1, _SIZE), Wait(_SOON))
    if any(link.inbound.received > 1 for link in _opened(ask, family, *steps)):
        return False
    return any(link.inbound.received > 1 + _SIZE for link in _opened(ask, family, *steps, *pushed))


def _think(ask: Ask, family: int) -> float:
    """Seconds within which text is answered, 0 where that is at once, or never."""
    steps = (_syn((_MSS,)), Wait(), Send(0, ".", 1, 1), Send(0, "P.", 1, 1, _SIZE))
    for seconds in (_SOON, 1.0, 4.0):
        if any(link.inbound.received > 1 for link in _opened(ask, family, *steps, Wait(seconds))):
            return seconds if seconds > _SOON else 0.0
    return 0.0


def _paws(ask: Ask, family: int) -> bool:
    """Whether text with an old timestamp is refused that is taken with a new one."""
    timed = (Option("nop"), Option("nop"), Option("ts"))
    old = (Option("nop"), Option("nop"), Option("ts", -_LONG_AGO))
    steps = (_syn((_MSS, Option("ts"))), Wait(), Send(0, ".", 1, 1, options=timed))
    text = (Send(0, "P.", 1, 1, _SIZE, options=old), Wait(_DELAYED))
    again = (Send(0, "P.", 1, 1, _SIZE, options=timed), Wait(_DELAYED))
    if any(link.outbound.acked > 1 for link in _opened(ask, family, *steps, *text)):
        return False
    return any(link.outbound.acked > 1 for link in _opened(ask, family, *steps, *text, *again))


_DELAYED = 0.6
"""Seconds within which text is acknowledged (RFC 9293 section 3.8.6.3)."""
_LONG_AGO = 100_000
"""Ticks of our clock: far in the past, and less than half of the number space."""


def _connections(ask: Ask, family: int) -> int:
    """How many connections it holds at a time, as far as four of them tell."""
    flows = tuple(Flow(family) for _ in range(4))
    steps: list[Step] = []
    for number in range(len(flows)):
        steps += [_syn((_MSS,), flow=number), Wait(_SOON)]
    answered = sum(
        link.handshake.iss is not None
        for link in ask(Program(flows, tuple(steps), end="reset")).links
    )
    return answered if 0 < answered < len(flows) else MANY


def _ports_rest(ask: Ask, family: int) -> bool:
    """Whether a 4-tuple takes no SYN, and has no connection, right after one was reset."""
    steps = (
        *(_syn((_MSS,)), Wait(), Send(0, ".", 1, 1), Send(0, "R", 1), Wait(_SOON)),
        *(Send(0, "S", 90_000, options=(_MSS,)), Wait(_SOON)),
    )
    (link,) = ask(Program((Flow(family),), steps, end="reset")).links
    return link.evidence.heard == ["syn-ack"]


def _stateless(ask: Ask, family: int) -> bool:
    """Whether an ACK opens the connection of a SYN that was reset (RFC 4987 section 3.6)."""
    reset = (_syn((_MSS,)), Wait(), Send(0, "R", 1))
    opened = (Wait(_SOON), Send(0, "P.", 1, 1, _SIZE), Wait(_SOON))
    if not any("text" in link.evidence.heard for link in _opened(ask, family, *reset, *opened)):
        return False
    # Who has kept the SYN, and heeds no RST, sends the SYN-ACK again.
    kept = _opened(ask, family, *reset, Wait(_REPEATED))
    return all(link.evidence.heard == ["syn-ack"] for link in kept)


_REPEATED = 3.5
"""Seconds within which a SYN-ACK is sent again (RFC 6298 section 5.7)."""


def _cookies_once(ask: Ask, family: int) -> bool:
    """Whether a cookie that was good, and brought the next one, is refused when it comes again."""
    flows = (Flow(family), Flow(family), Flow(family))
    granted = (_MSS, Option("fo", cookie=Cookie("flow:0")))
    steps: list[Step] = [_syn(_REQUEST), Wait()]
    for number in (1, 2):
        steps += [_syn(granted, flow=number, size=_SIZE), Wait()]
    _, first, second = ask(Program(flows, tuple(steps), end="reset")).links
    return (
        bool(first.handshake.taken and first.history.answer.fast_open)
        and second.handshake.taken == 0
    )


def _cookies_last(ask: Ask, family: int) -> bool:
    """Whether a cookie is good after more than a minute."""
    return any(_taken(ask, family, _GOOD, _SIZE, Wait(_A_MINUTE)))


def _cookie_life(ask: Ask, family: int) -> float:
    """Seconds after which a cookie is good still: more than any program takes, or fewer."""
    tried = (each for each in _LIVES if any(_taken(ask, family, _GOOD, _SIZE, Wait(each))))
    return next(tried, SURE_LIFE)


def _syn_text(ask: Ask, family: int) -> int:
    """Bytes that are taken of a SYN with a good cookie and as much text as any stack takes."""
    return min((each for each in _taken(ask, family, _GOOD, WHOLE) if each), default=WHOLE)


def _slack(ask: Ask, family: int) -> int:
    """Whether the fast open that reaches the limit is taken (RFC 7413 section 4.2)."""
    flows = tuple(Flow(family, port="small") for _ in range(SMALL + 2))
    steps: list[Step] = []
    for number in range(len(flows)):
        steps += [_syn(_GOOD, flow=number, size=_SIZE), Wait()]
    taken = [
        bool(link.handshake.taken) for link in ask(Program(flows, tuple(steps), end="reset")).links
    ]
    return int(taken == [*[True] * (SMALL + 1), False])


def _resets_last(ask: Ask, family: int, slack: int) -> float:
    """Seconds for which a fast open may count on that was reset while pending: a minute, or three
    (RFC 7413 section 5.1, specs/freedoms.toml). One that counts for longer is no choice."""
    flows = tuple(Flow(family, port="small") for _ in range(1 + SMALL + slack))
    later: list[Step] = []
    for number in range(1, len(flows)):
        later += [_syn(_GOOD, flow=number, size=_SIZE), Wait()]

    def is_over(seconds: float) -> bool:
        reset = (_syn(_GOOD, size=_SIZE), Wait(), Send(0, "R", 1 + _SIZE), Wait(seconds))
        links = ask(Program(flows, (*reset, *later), end="reset")).links[1:]
        return all(link.handshake.taken for link in links)

    counts_longer = not is_over(_MORE_THAN_A_MINUTE) and is_over(_MORE_THAN_THREE)
    return _MORE_THAN_THREE if counts_longer else COUNTS_NO_MORE


_MORE_THAN_A_MINUTE, _MORE_THAN_THREE = 70.0, 190.0


# How it is asked.


def _syn(options: tuple[Option, ...], *, flow: int = 0, size: int = 0) -> Send:
    return Send(flow, "S", size=size, options=options)


def _opened(ask: Ask, family: int, *steps: Step, client: int = 0) -> list[Connection]:
    """The one flow of a program, if it got a SYN-ACK."""
    play = ask(Program((Flow(family, client),), steps, end="reset"))
    return [
        link
        for link in play.links
        if link.handshake.iss is not None and link.handshake.taken is not None
    ]


def _taken(
    ask: Ask, family: int, options: tuple[Option, ...], size: int, *before: Step
) -> list[int]:
    """Bytes of a SYN's text that its SYN-ACK acknowledges, in a list of one or none."""
    links = _opened(ask, family, *before, _syn(options, size=size), Wait())
    return [link.handshake.taken for link in links if link.handshake.taken is not None]

"""Names what a reduced program breaks, by running programs that are like it but for one thing.

The features of a program (`oracle.parts.attribution`) say which clause a violation may belong to.
A neighbouring program says whether it does: what goes wrong without the cookie, too, is no fault of
fast open; what goes wrong with the option in another place only is one of reading options. And of
the wrong cookies that a program could have sent, all are tried, so that the one by chance found
first is not what a finding is known by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program.program import SMALL, Cookie, Flow, Option, Program, Send, Step, Wait
from scapy_tfo.program.spoilt import EVERY, SAME_SIZE, class_of, cookie_of, with_cookie

Ask = Callable[[Sequence[Program]], Sequence[Sequence[Violation]]]
"""Runs programs; all violations that each shows."""

ANY, ANY_OF_ITS_SIZE = "any", "any-of-its-size"
"""Class of the wrong cookie where every one shows the violation, or every one as long as the right
one."""

_GENERAL = frozenset(("ACC-9", "ACC-10", "AFT-1", "AFT-2", "AFT-11"))
"""Clauses about every stream: what else is wrong in the same run says more about the cause."""
_PLAIN = "TCP-"
"""What the ids of clauses of plain TCP begin with."""

_PENDING = 5
"""Fast opens that take up the listener with room for few, one more than it has room for."""
_FAR_FROM_ZERO = 1 << 30
"""An ISN from which no program crosses zero, or the middle of the numbers."""
_SMALL_SEGMENT = 536
_MSS = 1460
_SOME = 20
"""Bytes of text: more than one, and less than a segment."""
_NOP = Option("nop")


def named(program: Program, violation: Violation, ask: Ask) -> Violation:
    """The violation with the clause that the neighbours of its program point to, and with the
    class of all wrong cookies that show it.

    program: a reduced one, that shows the violation. Raises what `ask` does.
    """
    found = replace(violation, cookie=_cookies(program, violation, ask))
    for question in _QUESTIONS:
        clause = question(program, found, ask)
        if clause:
            return replace(found, requirement=clause)
    return found


def _cookies(program: Program, violation: Violation, ask: Ask) -> str:
    """The class of the wrong cookies that show it."""
    syn = _syn(program, violation)
    cookie = None if syn is None else cookie_of(syn)
    if not violation.cookie or cookie is None:
        return violation.cookie
    others = {name: each for name, each in EVERY.items() if each != cookie}
    shown = ask([with_cookie(program, cookie, each) for each in others.values()])
    wrong = {name for name, each in zip(others, shown, strict=True) if _again(violation, each)}
    wrong |= EVERY.keys() - others.keys()
    if wrong == EVERY.keys():
        return ANY
    if wrong == SAME_SIZE.keys():
        return ANY_OF_ITS_SIZE
    return ",".join(name for name in EVERY if name in wrong) or class_of(cookie)


# Questions: each is the clause that a violation belongs to, or "" where it says nothing.

Question = Callable[[Program, Violation, Ask], str]


def _option_elsewhere(program: Program, violation: Violation, ask: Ask) -> str:
    """What goes wrong without the Fast Open option on the later segments is not about that."""
    if violation.requirement != "OPT-4":
        return ""
    (shown,) = ask([_changed(program, _without_fast_open)])
    others = [each.requirement for each in shown if each.requirement != "OPT-4"]
    return others[0] if others else ""


def _crossing_zero(program: Program, violation: Violation, ask: Ask) -> str:
    """What goes wrong with any other ISN, too, is not about crossing zero."""
    if violation.requirement != "ACC-11":
        return ""
    flows = tuple(replace(each, isn=_FAR_FROM_ZERO) for each in program.flows)
    (shown,) = ask([replace(program, flows=flows)])
    others = [each.requirement for each in shown if each.rule == violation.rule]
    return others[0] if others else ""


def _company(program: Program, violation: Violation, ask: Ask) -> str:
    """What else is wrong there, where the clause is one that every stream has to keep."""
    if violation.requirement not in _GENERAL:
        return ""
    (shown,) = ask([program])
    beside = [
        each.requirement
        for each in shown
        if (each.flow, each.step) == (violation.flow, violation.step)
        and not each.requirement.startswith(_PLAIN)
    ]
    return next((each for each in beside if each not in _GENERAL), "")


def _placed(program: Program, violation: Violation, ask: Ask) -> str:
    """Where another place among the options mends it, the place is what is not understood."""
    syn = _only_syn(program, violation)
    if syn is None or violation.rule not in ("takes-text", "refuses-text", "grant"):
        return ""
    options = syn.options or ()
    opens = [each for each in options if each.name == "fo"]
    if len(opens) != 1 or opens[0].kind or opens[0].length is not None or len(options) > 2:
        return ""
    others = tuple(each for each in options if each.name not in ("fo", "nop"))
    if any(each.name != "mss" for each in others):
        return ""
    mss = others or (Option("mss", _MSS),)
    places = (
        (*opens, *others),
        (_NOP, *opens, *others),
        (_NOP, _NOP, *opens, *others),
        (*others, *opens),
        (*mss, *opens),
    )
    programs = [_with_syn(program, syn, replace(syn, options=each)) for each in places]
    shown = ask(programs)
    return "OPT-5" if not all(_again(violation, each) for each in shown) else ""


def _any_cookie(program: Program, violation: Violation, _ask: Ask) -> str:
    """Where no wrong cookie is refused, the cookie proves nothing at all."""
    alone = _only_syn(program, violation) is not None and violation.cookie == ANY
    accepted = violation.rule == "takes-text" and violation.requirement in ("SRV-2", "SRV-10")
    return "SRV-1" if accepted and alone else ""


def _second_try(program: Program, violation: Violation, _ask: Ask) -> str:
    """A wrong cookie that was refused once stays wrong: a reduced program needs both."""
    if violation.rule != "takes-text" or violation.requirement != "SRV-2":
        return ""
    syns = [each for each in program.steps if isinstance(each, Send) and "S" in each.flags]
    used = [cookie_of(each) for each in syns]
    last = _syn(program, violation)
    again = last is not None and used.count(cookie_of(last)) > 1
    return "ACC-3" if again and len({each.flow for each in syns}) > 1 else ""


def _without_cookie(program: Program, violation: Violation, ask: Ask) -> str:
    """What goes wrong on a plain connection with the same text, too, is plain TCP's."""
    syn = _only_syn(program, violation)
    if syn is None or cookie_of(syn) is None:
        return ""
    if violation.rule == "early-text" and violation.requirement == "ACC-5":
        (shown,) = ask([_with_syn(program, syn, replace(syn, size=_SOME))])
        return "ACC-9" if shown else ""
    if violation.rule not in ("no-text", "no-ack", "text-wrong"):
        return ""
    if violation.requirement != "ACC-9":
        return ""
    more = _with_syn(program, syn, replace(syn, size=max(syn.size, _SOME)))
    later, shown = ask([_deferred(program, syn), more])
    if later:
        return ""
    # A reduced program has no more text than it needs.
    if syn.size > _SMALL_SEGMENT:
        return "ACC-10"
    if violation.rule == "text-wrong":
        return ""
    in_part = any("text" in each.actual.split(", ") for each in shown)
    return "" if in_part or not _again(violation, shown) else "ACC-2"


def _without_text(program: Program, violation: Violation, ask: Ask) -> str:
    """A wrong number in answer to a cookie alone, which text in the SYN mends."""
    syn = _only_syn(program, violation)
    if syn is None or syn.size or cookie_of(syn) is None or violation.requirement != "ACC-10":
        return ""
    (shown,) = ask([_with_syn(program, syn, replace(syn, size=_SOME))])
    return "" if shown else "ACC-5"


def _gap(program: Program, violation: Violation, ask: Ask) -> str:
    """What goes wrong only where text comes ahead of its turn is about putting it together."""
    syn = _syn(program, violation)
    if syn is None or violation.requirement != "AFT-1":
        return ""
    following = 1 + syn.size
    (shown,) = ask([_changed(program, lambda each: replace(each, seq=min(each.seq, following)))])
    return "" if _again(violation, shown) else "ACC-9"


def _listener(program: Program, violation: Violation, ask: Ask) -> str:
    """Of a listener without fast open: whether others do it, too, or one that is full."""
    syn = _only_syn(program, violation)
    if syn is None or program.flows[syn.flow].port != "plain":
        return ""
    opens = [each for each in syn.options or () if each.name == "fo"]
    if violation.rule == "takes-text":
        if violation.requirement == "ACC-1":
            return "OPT-8" if len(opens) > 1 else ""
        (shown,) = ask([replace(program, flows=(replace(program.flows[0], port="main"),))])
        return "" if _again(violation, shown) else "ACC-1"
    if violation.rule not in ("no-syn-ack", "syn-reset") or violation.requirement != "ACC-1":
        return ""
    (shown,) = ask([_full(program.flows[0], syn)])
    return "LIM-1" if _again(violation, shown) else ""


def _limit(program: Program, violation: Violation, ask: Ask) -> str:
    """At a listener with room for few: whether it is the limit that matters, and which part."""
    if violation.requirement not in ("LIM-1", "LIM-3", "LIM-4"):
        return ""
    if violation.rule in ("no-text", "takes-text"):
        refused = Send(0, "S", size=_SOME, options=(Option("fo", cookie=EVERY["first-byte"]),))
        (shown,) = ask([Program((Flow(),), (refused, Wait()), "finish")])
        return "ACC-3" if _again(violation, shown) else ""
    sends = [each for each in program.steps if isinstance(each, Send)]
    opened = sum("S" in each.flags for each in sends) - 1
    if violation.rule != "refuses-text":
        return ""
    if opened > SMALL:
        # A reduced program goes over the limit only where that is needed.
        return "LIM-1"
    if opened >= SMALL or not any("R" in each.flags for each in sends):
        return ""
    return "DUP-4" if any("." in each.flags for each in sends) else "AFT-9"


def _other_clients(program: Program, violation: Violation, ask: Ask) -> str:
    """Of several connections of one address: whether those of two get along."""
    clients = {(each.family, each.client) for each in program.flows}
    if violation.rule != "refuses-text" or violation.requirement != "ACC-2" or len(clients) != 1:
        return ""
    if len(program.flows) < 3:
        return ""
    flows = tuple(
        replace(each, client=each.client ^ number & 1) for number, each in enumerate(program.flows)
    )
    (shown,) = ask([replace(program, flows=flows)])
    return "" if shown else "LIM-5"


def _granted_there(program: Program, violation: Violation, ask: Ask) -> str:
    """A good cookie that is refused: whether one granted there, or for that port, is good."""
    syn = _only_syn(program, violation)
    if syn is None or violation.rule != "refuses-text" or cookie_of(syn) != Cookie():
        return ""
    flow = program.flows[syn.flow]
    if violation.requirement == "SRV-3" and flow.port != "main":
        second = replace(program, flows=(replace(flow, port="second"),))
        there, elsewhere = ask([_asked_before(flow, flow, syn), second])
        return "" if there or elsewhere else "SRV-7"
    if violation.requirement == "SRV-1" and flow.port == "main":
        (shown,) = ask([_asked_before(flow, replace(flow, port="second"), syn)])
        return "" if shown else "SRV-3"
    return ""


def _own_clock(program: Program, violation: Violation, _ask: Ask) -> str:
    """A reduced program has a clock of its own only where the value of the timestamps matters."""
    has_times = any(
        each.name == "ts"
        for step in program.steps
        if isinstance(step, Send)
        for each in step.options or ()
    )
    general = violation.requirement in ("ACC-9", "AFT-1", "AFT-2")
    return "AFT-6" if program.clock is not None and has_times and general else ""


def _full_segment(program: Program, violation: Violation, ask: Ask) -> str:
    """Whether text comes that fills a segment, where less does not."""
    syn = _only_syn(program, violation)
    if syn is None or violation.rule != "no-text" or violation.requirement != "ACC-9":
        return ""
    first = replace(syn, size=0, window=65535, options=(Option("mss", _MSS),))
    steps = (first, Wait(), Send(syn.flow, ".", 1, "all", size=_MSS), Wait())
    less = (*steps[:2], Send(syn.flow, ".", 1, "all", size=_SMALL_SEGMENT), Wait())
    whole, part = ask([replace(program, steps=each, end="reset") for each in (steps, less)])
    return "AFT-7a" if part and not whole else ""


_QUESTIONS: tuple[Question, ...] = (
    _option_elsewhere,
    _crossing_zero,
    _company,
    _placed,
    _any_cookie,
    _second_try,
    _without_cookie,
    _without_text,
    _gap,
    _listener,
    _limit,
    _other_clients,
    _granted_there,
    _own_clock,
    _full_segment,
)


def _again(violation: Violation, shown: Sequence[Violation]) -> bool:
    """Whether a run breaks the same rule by the same class of reply."""
    return any((each.rule, each.reply) == (violation.rule, violation.reply) for each in shown)


# Programs that are like another one.


def _syn(program: Program, violation: Violation) -> Send | None:
    """The last SYN on the flow of a violation up to its step."""
    sent = [
        each
        for each in program.steps[: violation.step + 1]
        if isinstance(each, Send) and each.flow == violation.flow and "S" in each.flags
    ]
    return sent[-1] if sent else None


def _only_syn(program: Program, violation: Violation) -> Send | None:
    """The SYN of a program in which nothing else is sent."""
    sends = [each for each in program.steps if isinstance(each, Send)]
    alone = len(program.flows) == len(sends) == 1 and sends[0].flags == "S"
    return _syn(program, violation) if alone else None


def _with_syn(program: Program, old: Send, *new: Step) -> Program:
    at = program.steps.index(old)
    return replace(program, steps=(*program.steps[:at], *new, *program.steps[at + 1 :]))


def _plain(syn: Send) -> tuple[Step, ...]:
    """A handshake without fast open and without text."""
    return (replace(_without_fast_open(syn), size=0), Wait())


def _deferred(program: Program, syn: Send) -> Program:
    """The text after a plain handshake, not in the SYN."""
    later = Send(syn.flow, ".", 1, "all", size=max(syn.size, 1))
    return _with_syn(program, syn, *_plain(syn), later)


def _without_fast_open(step: Send) -> Send:
    options = tuple(each for each in step.options or () if each.name != "fo")
    return replace(step, options=options or None)


def _changed(program: Program, change: Callable[[Send], Send]) -> Program:
    """Each segment changed that is no SYN."""
    steps = tuple(
        change(each) if isinstance(each, Send) and "S" not in each.flags else each
        for each in program.steps
    )
    return replace(program, steps=steps)


def _full(flow: Flow, syn: Send) -> Program:
    """The SYN at a listener whose room for pending fast opens is taken up."""
    flows = (replace(flow, port="small"),) * (_PENDING + 1)
    opened = (Option("fo", cookie=Cookie()),)
    pending = [Send(at, "S", size=1, options=opened) for at in range(_PENDING)]
    return Program(flows, (*pending, Wait(), replace(syn, flow=_PENDING)), "reset")


def _asked_before(flow: Flow, asking: Flow, syn: Send) -> Program:
    """The SYN with a cookie that another flow asked for just before, from the same source port
    where that is at another listener."""
    shares = 0 if asking.port != flow.port else None
    flows = (asking, replace(flow, sport_of=shares))
    ask = Send(0, "S", options=(Option("fo"),))
    cookie = Option("fo", cookie=Cookie("flow:0"))
    return Program(flows, (ask, Wait(), replace(syn, flow=1, options=(cookie,))), "reset")

"""Finds out which values of the factors a target can show."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from scapy_tfo import option as opt
from scapy_tfo.lab.hooks import NotOfferedError
from scapy_tfo.runner.runner import Options
from scapy_tfo.suite.context.context import Context
from scapy_tfo.suite.context.factors import BY_NAME, FACTORS, Factor
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Verdict
from scapy_tfo.vary.bench import Bench, Facts, within
from scapy_tfo.vary.plan import Model, reduced

_AGREED, _WINDOW = "options of the SYN-ACK", "window of the SYN-ACK"

_OFFER = {"times": "small", "sack": "yes", "shift": "7"}
"""Values of the options that have to be agreed to which no stack has reason to turn down."""

_SHOWN = 3
"""Values that a line names where more are left out."""


async def _conversation(peer: Peer) -> None:
    """A plain connection is answered, and its SYN-ACK agrees to what it will."""
    flow = await peer.connect()
    answer = next(each for each in flow.heard if each.is_syn_ack)
    kinds = {each.kind for each in opt.pull_options(answer.options)}
    peer.record(_AGREED, ",".join(map(str, sorted(kinds))))
    peer.record(_WINDOW, answer.window)
    flow.request()
    await flow.answered()


_PLAIN = Case(
    id="a plain connection",
    title="A plain connection is answered.",
    requirements=("OPT-9",),
    run=_conversation,
)


def scanned(bench: Bench, options: Options) -> Model:
    """What can be varied at a target.

    Left out are values that need more than the target or the link has, options that its SYN-ACK
    does not agree to, and packets that it may drop and does drop. What a target must bear is never
    left out, however it takes it.
    """
    facts = bench.facts
    levels, left_out = {}, []
    lacking = _lacking(bench, options)
    offers = [Context.of(_OFFER | {"family": str(family)}) for family in facts.families]
    shown = [_shown(bench, each, options) or _Shown() for each in offers]
    for factor in FACTORS:
        gone = dict(_out_of_reach(factor, facts))
        if factor.name == "application":
            gone |= lacking
        if factor.agreed and not all(factor.agreed in each.kinds for each in shown):
            gone |= dict.fromkeys(factor.values[1:], "the target does not agree to it")
        if factor.name == "size":
            # It may drop text that reaches over its window (RFC 9293 section 3.10.7.4).
            room = min(each.window for each in shown)
            over = [each for each in factor.values[1:] if int(each) > room]
            gone |= dict.fromkeys(over, f"the target's window is {room} at first")
        for level in factor.levels:
            for value in level.values if level.optional else ():
                if not all(_answers(bench, factor, value, f, options) for f in facts.families):
                    gone[value] = "the target drops it, as it may"
        levels[factor.name] = reduced(factor, set(factor.values) - gone.keys())
        for why in dict.fromkeys(gone.values()):
            left_out.append(_told(factor, [value for value in gone if gone[value] == why], why))
    return Model(levels, tuple(left_out))


def _told(factor: Factor, values: list[str], why: str) -> str:
    shown = ", ".join(values[:_SHOWN]) + (" ..." if len(values) > _SHOWN else "")
    return f"not varied: {factor.name} ({shown}): {why}"


def _out_of_reach(factor: Factor, facts: Facts) -> Iterator[tuple[str, str]]:
    """Values that cannot be had, and why."""
    others = factor.values[1:]
    if factor.name == "family":
        yield from (
            (each, f"no IPv{each} address")
            for each in factor.values
            if int(each) not in facts.families
        )
    elif factor.name == "application" and not (facts.listens and facts.app == "echo"):
        yield from ((each, "it takes hooks that open listeners") for each in others)
    elif factor.name == "age" and not facts.is_fresh:
        yield from ((each, "all cases share this target") for each in others)
    elif factor.name in ("iss", "rtt", "mtu") and facts.target is not None:
        yield from ((each, "it takes a simulated target") for each in others)
    elif factor.name in ("text", "size") and facts.app not in ("echo", "none"):
        yield from ((each, f"requests are those of {facts.app}") for each in others)
    elif factor.name == "source":
        lacking = [each for each in others if not facts.has_source(each)]
        yield from ((each, "the link has no such two addresses") for each in lacking)


def _lacking(bench: Bench, options: Options) -> dict[str, str]:
    """Applications that the hooks of a target do not make, and why."""
    facts = bench.facts
    found: dict[str, str] = {}
    if facts.target is None or not (facts.listens and facts.app == "echo"):
        return found
    for value in BY_NAME["application"].values[1:]:
        context = Context.of({"family": str(facts.families[0]), "application": value})
        try:
            _shown(bench, context, options)
        except NotOfferedError as error:
            found[value] = str(error)
    return found


def _answers(bench: Bench, factor: Factor, value: str, family: int, options: Options) -> bool:
    context = Context.of({"family": str(family), factor.name: value})
    return _shown(bench, context, options) is not None


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a SYN-ACK shows. kinds: of its options. window: in bytes."""

    kinds: frozenset[int] = frozenset()
    window: int = 65535


def _shown(bench: Bench, context: Context, options: Options) -> _Shown | None:
    """What the answer to a plain connection shows, None where none came."""
    alone = dataclasses.replace(within(options, context), capture=False)
    result = bench.run([_PLAIN], alone).results[0]
    if result.verdict is not Verdict.PASS:
        return None
    kinds = filter(None, result.observed[_AGREED].split(","))
    return _Shown(frozenset(map(int, kinds)), int(result.observed[_WINDOW]))

"""Finds out which values of the factors a target can show."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from scapy_tfo import option as opt
from scapy_tfo.runner.runner import Options
from scapy_tfo.suite.context.context import Context
from scapy_tfo.suite.context.factors import FACTORS, Factor
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Verdict
from scapy_tfo.vary.bench import Bench, Facts, within
from scapy_tfo.vary.plan import Model, reduced

_AGREED = "options of the SYN-ACK"

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
    flow.request()
    await flow.answered()


_PLAIN = Case(
    id="a plain connection",
    title="A plain connection is answered.",
    requirements=("OPT-9",),
    needs=frozenset(),
    slow=False,
    intrusive=False,
    exclusive=False,
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
    agreed = [
        _kinds(bench, Context.of(_OFFER | {"family": str(family)}), options) or set()
        for family in facts.families
    ]
    for factor in FACTORS:
        gone = dict(_out_of_reach(factor, facts))
        if factor.agreed and not all(factor.agreed in kinds for kinds in agreed):
            gone |= dict.fromkeys(factor.values[1:], "the target does not agree to it")
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
    elif factor.name in ("text", "size") and facts.app not in ("echo", "none"):
        yield from ((each, f"requests are those of {facts.app}") for each in others)
    elif factor.name == "source":
        lacking = [each for each in others if not facts.has_source(each)]
        yield from ((each, "the link has no such two addresses") for each in lacking)


def _answers(bench: Bench, factor: Factor, value: str, family: int, options: Options) -> bool:
    context = Context.of({"family": str(family), factor.name: value})
    return _kinds(bench, context, options) is not None


def _kinds(bench: Bench, context: Context, options: Options) -> set[int] | None:
    """The kinds of options in the answer to a plain connection, None where none came."""
    alone = dataclasses.replace(within(options, context), capture=False)
    result = bench.run([_PLAIN], alone).results[0]
    if result.verdict is not Verdict.PASS:
        return None
    return {int(each) for each in result.observed[_AGREED].split(",") if each}

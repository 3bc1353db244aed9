"""Cuts programs up and joins them: references to flows stay right when their numbers change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scapy_tfo.program.program import Cookie, Flow, Option, Program, Send, Step, Wait

_OF_FLOW = "flow:"


def flow_of(step: Step) -> int | None:
    """The flow that a step is about; None for a wait."""
    return None if isinstance(step, Wait) else step.flow


def needed(program: Program) -> list[int]:
    """Flows that a step is about, or whose cookie or port another needs, in order."""
    found = {flow for step in program.steps if (flow := flow_of(step)) is not None}
    for step in program.steps:
        found |= _cookie_flows(step)
    shared = {program.flows[each].sport_of for each in found if each < len(program.flows)}
    found |= {each for each in shared if each is not None}
    return sorted(each for each in found if each < len(program.flows))


def without_idle_flows(program: Program) -> Program:
    """Without the flows that nothing needs; one stays in any case."""
    kept = needed(program) or [0]
    if len(kept) == len(program.flows):
        return program
    numbers = {old: new for new, old in enumerate(kept)}
    flows = [_flow(program.flows[old], numbers) for old in kept]
    steps = [renumbered(step, numbers) for step in program.steps]
    return replace(program, flows=tuple(flows), steps=tuple(steps))


def joined(first: Program, second: Program) -> tuple[tuple[Flow, ...], tuple[Step, ...]]:
    """The flows of both, and the steps of the second on the flows that are now its."""
    offset = len(first.flows)
    numbers = {number: number + offset for number in range(len(second.flows))}
    flows = [*first.flows, *(_flow(each, numbers) for each in second.flows)]
    return tuple(flows), tuple(renumbered(step, numbers) for step in second.steps)


def renumbered(step: Step, numbers: Mapping[int, int]) -> Step:
    """A step about the flow's new number; cookies of flows follow."""
    if isinstance(step, Wait):
        return step
    if isinstance(step, Send) and step.options is not None and _cookie_flows(step):
        options = tuple(_option(each, numbers) for each in step.options)
        return replace(step, flow=numbers[step.flow], options=options)
    return replace(step, flow=numbers[step.flow])


def with_steps(program: Program, steps: Sequence[Step]) -> Program:
    """The same flows and end with other steps."""
    return replace(program, steps=tuple(steps))


def with_step(program: Program, at: int, step: Step) -> Program:
    """With one step in place of another."""
    return with_steps(program, [*program.steps[:at], step, *program.steps[at + 1 :]])


def _cookie_flows(step: Step) -> set[int]:
    """Flows whose cookies a step sends."""
    if not isinstance(step, Send) or not step.options:
        return set()
    origins = [each.cookie.of for each in step.options if each.cookie is not None]
    return {int(each.removeprefix(_OF_FLOW)) for each in origins if each.startswith(_OF_FLOW)}


def _option(option: Option, numbers: Mapping[int, int]) -> Option:
    cookie = option.cookie
    if cookie is None or not cookie.of.startswith(_OF_FLOW):
        return option
    number = int(cookie.of.removeprefix(_OF_FLOW))
    of = f"{_OF_FLOW}{numbers.get(number, number)}"
    return replace(option, cookie=Cookie(of, cookie.edits))


def _flow(flow: Flow, numbers: Mapping[int, int]) -> Flow:
    if flow.sport_of is None:
        return flow
    return replace(flow, sport_of=numbers.get(flow.sport_of))

"""Programs are values, which are kept as JSON; anything else is refused."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_tfo.program.program import (
    MAX_FLOWS,
    MAX_STEPS,
    SCHEMA,
    Cookie,
    Flow,
    Icmp,
    Option,
    Program,
    ProgramError,
    Send,
    Wait,
    check,
    dumps,
    from_json,
    loads,
    to_json,
)
from tests.program.strategies import programs

PLAIN = Program((Flow(),), (Send(), Wait()))


@settings(max_examples=50)
@given(programs())
def test_what_is_kept_comes_back(program: Program) -> None:
    assert loads(dumps(program)) == program
    assert from_json(to_json(program)) == program


def test_what_is_at_its_default_is_left_out() -> None:
    steps = (Send(), Send(0, "P.", 1, size=3), Send(options=()), Wait(), Wait(0.5), Icmp())
    assert to_json(replace(PLAIN, steps=steps))["steps"] == [
        {"do": "send"},
        {"do": "send", "flags": "P.", "seq": 1, "size": 3},
        {"do": "send", "options": []},
        {"do": "wait"},
        {"do": "wait", "seconds": 0.5},
        {"do": "icmp"},
    ]


def test_is_short() -> None:
    assert dumps(PLAIN) == (
        '{"schema":1,"flows":[{}],"steps":[{"do":"send"},{"do":"wait"}],"end":"finish"}'
    )


NONSENSE: dict[str, Any] = {
    "no JSON": "{",
    "a list": "[]",
    "nothing": "{}",
    "another schema": '{"schema":99}',
    "no steps": '{"schema":1,"flows":[{}],"end":"reset"}',
    "steps that are none": '{"schema":1,"flows":[{}],"steps":[1],"end":"reset"}',
    "an unknown step": '{"schema":1,"flows":[{}],"steps":[{"do":"dance"}],"end":"reset"}',
    "an unknown field": '{"schema":1,"flows":[{}],"steps":[{"do":"wait","long":1}],"end":"reset"}',
    "a flow that is none": '{"schema":1,"flows":[7],"steps":[],"end":"reset"}',
    "an odd port": '{"schema":1,"flows":[{"port":"back"}],"steps":[],"end":"reset"}',
    "no text of bytes": (
        '{"schema":1,"flows":[{}],"steps":[{"do":"send","options":'
        '[{"name":"raw","data":"xy"}]}],"end":"reset"}'
    ),
    "no text at all": "nan",
}


@pytest.mark.parametrize("text", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_told(text: str) -> None:
    with pytest.raises(ProgramError):
        loads(text)


RICH = Program(
    (Flow(6, isn=1), Flow(sport_of=0)),
    (
        Send(1, options=(Option("fo", cookie=Cookie("flow:0", (("cut", 4),))),)),
        Wait(0.5),
        Icmp(1),
    ),
    clock=7,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=3,
)


@settings(max_examples=60)
@given(st.sampled_from(sorted(to_json(RICH))), json_values)
def test_one_wrong_value_is_nonsense_at_most(name: str, value: Any) -> None:
    with contextlib.suppress(ProgramError):
        from_json({**to_json(RICH), name: value})


WRONG = {
    "no flow": replace(PLAIN, flows=()),
    "too many flows": replace(PLAIN, flows=(Flow(),) * (MAX_FLOWS + 1)),
    "too many steps": replace(PLAIN, steps=(Wait(),) * (MAX_STEPS + 1)),
    "no such end": replace(PLAIN, end="bang"),
    "no such family": replace(PLAIN, flows=(Flow(family=5),)),
    "no such client": replace(PLAIN, flows=(Flow(client=2),)),
    "a step on no flow": replace(PLAIN, steps=(Send(1),)),
    "an error on no flow": replace(PLAIN, steps=(Icmp(-1),)),
    "a port of no flow": replace(PLAIN, flows=(Flow(sport_of=1),)),
    "the same ends twice": replace(PLAIN, flows=(Flow(), Flow(sport_of=0))),
}


@pytest.mark.parametrize("program", WRONG.values(), ids=WRONG)
def test_what_names_nothing_is_refused(program: Program) -> None:
    with pytest.raises(ProgramError):
        check(program)


def test_a_port_may_be_shared_by_what_else_differs() -> None:
    check(replace(PLAIN, flows=(Flow(), Flow(client=1, sport_of=0), Flow(6, sport_of=0))))


def test_the_schema_is_told() -> None:
    assert to_json(PLAIN)["schema"] == SCHEMA
    assert PLAIN.sends == 1

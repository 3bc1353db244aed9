"""A rule that is not asked, since a condition that it needs does not hold, would say nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scapy_tfo import option as opt
from scapy_tfo import spec
from scapy_tfo.mutants.registry import all_tcp_mutants
from scapy_tfo.oracle.conduct import conduct
from scapy_tfo.oracle.conduct.conduct import RULES
from scapy_tfo.oracle.conduct.parts.conditions import URGENT
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.segment import ACK, CWR, ECE, FIN, PSH, RST, SYN, URG
from scapy_tfo.suite.registry import all_conversations
from scapy_tfo.trust.rule_checks import telling
from scapy_tfo.variants.registry import all_variants
from tests.oracle.conduct.conversation import PERMITTED, Conversation, sack, scale

MUTANTS = [each.name for each in all_tcp_mutants()]
VARIANTS = [each.name for each in all_variants()]
_SPREAD = 200
"""Each variant meets every 200th conversation, from another one on."""

_FLAGS = st.sampled_from(
    (SYN, SYN | ACK, SYN | ECE | CWR, SYN | ACK | ECE, ACK, ACK | PSH, ACK | URG, ACK | ECE,
     ACK | CWR, FIN | ACK, RST, RST | ACK, RST | FIN, PSH, FIN, 0)
)  # fmt: skip
_NUMBERS = st.sampled_from([-70_000, -1, 0, 1, 2, 4, 5, 9, 1461, 1 << 30])
_OPTIONS = st.lists(
    st.sampled_from(
        (opt.mss(1460), scale(7), PERMITTED, opt.timestamps(7, 9), opt.timestamps(9, 7),
         opt.timestamps(5, 0), opt.RawOption(77, 2), opt.RawOption(opt.EOL, None, b"\1"),
         sack((4, 9)), sack((1, 4)), opt.fast_open(b"12345678"), opt.RawOption(opt.MSS, 3, b"x"))
    ),
    max_size=2,
)  # fmt: skip
_TEXTS = st.sampled_from([b"", b"", b"abc", b"abcd", b"x", b"y" * 1460])
_FIELDS = st.fixed_dictionaries(
    {"seq": _NUMBERS, "ack": _NUMBERS, "options": _OPTIONS},
    optional={
        "window": st.sampled_from([0, 1, 65535]),
        "urgent": st.just(1),
        "reserved": st.just(1),
        "traffic_class": st.sampled_from([1, 2, 3]),
        "hop_limit": st.just(1),
    },
)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["ours", "theirs"]), _FLAGS, _TEXTS, _FIELDS),
        st.tuples(st.just("rest"), st.sampled_from([0.001, 0.25, 1.5, 30.0])),
        st.tuples(st.just("icmp"), st.sampled_from([1, 3]), st.sampled_from([0, 1])),
        st.tuples(st.sampled_from(["reads", "writes"]), st.booleans()),
    ),
    min_size=1,
    max_size=14,
)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of rules that were not asked, and would have said something."""
    return ask_all(monkeypatch)


def ask_all(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every rule is asked from now on. Those that were left out are not listened to: it is only
    noted when they speak."""
    told: list[str] = []
    every = 0
    for needs in (*conduct.NEEDS, *(rule.needs for rule in RULES)):
        every |= needs
    # Which end connects, and the like, no rule can see for itself.
    known = conduct.conditions
    every &= ~(known.COMPLETE | known.ORDERED | known.WHOLE | known.CONTENTS)
    every &= ~(known.COMPARABLE | known.LISTENS | known.TEXT | known.OPTIONS)
    asked, owed = conduct.asked.__wrapped__, conduct.owed.__wrapped__

    def heard(number: int, ask: Callable[..., object], *about: object) -> object:
        judged = ask(*about)
        if judged is not False and judged is not None:
            told.append(RULES[number].name)
        return False if ask == RULES[number].judge else None

    def mixed(some: tuple, all_of_them: tuple) -> tuple:
        return tuple(
            (number, ask if (number, ask) in some else partial(heard, number, ask))
            for number, ask in all_of_them
        )

    def all_asked(kind: str, holds: int) -> tuple:
        return tuple(map(mixed, asked(kind, holds), asked(kind, holds | every)))

    monkeypatch.setattr(conduct, "asked", all_asked)
    monkeypatch.setattr(conduct, "owed", lambda holds: mixed(owed(holds), owed(holds | every)))
    return told


@pytest.mark.parametrize("name", MUTANTS)
def test_of_a_wrong_stack(name: str, said: list[str]) -> None:
    assert telling(name).is_told
    assert not said


@pytest.mark.parametrize(("number", "name"), list(enumerate(["reference", *VARIANTS])))
def test_of_a_right_stack(number: int, name: str, said: list[str]) -> None:
    cases = sorted(all_conversations(), key=lambda each: each.id)[number % _SPREAD :: _SPREAD]
    options = Options(slow=True, intrusive=True, capture=False)
    simulate(f"sim:{name}", cases, spec.load(), options)
    assert not said


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(st.booleans(), st.sampled_from([4, 6]), st.booleans(), _STEPS)
def test_of_any_segments(opens: bool, version: int, shakes: bool, steps: list) -> None:
    with pytest.MonkeyPatch.context() as patch:
        said = ask_all(patch)
        talk = Conversation(version=version, ordered=True)
        talk.conduct.history.opens = opens
        if shakes:
            talk.handshake((opt.mss(1460), scale(1), PERMITTED), (opt.mss(1460), scale(1)))
        for what, *about in steps:
            if what in ("reads", "writes"):
                getattr(talk.conduct, what)(*about)
            elif what in ("ours", "theirs"):
                flags, text, fields = about
                getattr(talk, what)(flags, text, **fields)
            else:
                getattr(talk, what)(*about)
        talk.end()
    assert not said


def test_a_condition_that_a_rule_does_not_need_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = [each | (URGENT if rule.name == "ack-of-nothing" else 0)
             for rule, each in zip(RULES, conduct.NEEDS, strict=True)]  # fmt: skip
    monkeypatch.setattr(conduct, "NEEDS", tuple(needs))
    said = ask_all(monkeypatch)
    talk = Conversation()
    talk.handshake()
    assert said == ["ack-of-nothing"]

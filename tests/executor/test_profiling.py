"""What a target chooses where the standard leaves it open is learned before it is judged."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.oracle.parts.profile import ANY, MANY, REQUEST, WHOLE

USUAL = {
    "fast_open": True,
    "forms": frozenset((34, 253, 254)),
    "holds_data": False,
    "inline": True,
    "opens_without": frozenset(),
    "cookies_once": False,
    "cookies_last": True,
    "cookie_life": 1000.0,
    "grants_each": True,
    "syn_text": WHOLE,
    "slack": 0,
    "connections": MANY,
    "ports_rest": False,
    "stateless": False,
    "pushed_only": False,
    "think": 0.0,
    "paws": True,
}
CHOICES: dict[str, dict[str, Any]] = {
    "reference": {},
    "kind-34-alone": {"forms": frozenset((34,))},
    "no-cookies-needed": {
        "fast_open": False,
        "forms": frozenset(),
        "opens_without": frozenset((ANY, REQUEST)),
        "holds_data": True,
        "cookies_last": None,
        "cookie_life": 25.0,
    },
    "empty-cookies-will-do": {
        "fast_open": False,
        "forms": frozenset(),
        "opens_without": frozenset((REQUEST,)),
        "cookies_last": None,
        "cookie_life": 25.0,
    },
    "cookies-for-one-use": {"cookies_once": True, "cookie_life": 1000.0},
    "cookies-for-a-minute": {"cookies_last": False, "cookie_life": 25.0},
    "cookies-for-five-minutes": {"cookie_life": 60.0},
    "grants-one-a-second": {"grants_each": False},
    "takes-ten-bytes-of-a-syn": {"syn_text": 10},
    "one-more-than-the-limit": {"slack": 1},
    "one-connection": {"connections": 1},
    "ports-rest": {"ports_rest": True},
    "syn-cookies-always": {
        "stateless": True,
        "paws": False,
        "fast_open": False,
        "forms": frozenset(),
        "cookies_last": None,
        "cookie_life": 25.0,
    },
    "waits-for-push": {"pushed_only": True},
    "answers-slowly": {"think": 4.0},
    "ignores-rst": {},
    "urgent-byte-is-apart": {"inline": False},
    "keeps-the-data-of-a-plain-syn": {"holds_data": True},
    "takes-old-timestamps": {"paws": False},
    # Mutants, of which nothing that is wrong may be taken for a choice.
    "plain-data-is-accepted": {"holds_data": True},
    "limit-two-too-high": {},
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_is_learned(name: str) -> None:
    found = dataclasses.asdict(SimulatedBench(f"sim:{name}").profile)
    assert {each: found[each] for each in USUAL} == USUAL | CHOICES[name]

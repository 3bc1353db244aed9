"""Servers that share an address, in `scapy-tfo test`: the run reports who holds which key."""

from __future__ import annotations

import random

import pytest

from scapy_tfo import spec
from scapy_tfo.cookie import KeyRing
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.lab.memory.target import SOURCES, TARGET_V4, TARGET_V6, MemoryLink
from scapy_tfo.middleboxes.box import read
from scapy_tfo.path.farm import FARMS
from scapy_tfo.reference.stack import Stack
from scapy_tfo.runner.clock import run_virtually
from scapy_tfo.runner.runner import Options, judge
from scapy_tfo.suite.application import make_app
from scapy_tfo.suite.registry import all_cases, select
from scapy_tfo.suite.result import Run
from scapy_tfo.suite.target import Service, Target

PORT = 80

SAID = {
    "farm-with-one-key": "one holder of a key answers",
    "farm-with-different-keys": "and refuse each other's cookies",
    "farm-rotating-in-step": "as in a rotation that is in step",
    "farm-rotating-out-of-step": "a rotation out of step",
}


async def _judged(farm: str, seed: int, requests: int) -> Run:
    dice = random.Random(seed)
    link = MemoryLink(sources=SOURCES, seed=seed)
    hosts = []
    for number, keys in enumerate(FARMS[farm].keys(dice)):
        stack = Stack((TARGET_V4, TARGET_V6), cookies=KeyRing(keys), seed=seed + number)
        hosts.append(ReferenceHost(stack, link.answer))
        await hosts[-1].listen(ListenerOptions("echo", queue=1024), PORT)
    chosen: dict[tuple[object, int], ReferenceHost] = {}

    def balance(packet: bytes) -> None:
        segment = read(packet)
        if segment is not None:
            end = segment.src, segment.sport
            chosen.setdefault(end, dice.choice(hosts)).receive(packet)

    link.attach(balance)
    target = Target(
        name=farm,
        link=link,
        addresses={4: TARGET_V4, 6: TARGET_V6},
        main=Service(PORT, make_app("none", "")),
    )
    options = Options(seed=seed, attempts=1, requests=requests)
    run = await judge(target, select(all_cases(), ["SRV-1"], ()), spec.load(), options)
    for each in hosts:
        each.close()
    link.close()
    return run


@pytest.mark.parametrize("farm", SAID)
def test_a_run_says_who_holds_the_keys(farm: str) -> None:
    for seed in range(4):
        four, six = run_virtually(_judged(farm, seed, 24)).notes[-2:]
        assert four.startswith("keys over IPv4: ")
        assert six.startswith("keys over IPv6: ")
        assert SAID[farm] in four
        assert SAID[farm] in six


def test_nobody_is_asked_unless_told() -> None:
    notes = run_virtually(_judged("farm-with-one-key", 1, 0)).notes
    assert not [each for each in notes if "keys" in each]

"""Of right stacks there is no breach, whatever became of the capture: a sample of the law.

`python -m tests.capture.judging.laws` holds it against all variants.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_tfo.capture.judging.judge import Word, judge_file
from scapy_tfo.client_variants.registry import all_client_variants
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.variants.registry import all_variants
from tests.capture.judging.laws import COMPLETE, LESS, PATHS, SHRINKS, each_judged, told, write
from tests.capture.judging.world import PLACES, SERVERS, hold

CLIENTS = ["reference", *(each.name for each in all_client_variants())]
STACKS = ["reference", *(each.name for each in all_variants() if each.name != SHRINKS)]
SIZES = st.lists(st.lists(st.integers(1, 6000), max_size=3), min_size=1, max_size=3)


@settings(max_examples=12)
@given(
    client=st.sampled_from(CLIENTS),
    server=st.sampled_from(STACKS),
    talks=SIZES,
    near=st.sampled_from(PATHS),
    far=st.sampled_from(PATHS),
    seed=st.integers(0, 1 << 16),
)
def test_no_breach_of_a_right_stack(
    client: str,
    server: str,
    talks: list[list[int]],
    near: Impairment,
    far: Impairment,
    seed: int,
) -> None:
    world = hold(client, server, talks, seed=seed, near=near, far=far)
    with TemporaryDirectory() as folder:
        for what, judgement in each_judged(world.at, Random(seed), Path(folder)):
            assert (what, told(judgement)) == (what, [])


def test_what_is_complete_is_judged_by_nearly_all_rules(tmp_path: Path) -> None:
    world = hold("reference", "reference", [[3000, 20], [10]])
    path = write(tmp_path / "capture.pcap", world.at["server"])
    sure = judge_file(path, Word(complete=True, unjoined=True, places=frozenset(SERVERS)))
    assert len(sure.rules) >= 35
    assert len(judge_file(path, Word()).rules) >= 25
    assert sure.count == 2


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("mutant", "rule"),
    [
        ("acks-one-byte-too-many", "ack-of-nothing"),
        ("cookie-on-every-segment", "fast-open-elsewhere"),
        ("drops-timestamps-after-the-handshake", "times-missing"),
        ("grants-seven-bytes", "cookie-broken"),
    ],
)
def test_a_wrong_stack_is_found_at_either_end(
    mutant: str, rule: str, place: str, tmp_path: Path
) -> None:
    world = hold("reference", mutant, [[100], [100], [100], [100]])
    path = write(tmp_path / "capture.pcap", world.at[place])
    judgement = judge_file(path, Word(complete=True))
    found = {finding.rule for each in judgement.connections for finding in each.server.broken}
    assert rule in found


def test_every_transform_is_tried() -> None:
    assert len({each.__name__ for each in (*COMPLETE, *LESS)}) == 12

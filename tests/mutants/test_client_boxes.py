"""docs/generated/client-boxes.md is current: behind each box, cases catch what it lists."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.middleboxes.registry import HANDSHAKE_BOXES
from scapy_tfo.trust.client_boxes import NOTHING, reasons, still_catches, verdicts

DOCS = Path(__file__).parents[2] / "docs" / "generated"
AGAIN = "run 'make client-matrix' and look at what it says"

DAMAGED = {"the client's text is damaged", "the application did not get our answer whole"}

HARMLESS = {NOTHING, "duplicates-syn", "shares-address", "changes-address"}
"""What it does costs nobody anything, and no client is to be blamed for it."""


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((DOCS / "client-boxes.json").read_text())
    return read


@pytest.fixture(scope="module")
def found() -> dict[str, tuple[dict[str, str], set[str]]]:
    """By box, each case's verdict on the reference client, and the reasons of those that fail."""
    with ProcessPoolExecutor() as pool:
        return dict(zip(HANDSHAKE_BOXES, pool.map(_look, HANDSHAKE_BOXES), strict=True))


def _look(box: str) -> tuple[dict[str, str], set[str]]:
    return verdicts(box), reasons(box)


def test_every_box_is_there(told: dict[str, Any]) -> None:
    assert set(told) == set(HANDSHAKE_BOXES), AGAIN
    document = (DOCS / "client-boxes.md").read_text()
    assert [name for name in HANDSHAKE_BOXES if f"| `{name}` |" not in document] == [], AGAIN


def test_every_verdict_is_as_it_is_told(
    told: dict[str, Any], found: dict[str, tuple[dict[str, str], set[str]]]
) -> None:
    usual, _ = found[NOTHING]
    for box, (now, _) in found.items():
        changed = {case: verdict for case, verdict in now.items() if verdict != usual[case]}
        assert changed == told[box]["changed"], AGAIN


def test_data_is_damaged_only_where_no_client_could_help_it(
    found: dict[str, tuple[dict[str, str], set[str]]],
) -> None:
    damaging = {box for box, (_, why) in found.items() if why & DAMAGED}
    assert damaging
    assert all(HANDSHAKE_BOXES[box].no_client for box in damaging)


def test_no_client_is_blamed_for_what_harms_nobody(told: dict[str, Any]) -> None:
    assert {box for box, each in told.items() if not each["changed"]} == HARMLESS


def test_no_wrong_client_is_masked_by_what_harms_nobody(told: dict[str, Any]) -> None:
    assert all(case for box in HARMLESS for case in told[box]["caught"].values())


def test_wrong_clients_that_are_still_caught_are(told: dict[str, Any]) -> None:
    """One of three: all of them are as many as those of the matrix, twelve times."""
    ordered = [
        (case, mutant, box)
        for turn, (box, each) in enumerate(told.items())
        if box != NOTHING
        for mutant, case in sorted(each["caught"].items())[turn % 3 :: 3]
        if case
    ]
    ordered.sort(key=lambda each: (each[2], each[0]))
    with ProcessPoolExecutor() as pool:
        held = pool.map(still_catches, *zip(*ordered, strict=True), chunksize=16)
        failed = [pair for pair, holds in zip(ordered, held, strict=True) if not holds]
    assert not failed, AGAIN


def test_each_caught_mutant_has_its_line_behind_each_box(told: dict[str, Any]) -> None:
    matrix = json.loads((DOCS / "client-matrix.json").read_text())
    assert all(set(each["caught"]) == set(matrix["mutants"]) for each in told.values()), AGAIN

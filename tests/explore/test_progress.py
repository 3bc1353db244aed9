"""Whoever waits for an exploration hears how far it is."""

from __future__ import annotations

import pytest

from scapy_tfo.explore import progress
from scapy_tfo.explore.campaign.jobs import Request, explored
from scapy_tfo.explore.progress import Progress


def test_a_line_comes_when_it_is_time_and_says_what_is_left() -> None:
    lines: list[str] = []
    shown = Progress(lines.append, now=50.0, end=150.0)
    shown.at(59.0, 5, 0)
    assert lines == []
    assert shown.seconds_to_next(59.0) == 1.0
    shown.at(60.0, 1234, 1)
    shown.at(61.0, 1300, 1)
    assert lines == ["1,234 schedules, 1 finding so far, 1:30 left"]
    shown.at(151.0, 2000, 2)
    assert lines[1:] == ["2,000 schedules, 2 findings so far"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_process_is_counted(monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.2)
    lines: list[str] = []
    result = explored(Request("reference", seconds=3.0, jobs=jobs), lines.append)
    counts = [int(each.split()[0].replace(",", "")) for each in lines]
    assert counts == sorted(counts)
    assert 0 < counts[-1] <= result.total

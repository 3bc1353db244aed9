"""The badge: green only for a run that ended and judged something."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET

import pytest

from scapy_tfo.report.exchange.badge import badge
from scapy_tfo.suite.result import Run, Verdict

from ..sample import HOSTILE, result

GREEN, RED, GREY = "#116329", "#b3001b", "#57606a"


@pytest.mark.parametrize(
    ("verdicts", "fields", "says", "color"),
    [
        ([Verdict.PASS, Verdict.SKIPPED], {}, "1 of 2 passed", GREEN),
        ([Verdict.PASS, Verdict.FAIL], {}, "1 of 2 failed", RED),
        ([Verdict.PASS], {"gone": "it went"}, "not judged", GREY),
        ([Verdict.PASS], {"interrupted": True}, "not judged", GREY),
        ([Verdict.SKIPPED, Verdict.INCONCLUSIVE], {}, "not judged", GREY),
        ([Verdict.FAIL], {"gone": "it went"}, "1 of 1 failed", RED),
        ([], {}, "not judged", GREY),
    ],
)
def test_what_it_says(
    run: Run, verdicts: list[Verdict], fields: dict[str, object], says: str, color: str
) -> None:
    results = tuple(result(f"ACC-2.x{at}", each) for at, each in enumerate(verdicts))
    drawn = badge(dataclasses.replace(run, results=results, **fields))
    assert f": {says}</title>" in drawn
    assert color in drawn


def test_it_is_xml_whatever_its_name(run: Run) -> None:
    root = ET.fromstring(badge(run, name=HOSTILE))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not root.findall(".//{http://www.w3.org/2000/svg}script")

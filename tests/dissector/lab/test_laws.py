"""A sample of the laws: `laws.py` checks as many as one likes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from laws import Told, broken_by, broken_by_merging, is_less, is_same, told
from transforms import FORMATS, LESS, LINKS, SAME, Packet, Transform, by_port, linked, write
from tshark import needs_tshark
from two_kernels import Evidence

pytestmark = needs_tshark

SEED = 7


@pytest.fixture(scope="module")
def views(evidence: Evidence) -> dict[str, dict[int, list[Packet]]]:
    """The packets of each capture by the client's port."""
    ports = [word.port for word in evidence.words]
    return {where: by_port(path, ports) for where, path in evidence.captures.items()}


def differing(before: Told, after: Told) -> list[int]:
    """Ports of connections of which something else is said."""
    assert len(before) >= 60
    return [
        port
        for port in before.keys() | after.keys()
        if not is_same(before.get(port, []), after.get(port, []))
    ]


def whole(talks: dict[int, list[Packet]], place: Path) -> Path:
    return write(place / "whole.pcap", [packet for each in talks.values() for packet in each])


@pytest.mark.parametrize("where", ["client", "kernel"])
@pytest.mark.parametrize("transform", [*SAME, *LESS], ids=lambda each: each.__name__)
def test_a_transform_changes_nothing_or_makes_it_unknown(
    transform: Transform,
    where: str,
    views: dict[str, dict[int, list[Packet]]],
    tmp_path: Path,
) -> None:
    talks = views[where]
    before = told(whole(talks, tmp_path))
    assert sum(map(bool, talks.values())) >= 60
    found = broken_by(transform, talks, before, SEED, tmp_path)
    assert list(map(str, found)) == []


@pytest.mark.parametrize("link", LINKS)
def test_a_link_layer_changes_nothing(
    link: str, views: dict[str, dict[int, list[Packet]]], tmp_path: Path
) -> None:
    packets = [packet for each in views["client"].values() for packet in each]
    number, head = LINKS[link]
    before = told(write(tmp_path / "whole.pcap", packets))
    after = told(write(tmp_path / "linked.pcap", linked(packets, head), number))
    assert differing(before, after) == []


@pytest.mark.skipif(not shutil.which("editcap"), reason="editcap is not installed")
@pytest.mark.parametrize("form", FORMATS)
def test_a_format_changes_nothing(
    form: str, views: dict[str, dict[int, list[Packet]]], tmp_path: Path
) -> None:
    capture = whole(views["client"], tmp_path)
    subprocess.run(["editcap", "-F", form, capture, tmp_path / "other"], check=True)
    assert differing(told(capture), told(tmp_path / "other")) == []


def test_the_other_end_changes_nothing(
    evidence: Evidence, views: dict[str, dict[int, list[Packet]]], tmp_path: Path
) -> None:
    """Of connections to which the path did nothing."""
    plain = [word.port for word in evidence.words if word.step.path is None]
    talks = {port: views["client"][port] for port in plain}
    there: dict[int, list[Packet]] = {port: [] for port in plain}
    for where in views.keys() - {"client"}:
        for port in plain:
            there[port] += views[where][port]
    before = told(whole(talks, tmp_path))
    assert list(map(str, broken_by_merging(talks, there, before, SEED, tmp_path))) == []


def shown(outcome: str = "accepted", acked: int = 18, rule: str = "") -> dict[str, Any]:
    problems = [{"rule": rule, "severity": "error"}] if rule else []
    return {
        "outcome": outcome,
        "why": "because",
        "sent": 18,
        "acked": acked,
        "resent": 0,
        "problems": problems,
    }


class TestTheLawsThemselves:
    """Each can be broken."""

    @pytest.mark.parametrize(
        "after",
        [[], [shown("unknown")], [shown(acked=17)], [shown(rule="DUP-3")], [shown(), shown()]],
    )
    def test_same(self, after: list[dict[str, Any]]) -> None:
        assert is_same([shown()], [shown()])
        assert not is_same([shown()], after)

    @pytest.mark.parametrize(
        "after", [[shown("refused-silently")], [shown(acked=17)], [shown("unknown", rule="DUP-3")]]
    )
    def test_less(self, after: list[dict[str, Any]]) -> None:
        for less in ([], [shown()], [shown("unknown", acked=0)]):
            assert is_less([shown()], less)
        assert not is_less([shown()], after)

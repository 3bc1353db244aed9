"""The page of a campaign that is under way."""

from __future__ import annotations

import re
from pathlib import Path

from scapy_tfo.cli import main
from scapy_tfo.fuzz.generation.batches import MOST_SLOW, Tally
from scapy_tfo.report.dashboard import dashboard

FIGURES = {
    "target": "lab:<linux>",
    "seed": 3,
    "ended": "finished",
    "quiet": 75.0,
    "sequences": 12_000,
    "probes": 40_000,
    "heard": 30_000,
    "unjudged": 0,
    "reached": 33,
    "edges": 900,
    "edge_pairs": 200,
    "target_edges": 0,
    "untried": 2,
    "put_off": 7,
    "curve": [[1.0, 100, 50], [2.0, 200, 100]],
}


def _page(*, over: bool = False, lines: tuple[str, ...] = (), **changes: object) -> str:
    given = {**FIGURES, **changes}
    return dashboard(given, (("programs", 1234.0),), lines, [(0.25, 77)], left=90.0, over=over)


def test_it_says_how_far_it_is_and_renews_itself() -> None:
    page = _page()
    assert '<meta http-equiv="refresh" content="2">' in page
    told = dict(re.findall(r'<tr><td>(.*?)</td><td class="n">(.*?)</td>', page))
    assert told["programs"] == "12,000"
    assert told["programs a second"] == "1,234"
    assert told["kinds of violations to be confirmed"] == "2"
    assert told["programs put off, because they wait for timers"] == "7"
    assert told["program 77"] == "0.250 s"
    assert "1:30 left" in page
    assert "The last new thing was covered 1:15 ago" in page
    assert "none so far" in page


def test_the_curve_ends_at_the_top_right() -> None:
    (points,) = re.findall(r'points="(.*?)"', _page())
    assert points.split() == ["320.0,80.0", "640.0,0.0"]
    assert "nothing yet" in _page(curve=[])


def test_one_that_is_over_is_read_no_more() -> None:
    page = _page(over=True, ended="interrupted")
    assert "refresh" not in page
    assert "interrupted" in page


def test_what_a_target_says_is_no_markup() -> None:
    page = _page(lines=("got <script>alert(1)</script>\x1b[2J",))
    assert "<script>" not in page
    assert "\x1b" not in page
    assert "lab:&lt;linux&gt;" in page


def test_a_campaign_writes_it(tmp_path: Path, capsys) -> None:
    out = tmp_path / "out"
    given = ["--programs", "512", "--jobs", "1", "--out", str(out), "--dashboard"]
    assert main(["fuzz", "sim:accepts-any-cookie", *given]) == 1
    page = (out / "dashboard.html").read_text(encoding="utf-8")
    assert f"Dashboard: {out / 'dashboard.html'}" in capsys.readouterr().out.replace("\n", "")
    assert "finished" in page
    assert re.search(r'<td>programs</td><td class="n">512<', page)
    assert page.count("<li") >= 1
    assert len(re.findall(r"<td>program [\d,]+</td>", page)) == MOST_SLOW


def test_the_slowest_are_remembered() -> None:
    tally = Tally()
    for number in range(20):
        tally.took(number, (number * 7 % 20) / 10)
    assert tally.slowest == sorted(((n * 7 % 20) / 10, n) for n in range(20))[: -MOST_SLOW - 1 : -1]

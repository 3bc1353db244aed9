"""The shape of a link beyond its delay: how it is given, and who emulates it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the extra 'gain' is not installed")

from scapy_tfo.cli import main
from scapy_tfo.commands.gain import common
from scapy_tfo.errors import SetupError
from scapy_tfo.gain.latency import Plan, measure
from scapy_tfo.gain.link import carrier
from scapy_tfo.gain.link_shape import BARE, PAPERS, Line
from scapy_tfo.lab.links import netem


def read(*words: str, usual: Line = BARE) -> Line:
    parser = argparse.ArgumentParser()
    common.add_line(parser, usual)
    return common.line_of(parser.parse_args(words), usual)


def test_a_line_as_it_is_asked_for() -> None:
    words = "--down 4M --up 256k --queue 9000 --jitter 2ms --loss 1 --duplicate 0.5% --reorder 3"
    line = read(*words.split(), "--link", "own")
    assert line == Line(
        link="own",
        down=4e6,
        up=256e3,
        queue=9000,
        jitter=0.002,
        loss=0.01,
        duplicate=0.005,
        reorder=0.03,
    )
    onward, homeward = line.shapes(0.02)
    assert (onward.rate, homeward.rate) == (256e3, 4e6)
    assert (onward.delay, homeward.delay, homeward.loss) == (0.01, 0.01, 0.01)
    assert line.tells == (
        "4 Mbit/s down, 256 kbit/s up, 9000 bytes of queue, jitter 2 ms, loss 1 %, "
        "duplicate 0.5 %, reorder 3 %"
    )


def test_what_is_not_asked_for_is_as_usual() -> None:
    assert read() == BARE
    assert read(usual=PAPERS) == PAPERS
    assert read("--up", "1M", usual=PAPERS) == Line(down=4e6, up=1e6)
    assert BARE.is_bare
    assert BARE.tells == ""
    assert read("--link", "own", "--jitter", "0").is_bare
    assert not PAPERS.is_bare


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--jitter", "2"], "write the time with its unit"),
        (["--jitter", "2ms,3ms"], "write a single time"),
        (["--queue", "1499"], "the least size is 1500"),
        (["--up", "7999"], "the least rate is 8k"),
        (["--loss", "11"], "percent from 0 to 10"),
        (["--duplicate", "-1"], "percent from 0 to 100"),
        (["--reorder", "some"], "percent from 0 to 100"),
        (["--link", "tc"], "netem"),
    ],
)
def test_what_is_no_line(given: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read(f"{given[0]}={given[1]}")
    assert said in capsys.readouterr().err


def test_a_queue_takes_a_rate() -> None:
    with pytest.raises(SetupError, match="give --down or --up"):
        read("--queue", "9000")


@pytest.mark.parametrize(
    ("why", "link", "kernels", "wanted"),
    [
        ("", "auto", True, "netem"),
        ("", "auto", False, "own"),
        ("", "own", True, "own"),
        ("it has none", "auto", True, "own"),
        ("it has none", "own", True, "own"),
    ],
)
def test_who_makes_it(
    why: str, link: str, kernels: bool, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(netem, "missing", lambda: why)
    assert carrier(Line(link=link), kernels=kernels) == wanted


@pytest.mark.parametrize(
    ("why", "kernels", "said"),
    [("it has none", True, "it has none"), ("", False, "not the kernel's")],
)
def test_netem_where_there_can_be_none(
    why: str, kernels: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(netem, "missing", lambda: why)
    with pytest.raises(SetupError, match=f"{said}; use --link own"):
        carrier(Line(link="netem"), kernels=kernels)


@pytest.mark.parametrize("experiment", ["latency", "rate", "load", "pages"])
def test_each_experiment_refuses_what_is_not_there(
    experiment: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(netem, "missing", lambda: "this kernel has no netem")
    assert main(["gain", experiment, "--link", "netem"]) == 2
    assert "this kernel has no netem; use --link own" in capsys.readouterr().err


@pytest.mark.parametrize("link", ["own", "netem"])
def test_a_request_over_each_kind_of_link(
    link: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what a link can do to it; how it was, the file says, and the text."""
    if link == "netem" and (why := netem.missing()):
        pytest.skip(why)
    try:
        list(measure(Plan(rtts=[0.0], sizes=[1], times=1)))
    except SetupError as error:
        pytest.skip(str(error))
    path = tmp_path / "a.json"
    words = ["--rtt", "5ms", "--size", "1000", "--times", "2", "--link", link]
    line = ["--down", "10M", "--jitter", "1ms", "--duplicate", "20"]
    line += ["--accept-noise", "--json", str(path)]
    assert main(["gain", "latency", *words, *line]) == 0
    assert "10 Mbit/s down" in " ".join(capsys.readouterr().out.split())
    figures = json.loads(path.read_text())
    assert figures["tool"].startswith("scapy-tfo ")
    assert figures["time"].endswith("Z")
    assert figures["plan"]["line"]["jitter"] == 0.001
    (cell,) = figures["cells"]
    assert cell["link"] == link
    assert {way: len(each) for way, each in cell["samples"].items()} == dict.fromkeys(
        ("tcp", "tfo", "control"), 2
    )
    assert all(one["last"] >= 0.005 for each in cell["samples"].values() for one in each)

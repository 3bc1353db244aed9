"""What campaigns cover, how that grows, and corpora that keep what reached something new."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.executor.coverage import EDGE, stimulus
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.campaign.minimise import minimised
from scapy_tfo.fuzz.findings.coverage import MOST_POINTS, Curve, sorted_out
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.generation.grammar import program_for
from scapy_tfo.program.files import read_directory
from scapy_tfo.program.program import Cookie, Flow, Option, Program, Send, Wait
from scapy_tfo.report.fuzz_report import told_curve, told_quiet
from tests.fuzz.command_line import complaint, results

MSS = Option("mss", 1460)


def covered(*steps: Send, name: str = "sim:reference") -> frozenset[str]:
    """The edges of one flow."""
    bench = SimulatedBench(name)
    bench.counts.edges = True
    program = Program((Flow(),), (*steps, Wait()), "reset")
    ((_, verdict),) = bench.run([(0, program)])
    return frozenset(each for each in verdict.edges if EDGE in each)


def test_a_bench_that_is_not_asked_notes_nothing() -> None:
    ((_, verdict),) = SimulatedBench("sim:reference").run([(0, program_for(1, "rfc"))])
    assert not verdict.edges


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Option("fo", cookie=Cookie()), Option("fo")),
        (Option("fo", cookie=Cookie()), Option("fo", cookie=Cookie("other"))),
        (Option("fo", cookie=Cookie()), Option("fo", cookie=Cookie("own", (("flip", 3),)))),
        (Option("fo", cookie=Cookie()), Option("fo", kind=254, cookie=Cookie())),
        (Option("fo", cookie=Cookie()), Option("sackok")),
    ],
)
def test_what_differs_in_kind_is_another_edge(one: Option, other: Option) -> None:
    assert covered(Send(size=10, options=(MSS, one))) != covered(
        Send(size=10, options=(MSS, other))
    )


def test_what_differs_in_numbers_is_the_same_edge() -> None:
    flips = [Option("fo", cookie=Cookie("own", (("flip", each),))) for each in (1, 9)]
    first, second = (
        covered(Send(size=10 + at, options=(MSS, each))) for at, each in enumerate(flips)
    )
    assert first == second


def test_a_target_that_answers_otherwise_covers_otherwise() -> None:
    bad = Send(size=10, options=(MSS, Option("fo", cookie=Cookie("own", (("flip", 3),)))))
    assert covered(bad) != covered(bad, name="sim:accepts-any-cookie")


def test_silence_is_covered_too() -> None:
    assert any(each.split(EDGE)[2] == "none" for each in covered(Send(flags="R")))


def test_lies_of_a_segment_are_in_its_class() -> None:
    plain = stimulus(Send(size=10))
    lies = [
        *(Send(size=10, checksum=1), Send(size=10, wrong=True), Send(size=10, window=0)),
        *(Send(size=10, fragments=8), Send(size=10, data_offset=4), Send(size=10, reserved=1)),
    ]
    assert len({plain, *map(stimulus, lies)}) == len(lies) + 1


def test_a_curve_tells_when_something_was_new_and_stays_short() -> None:
    curve = Curve({}, frozenset({"old"}), [], (0.0, 0))
    curve.add(curve.new({"old": 1, "a>b": 2}), 10, 1.0)
    curve.add(curve.new({"a>b": 5}), 10, 600.0)
    assert curve.points == [(1.0, 10, 2)]
    assert curve.quiet == 600.0
    for at in range(2 * MOST_POINTS):
        curve.add({f"{at}": at}, 1, 1.0)
    assert len(curve.points) <= MOST_POINTS
    assert curve.points[-1][2] == 2 + 2 * MOST_POINTS
    assert curve.quiet == 0.0


def test_a_plateau_is_said() -> None:
    assert told_quiet(59.0) == ""
    assert told_quiet(540.0) == ", nothing new for 9 minutes"
    lines = told_curve([(at, at * 100, at * 10) for at in range(1, 40)])
    assert len(lines) < 10
    assert lines[-1].split()[0] == "39.0"


def test_names_are_told_by_their_sort() -> None:
    found = sorted_out(frozenset({"LISTENsyn-ack", "LISTEN>S>rst", "a+b", "a+b>"}))
    assert (found.states, found.edges, found.pairs) == (1, 2, 1)


def test_a_minimised_corpus_is_smaller_and_covers_as_much() -> None:
    bench = SimulatedBench("sim:reference")
    programs = [program_for(seed, "rfc") for seed in range(60)]
    kept, names = minimised(bench, [*programs, *programs])
    assert len(kept) < len(programs)
    assert minimised(bench, kept)[1] == names
    assert bench.counts.edges is False


def test_the_next_night_begins_where_this_one_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def night(number: int, *more: str) -> Path:
        out = tmp_path / str(number)
        given = ["--seed", str(number), "--programs", "256", "--quiet", "--out", str(out)]
        assert main(["fuzz", "sim:reference", *given, *more]) == 0
        return out / "campaign.sqlite"

    first = night(1)
    second = night(2, "--corpus", str(first))
    with closing(Store.open(first)) as one, closing(Store.open(second)) as two:
        assert one.corpus().keys() < two.corpus().keys()
        assert two.curve().points[0][2] > len(one.corpus())
    small = tmp_path / "small"
    given = ["--target", "sim:reference", "--output", str(small)]
    assert main(["fuzz", "corpus", "minimise", str(first), str(second), *given]) == 0
    assert "which cover" in capsys.readouterr().out
    assert 0 < len(read_directory(small)) < 512
    third = night(3, "--corpus", str(small))
    with closing(Store.open(third)) as store:
        assert store.plan.base
    assert main(["fuzz", "corpus", "minimise", str(first), *given]) == 2
    assert "is not empty" in complaint(capsys)


def test_without_coverage_the_corpus_knows_states_alone(tmp_path: Path) -> None:
    out = tmp_path / "a"
    given = ["--programs", "128", "--quiet", "--coverage", "none", "--out", str(out)]
    assert main(["fuzz", "sim:reference", *given]) == 0
    figures = results(out / "results.json")
    assert figures["edges"] == 0
    assert figures["reached"] > 10
    assert json.loads((out / "results.json").read_text())["curve"]

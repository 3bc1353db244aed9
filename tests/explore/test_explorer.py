"""Explorations: what they find, how they keep it, and that they can be repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.explore.campaign.files import read_finding
from scapy_tfo.explore.conversation.schedule import LOST, Fault, Schedule, Wrong
from scapy_tfo.explore.explorer import Explorer, Found
from scapy_tfo.explore.reduce import reduced


def explorer(name: str, plays: int) -> Explorer:
    left = [plays]

    def stop() -> bool:
        left[0] -= 1
        return left[0] < 0

    return Explorer(name, stop=stop)


def test_nothing_is_found_at_the_reference() -> None:
    result = explorer("reference", 900).explore()
    assert result.total == 900
    assert {"cells", "one fault", "one wrong segment", "contexts"} <= set(result.played)
    assert result.found == {}
    assert not result.complete


@pytest.mark.parametrize(
    "name",
    [
        "answers-slowly",
        "closes-both-ways",
        "keeps-one-early-segment",
        "one-connection",
        "variants-row-2",
    ],
)
def test_a_legal_stack_is_not_blamed(name: str) -> None:
    result = explorer(name, 300).explore()
    assert [str(each.schedule) for each in result.found.values() if not each.is_advice] == []


def test_a_place_that_is_kept_shows_in_the_audit() -> None:
    result = explorer("abort-keeps-the-place", 700).explore()
    found = result.found["pending-limit-moved"]
    assert found.schedule.server in ("abort", "send-abort:100")
    assert found.before == ()


def test_a_result_is_the_same_each_time() -> None:
    one, two = (explorer("ack-gives-two-places-back", 100).explore() for _ in range(2))
    assert one.found.keys() == two.found.keys() != set()
    assert one.played == two.played
    for rule, each in one.found.items():
        assert each.schedule == two.found[rule].schedule


def test_a_finding_is_reduced_to_what_it_takes() -> None:
    schedule = Schedule(
        "refused",
        "think:20",
        "two-writes:100",
        (("dscp", "46"), ("sack", "no")),
        (Fault(False, 3, LOST),),
        Wrong("fin-alone", 4),
    )
    target = Explorer("accepts-any-cookie")
    problem = target.problems_of(schedule)[0]
    small = reduced(target.problems_of, Found(problem, schedule))
    assert (small.faults, small.wrong, small.context) == ((), None, ())
    assert small.opening == "refused"
    assert any(each.rule == problem.rule for each in target.problems_of(small))


def test_the_command_keeps_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["--first", "--jobs", "1", "--out", str(out), "--json", str(tmp_path / "r.json")]
    assert main(["explore", "sim:accepts-any-cookie", *arguments]) == 1
    assert "syn-ack-number" in capsys.readouterr().out
    path = out / "syn-ack-number.json"
    target, _, schedule, before = read_finding(path)
    assert (target, before) == ("sim:accepts-any-cookie", ())
    assert schedule.opening not in ("plain", "request", "good")
    assert main(["explore", "replay", str(path)]) == 1
    assert "syn-ack-number" in capsys.readouterr().out
    assert main(["explore", "replay", str(path), "--target", "sim:reference"]) == 0
    assert "nothing wrong" in capsys.readouterr().out


def test_the_plan_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "sim:reference", "--plan"]) == 0
    assert "two faults" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["192.0.2.1:7", "lab:linux"])
def test_a_live_target_is_refused(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", target]) == 2
    assert "virtual time" in capsys.readouterr().err


def test_a_file_that_is_no_finding_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}")
    with pytest.raises(SetupError, match="no finding"):
        read_finding(path)

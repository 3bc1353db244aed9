"""Explorations: what they find, how they keep it, and that they can be repeated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.explore.campaign.export import write_exports
from scapy_tfo.explore.campaign.files import read_finding
from scapy_tfo.explore.campaign.regression import broken_by
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.schedule import (
    DELAYED,
    LOST,
    Deed,
    Fault,
    Schedule,
    Wrong,
    to_json,
)
from scapy_tfo.explore.explorer import Explorer, Found
from scapy_tfo.explore.reduce import reduced


def explorer(name: str, plays: int) -> Explorer:
    left = [plays]

    def stop() -> bool:
        left[0] -= 1
        return left[0] < 0

    return Explorer(name, stop=stop)


def test_nothing_is_found_at_the_reference() -> None:
    result = explorer("reference", 2400).explore()
    assert result.total == 2400
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
    assert main(["explore", "sim:accepts-any-cookie", "--seed", "1", *arguments]) == 1
    assert "refused-text-acknowledged" in capsys.readouterr().out
    path = out / "refused-text-acknowledged.json"
    target, _, schedule, before = read_finding(path)
    assert (target, before) == ("sim:accepts-any-cookie", ())
    assert schedule.opening not in ("plain", "request", "good")
    assert main(["explore", "replay", str(path)]) == 1
    assert "refused-text-acknowledged" in capsys.readouterr().out
    assert (out / "refused-text-acknowledged.pcapng").stat().st_size > 500
    assert "S. 0:0(0) ack 1 " in (out / "refused-text-acknowledged.pkt").read_text("utf-8")
    assert main(["explore", "replay", str(path), "--target", "sim:reference"]) == 0
    assert "nothing wrong" in capsys.readouterr().out


def test_what_is_known_fails_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = tmp_path / "known.toml"
    known.write_text(
        '[[explored]]\ncause = "refused-text-acknowledged"\nreason = "it is wrong on purpose"\n'
    )
    arguments = ["--first", "--jobs", "1", "--seed", "1", "--out", str(tmp_path / "out")]
    arguments += ["--known", str(known)]
    assert main(["explore", "sim:accepts-any-cookie", *arguments]) == 0
    assert "known, refused-text-acknowledged" in capsys.readouterr().out
    known.write_text("[[explored]]\n")
    assert main(["explore", "sim:accepts-any-cookie", *arguments]) == 2
    assert "has no 'cause'" in capsys.readouterr().err


def test_a_syn_in_time_wait_may_take_what_a_slow_application_had_not_read() -> None:
    wrong = Wrong("syn-in-window", 10)
    schedule = Schedule("old-key", "half-close:100", "write-later:100", wrong=wrong)
    assert Explorer("answers-slowly").problems_of(schedule) == []


def test_a_syn_behind_a_reset_handshake_opens_another_connection() -> None:
    # Whose handshake goes on while the window is closed: nobody had accepted the first one.
    wrong = Wrong("syn-behind", 7)
    schedule = Schedule("refused", "late-close:50", "write-abort:100", wrong=wrong)
    assert Explorer("variants-row-28").problems_of(schedule) == []


def test_an_exported_test_fails_as_long_as_the_target_does_it() -> None:
    schedule = json.dumps(to_json(Schedule("refused")))
    assert broken_by(schedule, "refused-text-acknowledged", "sim:accepts-any-cookie") != []
    assert broken_by(schedule, "refused-text-acknowledged", "sim:reference") == []


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule("refused", "think:20", faults=(Fault(True, 0, LOST),)),
        Schedule("good", "echo", wrong=Wrong("port-unreachable", 3)),
        Schedule("plain", "half-close:100", context=(("family", "6"),)),
    ],
)
def test_a_script_is_made_of_any_schedule(schedule: Schedule, tmp_path: Path) -> None:
    problem = Problem("refused-text-acknowledged", 2, "this", "that")
    found = Found(problem, schedule)
    assert write_exports("a-name", "sim:accepts-any-cookie", 0, found, tmp_path) == []
    assert {each.name for each in tmp_path.iterdir()} == {
        "a-name.pcapng",
        "a-name.pkt",
        "test_a_name.py",
    }


def test_the_plan_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "sim:reference", "--plan"]) == 0
    assert "two faults" in capsys.readouterr().out


def test_a_file_that_is_no_finding_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}")
    with pytest.raises(SetupError, match="no finding"):
        read_finding(path)


def test_a_syn_that_comes_late_opens_another_connection_which_may_agree_on_ecn() -> None:
    late = Fault(True, 0, DELAYED)
    marked = Deed("ce-answer", 1)
    schedule = Schedule("good", "echo", "write-end:100", faults=(late,), deeds=(marked,))
    assert Explorer("reference", seed=3).problems_of(schedule) == []

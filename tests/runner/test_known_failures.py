"""The list of known failures: applied to results, and refused when damaged or absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.runner.judging.known_failures import load_known, mark_known
from scapy_tfo.suite.result import Level, Result, Standing, Verdict, standing


def result(verdict: Verdict, family: int = 4) -> Result:
    return Result(
        case="ACC-2.x",
        title="",
        family=family,
        requirements=("ACC-2",),
        level=Level.MUST,
        verdict=verdict,
    )


def listed(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "known.toml"
    path.write_text(text)
    return path


def test_an_expected_failure_is_known_and_an_expected_failure_that_passes_fails(
    tmp_path: Path,
) -> None:
    path = listed(tmp_path, '[[known]]\ncase = "ACC-2.x"\nreason = "old kernel"\nfamily = 4\n')
    known = load_known(path, ["ACC-2.x"])
    outcomes = [result(Verdict.FAIL), result(Verdict.FAIL, 6), result(Verdict.PASS)]
    marked = mark_known(outcomes, known)
    assert [standing(each) for each in marked] == [Standing.KNOWN, Standing.FAIL, Standing.FIXED]
    assert marked[0].known == "old kernel"


def test_what_was_not_judged_is_left_alone(tmp_path: Path) -> None:
    path = listed(tmp_path, '[[known]]\ncase = "ACC-2.x"\nreason = "old kernel"\n')
    known = load_known(path, ["ACC-2.x"])
    (marked,) = mark_known([result(Verdict.SKIPPED)], known)
    assert not marked.known


@pytest.mark.parametrize(
    "text",
    [
        "not toml [",
        "",
        "[known]\ncase = 1",
        '[[known]]\ncase = "ACC-2.x"',
        '[[known]]\ncase = "ACC-2.gone"\nreason = "r"',
    ],
)
def test_a_damaged_list_is_one_clear_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(SetupError, match="the known failures in ") as caught:
        load_known(listed(tmp_path, text), ["ACC-2.x"])
    assert "\n" not in str(caught.value)


def test_an_absent_list_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot read"):
        load_known(tmp_path / "none.toml", [])

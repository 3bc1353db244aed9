"""What is misspelt on the command line is answered with what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import did_you_mean


def status_of(line: str) -> object:
    """argparse leaves by SystemExit, a command returns its status."""
    try:
        return main(line.split())
    except SystemExit as error:
        return error.code


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("tset sim:reference", "test"),
        ("pkt runn", "run"),
        ("fuzz lst", "list"),
        ("test sim:reference --ony ACC-3", "--only"),
        ("fuzz sim:reference --prorgams=3", "--programs"),
        ("test 127.0.0.1 --app ehco", "echo"),
        ("test lab:linx", "lab:linux"),
        ("test lib:linux", "lab:linux"),
        ("test lab:accepts-any-cokie", "lab:accepts-any-cookie"),
        ("test sim:accepts-any-cokie", "accepts-any-cookie"),
        ("soak sim:refrence", "reference"),
        ("fuzz lab:linus", "lab:linux"),
        ("client sim:refrence", "reference"),
        ("client lab:crul", "curl"),
        ("test sim:reference --only ACC-33", "ACC-3"),
        ("list --exclude acc-3.a-wrong-cookie-stays-wron", "ACC-3.a-wrong-cookie-stays-wrong"),
        ("spec --only CLI-111", "CLI-11"),
        ("spec --rules --only TCP-URG-55", "TCP-URG-5"),
    ],
)
def test_the_nearest_name_is_suggested(
    line: str,
    meant: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert status_of(line) == 2
    assert capsys.readouterr().err.strip().endswith(f"; did you mean '{meant}'?")


def test_a_target_without_its_kind_is_recognised(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "accepts-any-cookie"]) == 2
    assert "did you mean 'lab:accepts-any-cookie'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line", ["xyzzy", "test sim:reference --only QQQ-1", "test lab:qqq", "path sim:none --out x"]
)
def test_nothing_is_suggested_where_nothing_is_near(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(line) == 2
    assert "did you mean" not in capsys.readouterr().err


def test_options_of_a_command_are_refused_with_its_own_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["pkt", "check", "--portabel", "x.pkt"])
    assert "usage: scapy-tfo pkt check" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line", ["test sim:reference --nonsense", "fuzz lab:linux --rate x", "path"]
)
def test_what_is_wrong_stands_last_and_the_usage_is_short(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(line) == 2
    *usage, wrong = capsys.readouterr().err.splitlines()
    assert len(usage) <= 1
    assert wrong.startswith("scapy-tfo")


def test_case_does_not_matter() -> None:
    assert did_you_mean("acc-3", ["ACC-3"]) == "; did you mean 'ACC-3'?"
    assert did_you_mean("x", []) == ""

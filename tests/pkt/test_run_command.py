"""`scapy-tfo pkt run`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.local import pool
from tests.pkt.locally import OPEN, SOCKET, answers, task

BAD = "// ACC-2\n" + OPEN.replace("mss 1460", "mss 1400")

Said = tuple[int, str, str]
Run = Callable[..., Said]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs scripts, by name, with arguments: exit status, output, errors."""
    answers(task(""))
    monkeypatch.chdir(tmp_path)

    def ran(scripts: dict[str, str], *arguments: str, files: Sequence[str] | None = None) -> Said:
        for name, text in scripts.items():
            place = tmp_path / f"{name}.pkt"
            place.parent.mkdir(exist_ok=True)
            place.write_text(text)
        named = [f"{name}.pkt" for name in scripts] if files is None else files
        status = main(["pkt", "run", *named, *arguments])
        return status, *capsys.readouterr()

    return ran


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, usage: bool = False) -> str:
    """What is said of arguments that cannot be."""
    if usage:
        with pytest.raises(SystemExit) as caught:
            main(["pkt", "run", *arguments])
        assert caught.value.code == 2
    else:
        assert main(["pkt", "run", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err.strip().split("\n")[-1]


# Exit status and what is said.


def test_all_is_as_the_scripts_say(run: Run) -> None:
    status, out, err = run({"good": OPEN, "also": SOCKET})
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert sorted(lines[:2]) == ["pass     also.pkt [ipv4]", "pass     good.pkt [ipv4]"]
    assert lines[2].startswith("2 runs in ")
    assert lines[2].endswith(": 2 pass")


def test_a_packet_that_differs_is_shown_beside_what_was_expected(run: Run) -> None:
    status, out, _ = run({"bad": BAD, "good": OPEN}, "--quiet")
    assert status == 1
    lines = out.splitlines()
    assert lines[:3] == [
        "fail     bad.pkt [ipv4]",
        "  bad.pkt:6: mss: expected mss 1400, got mss 1460",
        "    expected  > S. 0:0(0) ack 1 <mss 1400>",
    ]
    assert lines[3].startswith("    actual    > S. 0:0(0) ack 1 win ")
    assert lines[4] == "      mss: expected mss 1400, got mss 1460"
    assert lines[5].endswith("1 pass, 1 fail")


def test_a_script_that_is_none_is_shown_with_its_place(run: Run) -> None:
    status, out, err = run({"none": "0 close(3 = 0\n", "good": OPEN})
    assert status == 2
    assert "skipped  none.pkt [ipv4]" in out
    assert err.startswith("none.pkt:1:11: ")
    assert err.endswith("  0 close(3 = 0\n            ^\n")


def test_a_failure_counts_more_than_a_script_that_is_none(run: Run) -> None:
    assert run({"none": "0 close(3 = 0\n", "bad": BAD})[0] == 1


def test_control_characters_of_a_script_are_not_told(run: Run) -> None:
    status, out, _ = run({"a": SOCKET + "+0 %{ raise ValueError('\x1b[2J') }%\n"})
    assert status == 1
    assert "\x1b" not in out


# What is run, and with what.


def test_ip_versions(run: Run) -> None:
    scripts = {"all": SOCKET, "only-v6": SOCKET, "only-v4": SOCKET}

    def of(*arguments: str) -> list[str]:
        _, out, _ = run(scripts, *arguments)
        return sorted(line.partition(" ")[2].strip() for line in out.splitlines()[:-1])

    assert of() == ["all.pkt [ipv4]", "only-v4.pkt [ipv4]", "only-v6.pkt [ipv6]"]
    assert of("--ip-version", "ipv6") == ["all.pkt [ipv6]", "only-v6.pkt [ipv6]"]
    assert len(of("--ip-version", "all")) == 6


def test_no_script_for_an_ip_version(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run({"only-v6": SOCKET})
    assert "none of the scripts runs over ipv4" in refused(
        capsys, "only-v6.pkt", "--ip-version", "ipv4"
    )


def test_symbols_of_the_command_line_win(run: Run, tmp_path: Path) -> None:
    script = {"a": OPEN.replace("1460", "MSS")}
    assert run(script)[0] == 2
    (tmp_path / "symbols.toml").write_text('[ipv4]\nMSS = "1460"\n')
    assert run(script)[0] == 0
    assert run(script, "-D", "MSS=1400")[0] == 1


def test_mtu_and_tolerance(run: Run) -> None:
    assert run({"a": OPEN.replace("1460", "1360")}, "--mtu", "1400")[0] == 0
    late = OPEN.replace("+0 > S.", "+.05 > S.")
    assert run({"a": late})[0] == 1
    assert run({"a": late}, "--tolerance-usecs", "60000")[0] == 0


def test_rounds(run: Run) -> None:
    _, out, _ = run({"a": SOCKET}, "--rounds", "3", "--jobs", "1")
    assert out.count("pass     a.pkt") == 3


def test_a_directory_and_what_is_chosen_of_it(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    scripts = {"d/one": "// ACC-2\n" + SOCKET, "d/two": "// LIM-1\n" + SOCKET, "d/x-slow": SOCKET}
    assert run(scripts, files=["d"])[1].count("pass ") == 2
    assert run(scripts, "--slow", files=["d"])[1].count("pass ") == 3
    assert run(scripts, files=["d/x-slow.pkt"])[1].count("pass ") == 1
    out = run(scripts, "--only", "acc-2", files=["d"])[1]
    assert "one.pkt" in out
    assert "two.pkt" not in out
    assert refused(capsys, "d", "--only", "ACC-99").endswith("no script checks ACC-99")


# Reports.


def test_reports(run: Run, tmp_path: Path) -> None:
    places = ["--json", "o.json", "--junit", "o.xml", "--out", "all"]
    assert run({"good": OPEN, "bad": BAD, "none": "0 close(\n"}, *places)[0] == 1
    found = json.loads((tmp_path / "o.json").read_text())
    results = {each["title"]: each for each in found["results"]}
    assert {name: each["verdict"] for name, each in results.items()} == {
        "good.pkt": "pass",
        "bad.pkt": "fail",
        "none.pkt": "skipped",
    }
    bad = results["bad.pkt"]
    assert bad["requirements"] == ["ACC-2"]
    assert bad["reason"] == "line 6: mss: expected mss 1400, got mss 1460"
    assert bad["expected"] == "> S. 0:0(0) ack 1 <mss 1400>"
    assert bad["packets"]
    suite = ElementTree.parse(tmp_path / "o.xml").getroot()
    assert len(list(suite.iter("failure"))) == 1
    assert len(list(suite.iter("testcase"))) == 3
    assert any(each.suffix == ".pcapng" for each in (tmp_path / "all").iterdir())


# Wrong usage is told in one line, before anything runs.


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nowhere.pkt"], "scapy-tfo: cannot read nowhere.pkt: No such file or directory"),
        (["empty"], "scapy-tfo: no script in empty: it holds no file named *.pkt"),
        (["a.pkt", "-D", "A"], "scapy-tfo: --define needs NAME=VALUE"),
        (["a.pkt", "-D", "=A"], "scapy-tfo: --define needs NAME=VALUE"),
        (["a.pkt", "--mtu", "1"], "--mtu must be from 68 to 65535 bytes, not 1"),
        (["a.pkt", "--mtu", "big"], "--mtu must be a number, not 'big'"),
        (["a.pkt", "--tolerance-usecs", "-1"], "must be a number, not '-1'"),
        (["a.pkt", "--json", "nowhere/o.json"], "cannot write nowhere/o.json"),
        (["a.pkt", "--junit", "empty"], "cannot write empty: it is a directory"),
        (["a.pkt", "--out", "a.pkt/all"], "a.pkt is not a directory"),
        (
            ["a.pkt", "--engine", "both", "--target", "lab:linux"],
            "--engine both does not go with --target",
        ),
    ],
)
def test_what_cannot_be_is_told(
    arguments: list[str],
    problem: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.pkt").write_text(SOCKET)
    assert problem in refused(capsys, *arguments)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--timeout", "nan"),
        ("--timeout", "0"),
        ("--timeout", "1e300"),
        ("--timeout", "soon"),
        ("--rounds", "0"),
        ("--jobs", "x"),
        ("--engine", "other"),
        ("--ip-version", "5"),
    ],
)
def test_values_that_are_none(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"argument {option}" in refused(capsys, "a.pkt", option, value, usage=True)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SetupError("no network namespace: run as root"), "no network namespace: run as root"),
        (PermissionError(1, "Not permitted"), "cannot set up a network namespace: Not permitted"),
    ],
)
def test_without_the_right_to_a_namespace(
    error: Exception, said: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def enter() -> None:
        raise error

    monkeypatch.setattr(pool, "enter_namespace", enter)
    status, out, err = run({"a": SOCKET})
    assert status == 2
    assert "skipped  a.pkt [ipv4]" in out
    assert err == f"{said}\n"

"""`scapy-tfo pkt check` and `pkt fmt`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scapy_tfo.cli import main

GOOD = "    +0 pipe([5, 6]) = 0\n"
LOOSE = "+0 pipe([5, 6])=0\n"
BAD = "+0 pipe([5, 6]) =\n"


def written(folder: Path, **scripts: str) -> list[str]:
    paths = []
    for name, text in scripts.items():
        (folder / f"{name}.pkt").write_text(text)
        paths.append(str(folder / f"{name}.pkt"))
    return paths


def test_scripts_in_the_language_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pkt", "check", *written(tmp_path, a=GOOD, b=LOOSE)]) == 0
    assert capsys.readouterr() == ("2 scripts, 0 not valid\n", "")


def test_each_script_that_is_not_is_shown_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good, worse = written(tmp_path, bad=BAD, good=GOOD, worse="\x1b[2J")
    assert main(["pkt", "check", bad, good, worse, "--json", str(tmp_path / "o")]) == 1
    out, err = capsys.readouterr()
    assert out == "3 scripts, 2 not valid\n"
    assert f"{bad}:1:18: the script ends too early: expected" in err
    assert "\x1b" not in err
    found = json.loads((tmp_path / "o").read_text())
    assert found["summary"] == {"scripts": 3, "wrong": 2}
    assert [(each["script"], each["line"], each["column"]) for each in found["scripts"]] == [
        (bad, 1, 18),
        (good, None, None),
        (worse, 1, 1),
    ]
    assert found["scripts"][1]["events"] == 1


@pytest.mark.parametrize(
    "event",
    [
        "+0 expect none for 1s",
        "+0 > R 1:1(0) or > R. 1:1(0) ack 1",
        "+0 < S 0:0(0) win 1 with checksum bad",
        "+0 < S 0:0(0) win 1 <kind 34 len 3 hex 61>",
        "+0 > S 0:0(0) <FO *=$C>\n+0 < S 0:0(0) win 1 <FO $C>",
        "+0 > S 0:0(0) <TS val 1 ecr *>",
        "+0 > S 0:0(0) <mss *> or > S 0:0(0)",
        "+0 accept4(3, ..., ..., 0) = 4",
        "+0 close(3) = -1 EBADF",
        "+0 > S 0:0(0) <mss 1460,nop>",
        "+0 > S 0:0(0) <FO 010203>",
        "+0 > S 0:0(0) <FO *=$C>\n+0 < S 0:0(0) win 1 <FO $C.cut(4)>",
        "+0 close(3) = ...",
        "+0 fcntl(3, F_GETFL) = O_RDWR",
        "+0 fcntl(3, F_GETFL) = O_RDWR|O_NONBLOCK",
    ],
)
def test_additions_are_refused_where_packetdrill_itself_must_do(
    event: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = written(tmp_path, a=f"// a\n  {event}\n")
    assert main(["pkt", "check", *scripts]) == 0
    assert main(["pkt", "check", "--portable", *scripts]) == 1
    assert ":2:3: packetdrill does not support" in capsys.readouterr().err


def test_lines_that_end_as_windows_has_them_are_not_portable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "a.pkt"
    script.write_bytes(b"0 pipe([5, 6]) = 0\r\n")
    assert main(["pkt", "check", str(script)]) == 0
    assert main(["pkt", "check", "--portable", str(script)]) == 1
    assert "CR LF" in capsys.readouterr().err


@pytest.mark.parametrize(
    "script",
    [
        "--mss=1000\n0 pipe([5, 6]) = 0\n",
        "0 setsockopt(3, IPPROTO_TCP, TCP_KEEPINIT, [10], 4) = 0\n",
        "0 > F  . 1:1(0) ack 1\n",
    ],
)
def test_what_other_systems_scripts_have_is_in_the_language(script: str, tmp_path: Path) -> None:
    assert main(["pkt", "check", *written(tmp_path, a=script)]) == 0


def test_published_language_is_portable(tmp_path: Path) -> None:
    script = "`a`\n+0 close(3) = RESULT\n+0 > S 0:0(0) <...>\n"
    script += "* < S. 0:0(0) ack 1 win 5 <mss MSS,TS val 1 ecr 2,FO>\n"
    assert main(["pkt", "check", "--portable", *written(tmp_path, a=script)]) == 0


def test_scripts_are_written_in_canonical_form(tmp_path: Path) -> None:
    loose, bad, good = written(tmp_path, loose=LOOSE, bad=BAD, good=GOOD)
    assert main(["pkt", "fmt", loose, bad, good]) == 1
    assert [Path(each).read_text() for each in (loose, bad, good)] == [GOOD, BAD, GOOD]


def test_fmt_check_changes_nothing_and_shows_what_would(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loose, good = written(tmp_path, loose=LOOSE, good=GOOD)
    assert main(["pkt", "fmt", "--check", good]) == 0
    assert capsys.readouterr().out == ""
    assert main(["pkt", "fmt", "--check", loose, good]) == 1
    assert "-+0 pipe([5, 6])=0\n+    +0 pipe([5, 6]) = 0\n" in capsys.readouterr().out
    assert Path(loose).read_text() == LOOSE


@pytest.mark.parametrize("command", ["check", "fmt"])
def test_what_cannot_be_read_is_no_verdict(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pkt", command, str(tmp_path / "absent.pkt")]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_a_script_that_is_not_utf_8_ends_no_batch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    latin, loose = written(tmp_path, a="", b=LOOSE)
    before = b"// caf\xe9\n+0 pipe([5, 6])=0\n"
    Path(latin).write_bytes(before)
    assert main(["pkt", "check", latin, loose]) == 0
    assert capsys.readouterr().out == "2 scripts, 0 not valid\n"
    assert main(["pkt", "fmt", latin, loose]) == 2
    assert f"cannot read {latin}: byte 6 is not UTF-8" in capsys.readouterr().err
    assert Path(latin).read_bytes() == before
    assert Path(loose).read_text() == GOOD


def test_a_directory_stands_for_its_scripts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pkt", "check", str(tmp_path)]) == 2
    assert "no script in" in capsys.readouterr().err
    written(tmp_path, a=GOOD, b=GOOD)
    assert main(["pkt", "check", str(tmp_path)]) == 0
    assert main(["pkt", "fmt", "--check", str(tmp_path)]) == 0


@pytest.mark.parametrize("option", ["--nosuchoption=5", "--ip_version=ipv5", "--mss=0"])
def test_options_that_no_run_would_take(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pkt", "check", *written(tmp_path, a=f"{option}\n{GOOD}")]) == 1
    assert "a.pkt:1:1: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("// nothing\n", "packetdrill refuses a script without an event"),
        ("+.1 pipe([5, 6]) = 0\n", "packetdrill needs the first event at time 0"),
    ],
)
def test_what_packetdrill_does_not_begin(
    text: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = written(tmp_path, a=text)
    assert main(["pkt", "check", *script]) == 0
    assert main(["pkt", "check", "--portable", *script]) == 1
    assert problem in capsys.readouterr().err

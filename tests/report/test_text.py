"""The text report, in a file, a pipe and a terminal."""

from __future__ import annotations

import dataclasses
import io
import re

import pytest
from rich.console import Console

from scapy_tfo import option as opt
from scapy_tfo.report.text import print_summary, summary
from scapy_tfo.runner.session import Request
from scapy_tfo.runner.session import run as judged
from scapy_tfo.segment import SYN
from scapy_tfo.spec import Requirement
from scapy_tfo.suite.result import Run, Verdict

from .sample import REFUSED, REFUSED_DRAWN, captured, outbound, result

Catalogue = dict[str, Requirement]

FAILED = f"""\
FAILED (2)
  1 ACC-2-accept [ipv4]  FAIL, step
    Title of ACC-2-accept
    ACC-2 (step; RFC 7413 section 3, RFC 7413 section 4.2.2): A valid cookie lets the SYN's data in
    at once.
    ACC-99: not in the catalogue
    why: the SYN-ACK acknowledges the SYN only
    expected                                       | actual
    SYN-ACK with ack 21: SYN and 20 bytes          | SYN-ACK with ack 1
    flow 192.0.2.1:40000>192.0.2.7:80, packets 1, 2, 0.250 s, 2 attempts

{REFUSED_DRAWN}

  2 ACC-9-once [ipv4]  FIXED, MUST
"""

ENDING = """\
INCONCLUSIVE (1): packets lost, silence proves nothing, or another cause
  no answer
      LIM-1-full [ipv4]

UNSUPPORTED (1): this target does not do it, or cannot be asked: no fault
  no fresh cookie
      SRV-5-fresh [ipv4]

SKIPPED (2): what it takes to run them
  give --source twice
      SRV-1-bound [ipv4, ipv6]

OBSERVED: what this target does where the sources leave it open
  DUP-3-replay
      replay: delivered again  (ipv4, ipv6)

NOTES
  control handshake: 0.3 ms

1 fail, 1 fixed, 1 warning, 1 known, 1 inconclusive, 1 unsupported, 2 skipped, 3 pass, 1 retried \
- exit 1: a requirement failed
"""


def printed(run: Run, catalogue: Catalogue | None, *, width: int = 100, **console: object) -> str:
    file = io.StringIO()
    print_summary(run, Console(file=file, width=width, **console), catalogue=catalogue)
    return file.getvalue()


def test_header_and_table(run: Run, catalogue: Catalogue) -> None:
    lines = summary(run, catalogue=catalogue).split("\n")
    assert lines[0] == "TCP Fast Open conformance of 192.0.2.7:80"
    assert lines[1] == "scapy-tfo 0.1.0, 2026-01-02 03:04:05 UTC, 4.50 s, 11 cases, 7 packets"
    table = {line.split()[0]: line.split()[1:] for line in lines[3:10]}
    assert table["section"][:5] == ["pass", "fail", "inconclusive", "unsupported", "skipped"]
    assert table["SRV"] == [".", ".", ".", "1", "2", "1", ".", "."]
    assert table["all"] == ["3", "1", "1", "1", "2", "1", "1", "1"]


def test_a_failure_puts_everything_side_by_side(run: Run, catalogue: Catalogue) -> None:
    assert FAILED in summary(run, catalogue=catalogue)


def test_warnings_and_known_failures_are_told_apart(run: Run, catalogue: Catalogue) -> None:
    text = summary(run, catalogue=catalogue)
    assert "WARNINGS: these fail a run only with --strict (1)\n  1 SRV-2-bits [ipv4]" in text
    assert "KNOWN FAILURES: listed, so they do not fail the run (1)\n  1 ACC-5-empty" in text
    strict = summary(run, strict=True, catalogue=catalogue)
    assert "WARNINGS" not in strict
    assert "FAILED (3)" in strict


def test_the_rest_is_grouped_by_reason(run: Run, catalogue: Catalogue) -> None:
    assert summary(run, catalogue=catalogue).endswith(ENDING)


def test_lines_fit_a_hundred_columns(run: Run, catalogue: Catalogue) -> None:
    wordy = result("X-1", Verdict.FAIL, reason="word " * 60, expected="e" * 300, actual="a b " * 90)
    text = summary(dataclasses.replace(run, results=(wordy,)), catalogue=catalogue)
    assert max(map(len, text.split("\n"))) <= 100


def test_the_real_catalogue_is_read_only_where_something_failed(run: Run, monkeypatch) -> None:
    monkeypatch.setenv("SCAPY_TFO_SPECS", "/nonexistent")
    passed = dataclasses.replace(run, results=run.results[:1])
    assert summary(passed).endswith("1 pass - exit 0: no requirement failed\n")


TABLE = re.compile(r"\n(section .*?\nall [^\n]*\n)", re.DOTALL)
OBSERVED = re.compile(r"OBSERVED: .*?\n\n", re.DOTALL)


def test_a_pipe_gets_what_the_file_gets_but_for_the_facts(run: Run, catalogue: Catalogue) -> None:
    in_short = printed(run, catalogue)
    assert "OBSERVED: 1 fact, listed in report.txt\n" in in_short
    whole = summary(run, catalogue=catalogue)
    (table,) = TABLE.findall(whole)
    assert TABLE.findall(in_short) == [table]
    assert OBSERVED.sub("", TABLE.sub("", in_short)) == OBSERVED.sub("", TABLE.sub("", whole))


def test_the_table_is_what_a_terminal_shows_last(run: Run, catalogue: Catalogue) -> None:
    above, table, verdict = printed(run, catalogue).rstrip().rsplit("\n\n", 2)
    assert above.endswith("NOTES\n  control handshake: 0.3 ms")
    assert table.startswith("section ")
    assert table.split("\n")[-1].startswith("all ")
    assert verdict.startswith("1 fail,")


def test_everything_but_commands_fits_a_terminal_of_80_columns(run: Run) -> None:
    done = simulated("sim:accepts-any-cookie", only=["ACC-3"])
    long = outbound(SYN, options=opt.push_options([opt.fast_open(bytes(16))] * 2), payload=b"x")
    first, *others = done.results
    wide = dataclasses.replace(first, packets=(1,), case=f"ACC-3.{'word-' * 11}end")
    for each in (
        run,
        done,
        dataclasses.replace(run, results=(wide, *others), packets=captured(long)),
    ):
        lines = printed(each, None, width=80).split("\n")
        assert [line for line in lines if len(line) > 80 and "tshark" not in line] == []


def simulated(target: str, **asked: object) -> Run:
    return judged(Request(target=target, **asked))


def test_a_terminal_gets_the_same_in_colour(
    run: Run, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rich takes no other width than 80 from a dumb one.
    monkeypatch.setenv("TERM", "xterm")
    coloured = printed(run, catalogue, force_terminal=True, color_system="standard")
    assert "\x1b[1;31mACC-2-accept [ipv4]" in coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert plain == printed(run, catalogue)


def test_long_lists_are_cut_where_files_have_them(run: Run, catalogue: Catalogue) -> None:
    many = tuple(result(f"X-{n}", Verdict.SKIPPED, reason="no time") for n in range(30))
    listed = dataclasses.replace(run, results=many)
    assert "and 27 more" in printed(listed, catalogue)
    assert "X-29" in summary(listed, catalogue=catalogue)


def test_a_terminal_is_not_flooded(run: Run, catalogue: Catalogue) -> None:
    many = tuple(result(f"X-{n}", Verdict.FAIL, packets=(1, 2)) for n in range(30))
    flood = dataclasses.replace(run, results=many, packets=captured(*REFUSED))
    assert printed(flood, catalogue).count("no.") == 12
    assert "\n    X-29 [ipv4]\n" in printed(flood, catalogue)
    assert summary(flood, catalogue=catalogue).count("no.") == 30


def test_what_the_encoding_lacks_is_escaped(run: Run, catalogue: Catalogue) -> None:
    class Ascii(io.StringIO):
        encoding = "ascii"

    file = Ascii()
    odd = dataclasses.replace(run, target="caf\u00e9", results=())
    print_summary(odd, Console(file=file, width=100), catalogue=catalogue)
    assert "conformance of caf\\xe9\n" in file.getvalue()


def test_hostile_strings_are_shown_not_obeyed(hostile_run: Run, catalogue: Catalogue) -> None:
    text = summary(hostile_run, catalogue=catalogue)
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "a\\x00b\\x1b[31mc\\u202ed" in text

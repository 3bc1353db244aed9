"""`scapy-tfo badge`: draws a badge of a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from scapy_tfo.commands.arguments import described
from scapy_tfo.errors import SetupError

SUMMARY = "draw a badge (SVG) of a run"

_BADGE = """Draw a badge of a run: an SVG image of one line.

FILE is a results.json file. The badge is green and says how many cases passed, red and says how
many failed, or grey: the run judged nothing, or did not reach its end.

exit status: 0 drawn, whatever it says, 2 wrong usage, or a file that cannot be read or written"""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`badge`."""
    parser = described(commands, "badge", SUMMARY, _BADGE)
    parser.set_defaults(command=_badge)
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="results.json of a run, or its directory")
    add("--out", type=Path, metavar="SVG", help="write it here (default: standard output)")


def _badge(chosen: argparse.Namespace) -> int:
    from scapy_tfo.report.exchange.badge import badge
    from scapy_tfo.report.runs.reading import read_run

    found = read_run(chosen.file)
    drawn = badge(found.run, strict=found.strict)
    if chosen.out is None:
        print(drawn, end="")
        return 0
    try:
        chosen.out.write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {chosen.out}: {error.strerror}") from error
    return 0

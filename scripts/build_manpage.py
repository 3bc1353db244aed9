"""Writes docs/scapy-tfo.1, the man page, from the parsers of the command line.

argparse-manpage of the extra `test` makes it. This script then gives it a head without a date,
so that it changes only with the commands, and keeps the lines of descriptions as they are written.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "scapy-tfo.1"
WIDTH = 72
_HEAD = '.TH SCAPY\\-TFO "1" "" "scapy\\-tfo" "User Commands"'
_LISTS = ("arguments:", "options:", "positional arguments:")
_TITLES = {"POSITIONAL ARGUMENTS": "COMMANDS"}


def page() -> str:
    """The man page."""
    # argparse breaks the lines of a usage by it.
    os.environ["COLUMNS"] = str(WIDTH)
    from argparse_manpage.manpage import Manpage

    from scapy_tfo.cli import parser_of_all

    made = Manpage(
        parser_of_all(),
        format="single-commands-section",
        _data={
            "prog": "scapy-tfo",
            "project_name": "scapy-tfo",
            "description": "conformance suite for TCP Fast Open",
            "manual_section": "1",
        },
    )
    return "\n".join(_laid_out(str(made).splitlines())) + "\n"


def _laid_out(lines: list[str]) -> list[str]:
    out: list[str] = []
    is_kept = False
    for line in lines:
        if is_kept and (line.strip() in _LISTS or line.startswith((".SS", ".SH"))):
            out += [".in", ".fi"]
            is_kept = False
        if line.startswith(".TH"):
            line = _HEAD
        elif line.startswith("'"):
            line = f"\\&{line}"  # or troff would take it for a request
        out.append(_TITLES.get(line.strip(), line))
        if line.startswith(".SS"):
            out += [".nf", ".in 3"]
            is_kept = True
    if is_kept:
        out += [".in", ".fi"]
    return out


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`scapy-tfo diff`: says what changed between two runs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from scapy_tfo.commands.arguments import described
from scapy_tfo.errors import SetupError

SUMMARY = "list the changes between two runs, by requirement and case"

_DIFF = """List the changes between two runs, by requirement and case.

OLD and NEW are results.json files of 'scapy-tfo test', or of 'client' and 'pkt run' with --json; or
directories of runs that contain such a file. A new failure is a case that fails the new run and did
not fail in the old one, where it may have passed, had no verdict, or been absent. A failed SHOULD
is a warning; it counts as a failure with --strict, or if the new run had --strict. A known failure
is a warning, too.

exit status:
  0  there is no new failure
  1  there is a new failure
  2  wrong usage, or a file that cannot be read
  3  there is no new failure, but the new run did not reach its end, or the two runs
     have no case in common"""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`diff`."""
    parser = described(commands, "diff", SUMMARY, _DIFF)
    parser.set_defaults(command=_diff)
    add = parser.add_argument
    add("old", type=Path, metavar="OLD", help="results.json of the earlier run, or its directory")
    add("new", type=Path, metavar="NEW", help="results.json of the later run, or its directory")
    add("--strict", action="store_true", help="a failed SHOULD counts as a failure")
    add("--json", type=Path, metavar="FILE", help="also write the changes as JSON")


def _diff(chosen: argparse.Namespace) -> int:
    from scapy_tfo.report.outline import load_requirements
    from scapy_tfo.report.output import check_file
    from scapy_tfo.report.runs.difference import Difference, lines, to_json
    from scapy_tfo.report.runs.reading import read_run

    if chosen.json is not None:
        check_file(chosen.json)
    found = Difference(read_run(chosen.old), read_run(chosen.new), strict=chosen.strict)
    titles = {name: each.statement for name, each in load_requirements().items()}
    print("\n".join(lines(found, titles)))
    if chosen.json is not None:
        try:
            chosen.json.write_text(json.dumps(to_json(found), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise SetupError(f"cannot write {chosen.json}: {error.strerror}") from error
    return found.exit_status

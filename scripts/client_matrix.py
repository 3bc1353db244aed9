"""Finds which client case catches which wrong client, without and with middleboxes on the path.

`python scripts/client_matrix.py [--write FILE] [--boxes FILE]
[--jobs N]` writes the two tables. Exits with 1 if a requirement is unchecked, a case catches
nothing, or a mutant survives without a middlebox.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from scapy_tfo.commands.matrix import show_matrix
from scapy_tfo.report.tables.boxes import boxes_markdown
from scapy_tfo.trust.client_boxes import look_behind
from scapy_tfo.trust.client_matrix import CLIENTS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the matrix there")
    parser.add_argument("--boxes", type=Path, metavar="FILE", help="write the one with boxes there")
    parser.add_argument("--kills", type=Path, metavar="FILE", help="write each kill there")
    parser.add_argument("--jobs", type=int, metavar="N", help="mutants at a time")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        kills = chosen.kills or Path(directory) / "kills.json"
        status = show_matrix(
            CLIENTS,
            title="The matrix of clients: requirements, cases, mutants",
            command="make client-matrix",
            write=chosen.write,
            kills=kills,
            processes=chosen.jobs,
        )
        if chosen.boxes is not None:
            _look_behind(json.loads(kills.read_text(encoding="utf-8")), chosen.boxes, chosen.jobs)
    return status


def _look_behind(kills: dict[str, list[str]], write: Path, jobs: int | None) -> None:
    def tell(box: str) -> None:
        print(f"behind {box}: done", file=sys.stderr, flush=True)

    found = look_behind(kills, processes=jobs, on_box=tell)
    write.write_text(boxes_markdown(found), encoding="utf-8")
    plain = {each.box: {"changed": each.changed, "caught": each.caught} for each in found}
    write.with_suffix(".json").write_text(json.dumps(plain, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

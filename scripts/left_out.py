"""Leaves each rule of TCP out in turn: the mutant that breaks it must pass then.

Exits with 1 if a mutant does not break its rule, or if something else tells of it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scapy_tfo.report.tables.left_out import left_out_markdown
from scapy_tfo.trust.rule_checks import tellings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page to this file")
    chosen = parser.parse_args()
    found = list(tellings())
    if chosen.write is not None:
        chosen.write.write_text(left_out_markdown(found), encoding="utf-8")
    wrong = [each for each in found if not each.is_told or each.left]
    for each in wrong:
        told = ", ".join(each.left) or "nothing"
        print(f"{each.mutant.name}: its rule {each.mutant.breaks} {each.is_told}; else {told}")
    print(f"{len(found)} mutants, {len(found) - len(wrong)} pass where their rule is left out")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

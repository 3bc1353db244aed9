"""Whether each assertion of the cases guards something: weakened, it must let a mutant pass.

`python scripts/weaken.py [--kills FILE] [--write docs/assertions.md] [--jobs N]`. Exits with 1
where an assertion guards nothing. `--kills` takes what
`scapy-tfo spec --matrix --kills FILE` found; without it the matrix is made first.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from scapy_tfo.report.assertions_table import assertions_markdown
from scapy_tfo.suite.guards import trace_kills, weigh, witnesses
from scapy_tfo.suite.matrix import Kills, hunt


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=Path, metavar="FILE", help="which case catches what")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table there")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes")
    chosen = parser.parse_args()
    began = time.perf_counter()
    if chosen.kills is None:
        kills = hunt(processes=chosen.jobs)
    else:
        read = json.loads(chosen.kills.read_text(encoding="utf-8"))
        kills = [Kills(mutant, tuple(cases)) for mutant, cases in read.items()]
    guards = weigh(trace_kills(kills, processes=chosen.jobs), processes=chosen.jobs)
    idle = [each for each in guards if each.is_idle]
    if chosen.write is not None:
        chosen.write.write_text(assertions_markdown(guards), encoding="utf-8")
        text = json.dumps(witnesses(guards), indent=0) + "\n"
        chosen.write.with_suffix(".json").write_text(text, encoding="utf-8")
    for each in idle:
        weakening = each.weakening
        print(f"guards nothing: {weakening.where}, {weakening.how}: {weakening.code}")
    print(
        f"{len(guards)} weakened assertions, {sum(bool(each.case) for each in guards)} let a "
        f"mutant pass, {len(idle)} guard nothing ({time.perf_counter() - began:.0f} s)"
    )
    return int(bool(idle))


if __name__ == "__main__":
    sys.exit(main())

"""Runs all cases at the reference and at Linux, and writes how often each rule of TCP applied.

Exits with 1 if a rule is broken.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scapy_tfo import tcp_rules
from scapy_tfo.report.tables.watched import watched_markdown
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.session import Request, run

TARGETS = ("sim:reference", "lab:linux")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", default=list(TARGETS), metavar="TARGET")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page to this file")
    chosen = parser.parse_args()
    counts = {}
    broken = []
    for target in chosen.targets:
        done = run(Request(target=target, options=Options(slow=True, capture=False)))
        counts[target] = done.watched
        broken += [f"{target}: {each}" for each in done.breaches]
        print(f"{target}: {len(done.watched)} rules exercised, {len(done.breaches)} breaches")
    print(*broken, sep="\n")
    if chosen.write is not None:
        page = watched_markdown(tcp_rules.load(), counts)
        chosen.write.write_text(page, encoding="utf-8")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())

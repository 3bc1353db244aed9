"""Runs every variant and every row against all cases and, where it is a server, the fuzzer and
explored schedules: none may be blamed.

Writes docs/generated/variants.md with --write. Exits with 1 if a case fails a requirement whose
failure fails a run, if a SHOULD is failed by a variant that gives up none, or if the fuzzer or an
exploration finds something.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from scapy_tfo.report.tables.variants import variants_markdown
from scapy_tfo.trust.legal import Trial, client_tried, every_client_name, every_name, tried

PROGRAMS = 5000
SCHEDULES = 1500


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a variant or row; default: all")
    parser.add_argument("--programs", type=int, default=PROGRAMS, metavar="N", help="to fuzz with")
    parser.add_argument(
        "--schedules", type=int, default=SCHEDULES, metavar="N", help="to explore with, twice"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table to this file")
    chosen = parser.parse_args()
    # Some are servers and clients; an unknown name is an error of `tried`.
    clients = every_client_name()
    only_clients = set(clients) - set(every_name())
    with ProcessPoolExecutor(chosen.jobs) as pool:
        run = partial(tried, programs=chosen.programs, schedules=chosen.schedules)
        names = [each for each in chosen.names or every_name() if each not in only_clients]
        servers = _shown(pool.map(run, names))
        names = [each for each in chosen.names or clients if each in clients]
        legal = _shown(pool.map(client_tried, names))
    if chosen.write is not None:
        page = variants_markdown(servers, chosen.programs, legal, schedules=chosen.schedules)
        chosen.write.write_text(page, encoding="utf-8")
    every = [*servers, *legal]
    blamed = [each.name for each in every if each.blames]
    print(f"{len(servers)} legal servers, {len(legal)} clients, {len(blamed)} of them blamed")
    return int(bool(blamed))


def _shown(trials: Iterable[Trial]) -> list[Trial]:
    """The trials, printed as they come."""
    found: list[Trial] = []
    for trial in trials:
        found.append(trial)
        print(*trial.told(), sep="\n", flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())

"""Checks that each assertion of the cases matters: when weakened, it must let a mutant pass.

`python scripts/weaken.py [--clients] [--kills FILE] [--write FILE] [--jobs N]`. Exits
with 1 if weakening an assertion lets no mutant pass. `--kills` takes the file that
`scapy-tfo spec --matrix --kills FILE` wrote; without it the matrix is made first.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from scapy_tfo.report.tables.assertions import TITLE, assertions_markdown
from scapy_tfo.shape import sentence
from scapy_tfo.trust.assertion_checks import trace_kills, weigh, witnesses
from scapy_tfo.trust.client_matrix import CLIENTS
from scapy_tfo.trust.matrix import SERVERS, Kills, hunt

CLIENT_TITLE = "The assertions of the cases for clients, and what each guards"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", action="store_true", help="check the cases for clients")
    parser.add_argument("--kills", type=Path, metavar="FILE", help="what each case catches")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table there")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes")
    chosen = parser.parse_args()
    arena = CLIENTS if chosen.clients else SERVERS
    title = CLIENT_TITLE if chosen.clients else TITLE
    began = time.perf_counter()
    if chosen.kills is None:
        kills = hunt(arena=arena, processes=chosen.jobs)
    else:
        kills = _read_kills(parser, chosen.kills)
    traced = trace_kills(kills, arena=arena, processes=chosen.jobs)
    guards = weigh(traced, arena=arena, processes=chosen.jobs)
    idle = [each for each in guards if each.is_idle]
    if chosen.write is not None:
        document = assertions_markdown(guards, source=arena.source, title=title)
        chosen.write.write_text(document, encoding="utf-8")
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


def _read_kills(parser: argparse.ArgumentParser, path: Path) -> list[Kills]:
    """What 'scapy-tfo spec --kills' has written."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        parser.error(f"cannot read {path}: {error.strerror}")
    except ValueError as error:
        parser.error(f"{path} holds no kills: {sentence(error)}")
    lists = [*read.values()] if isinstance(read, dict) else [None]
    if not all(isinstance(each, list) for each in lists):
        parser.error(f"{path} holds no kills: it is not a table of mutants, each with its cases")
    return [Kills(mutant, tuple(cases)) for mutant, cases in read.items()]


if __name__ == "__main__":
    sys.exit(main())

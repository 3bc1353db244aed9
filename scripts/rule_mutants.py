"""Shows for each rule of TCP that no rule of traffic judges what tells of a mutant that breaks it.

`python scripts/rule_mutants.py [RULE ...] [--jobs N] [--write FILE]`. `--write` keeps the proofs as
JSON and, next to it, a table; entries of rules that are not named stay as they were. Exits with 1
where nothing tells.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from scapy_tfo import tcp_rules
from scapy_tfo.report.tables.rule_mutants import rule_mutants_markdown
from scapy_tfo.trust.rule_checks import proof, untold


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rules", nargs="*", metavar="RULE", help="an id; default: all")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--write", type=Path, metavar="FILE", help="JSON; a table goes next to it")
    chosen = parser.parse_args()
    rules = tcp_rules.load()
    shown = [each.id for each in rules.values() if each.shown is not None]
    entries: dict[str, Any] = {}
    if chosen.rules and chosen.write is not None and chosen.write.exists():
        held = json.loads(chosen.write.read_text(encoding="utf-8"))
        entries = {each["rule"]: each for each in held}
    wanted = chosen.rules or shown
    missing = []
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for name, found in zip(wanted, pool.map(_proof, wanted), strict=True):
            told = "nothing tells" if found is None else found["told"]
            print(f"{name}: {rules[name].shown.mutant}: {told}", flush=True)
            if found is None:
                missing.append(name)
            else:
                entries[name] = found
    kept = [entries[each] for each in shown if each in entries]
    print(f"{len(kept)} rules have a proof, {len(untold(rules))} have none and say why")
    if chosen.write is not None:
        lines = ",\n".join(json.dumps(each) for each in kept)
        chosen.write.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        page = rule_mutants_markdown(kept, untold(rules))
        chosen.write.with_suffix(".md").write_text(page, encoding="utf-8")
    return int(bool(missing))


def _proof(name: str) -> dict[str, Any] | None:
    return proof(tcp_rules.load()[name])


if __name__ == "__main__":
    sys.exit(main())

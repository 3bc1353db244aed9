"""`scapy-tfo fuzz report STORE...`: several nights in one table."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

NAME = "report"

_DESCRIPTION = """Print a line for each campaign, in the order given: what it sent, what it was the
first to cover, and what it was the first to find.

exit status: 0 printed, 2 wrong usage, or a store that cannot be read"""

_COLUMNS = ("programs", "segments", "seconds", "covered", "new", "findings", "new")


def add_command(group: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`report`, below `fuzz`."""
    parser = group.add_parser(
        NAME,
        help="compare the campaigns of several nights",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=_report)
    parser.add_argument("stores", nargs="+", type=Path, metavar="STORE", help="a night's store")


def _report(chosen: argparse.Namespace) -> int:
    from scapy_tfo.fuzz.findings.causes import leads
    from scapy_tfo.fuzz.findings.finding import Finding, Status
    from scapy_tfo.fuzz.findings.store import Store
    from scapy_tfo.report.fuzz_report import by_weight, line_of

    covered: set[str] = set()
    found: dict[str, Finding] = {}
    print(f"{'target':<24}" + "".join(f"{each:>12}" for each in _COLUMNS))
    for path in chosen.stores:
        with closing(Store.open(path)) as store:
            totals, first, target = store.totals(), store.coverage(), store.plan.target
            covered.update(store.base())
            confirmed = [each for each in store.findings() if each.status is Status.CONFIRMED]
        new = [each for each in confirmed if each.id not in found]
        figures = (
            *(totals.programs, totals.probes, round(totals.seconds)),
            *(len(first), len(first.keys() - covered), len(confirmed), len(new)),
        )
        print(f"{target:<24}" + "".join(f"{each:>12,}" for each in figures))
        covered |= first.keys()
        found.update((each.id, each) for each in new)
    print(f"{len(covered):,} covered, {len(found)} findings in {len(chosen.stores)} campaigns")
    lead = leads(found.values())
    for each in by_weight(found.values()):
        print(line_of(each, lead=lead[each.id]))
    return 0

"""`scapy-tfo path`: what a path does to fast open, and who is to blame."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from scapy_tfo.path.verdict import Result

SUMMARY = "say what a path does to fast open, and who is to blame"

_SIMULATED = "sim:"

_DESCRIPTION = """Say what a path does to fast open.

TARGET is
  sim:BOX, sim:BOX+BOX   a path in memory with these middleboxes on it (--boxes lists them)

exit status:
  0  transparent: fast open works
  1  the path breaks something
  2  wrong usage or set-up
  3  cannot be judged: not even a plain connection opens"""


def add_path(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`path`."""
    parser = commands.add_parser(
        "path",
        help=SUMMARY,
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=_run)
    add = parser.add_argument
    add("target", nargs="?", metavar="TARGET", help="see above")
    family = parser.add_mutually_exclusive_group()
    family.add_argument("-4", "--ipv4", action="store_const", const=(4,), dest="families")
    family.add_argument("-6", "--ipv6", action="store_const", const=(6,), dest="families")
    add("--json", type=Path, metavar="FILE", help="also write the results as JSON")
    add("--seed", type=int, default=0, metavar="N", help="of a simulated path")
    add("--boxes", action="store_true", help="print the middleboxes there are")


def _run(chosen: argparse.Namespace) -> int:
    if chosen.boxes:
        _show_boxes()
        return 0
    if chosen.target is None:
        raise SetupError("no target: give sim:BOX ('scapy-tfo path --help')")
    if not chosen.target.startswith(_SIMULATED):
        raise SetupError(f"no such target: '{chosen.target}'; give sim:BOX")
    results = _simulated(chosen.target, chosen.families or (4, 6), chosen.seed)
    return _report(chosen.target, results, chosen.json)


def _simulated(target: str, families: tuple[int, ...], seed: int) -> dict[str, Result]:
    from scapy_tfo.lab.path import Impairment
    from scapy_tfo.middleboxes.registry import boxes_named
    from scapy_tfo.path.simulated import observe_simulated
    from scapy_tfo.path.verdict import judge

    boxes = boxes_named(target.removeprefix(_SIMULATED))
    slow = Impairment(delay=0.02)
    return {
        f"IPv{family}": judge(observe_simulated(boxes, family, seed=seed, impairment=slow))
        for family in families
    }


def _report(target: str, results: dict[str, Result], to: Path | None) -> int:
    from scapy_tfo.path.text import as_json, lines
    from scapy_tfo.path.verdict import Verdict

    for name, result in results.items():
        print("\n".join(lines(f"{target}, {name}", result)))
    if to is not None:
        values: dict[str, Any] = {name: as_json(each) for name, each in results.items()}
        try:
            to.write_text(json.dumps({"target": target, "results": values}, indent=1) + "\n")
        except OSError as error:
            raise SetupError(f"cannot write {to}: {error.strerror}") from error
    verdicts = {each.verdict for each in results.values()}
    if verdicts - {Verdict.TRANSPARENT, Verdict.UNKNOWN}:
        return 1
    return 3 if Verdict.UNKNOWN in verdicts else 0


def _show_boxes() -> None:
    from scapy_tfo.middleboxes.registry import BOXES

    width = max(len(name) for name in BOXES)
    for name, box in BOXES.items():
        print(f"{name:<{width}}  {box.summary}")

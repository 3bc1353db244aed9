"""`scapy-tfo path`: report what a network path does to fast open, and who is to blame."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scapy_tfo.commands.arguments import add_families, described, limit, port
from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from scapy_tfo.path.evidence import Result

SUMMARY = "report what a path does to fast open, and who is to blame"

PORT = 7413
"""Of the far end; its mirror and its agent have the next two."""

MOST_REQUESTS = 400

_SIMULATED = "sim:"

_DESCRIPTION = """Report what a network path does to fast open, and who is to blame.

With both ends, as root:
  scapy-tfo path serve       on the far host: run a server that is known to be
                             right, and an agent that reports which packets
                             arrived there (on TCP ports 7413 to 7415)
  scapy-tfo path HOST        on this host: judge the path between the two

With this end only:
  scapy-tfo path HOST:PORT   judge the path to any fast open server, as far as
                             one end can tell, and say what it cannot (as root)
  scapy-tfo path sim:BOX     show the result for a simulated path with this
                             middlebox, with several (sim:BOX+BOX), or to a
                             server farm (sim:FARM); --boxes lists them

If several servers share an address, the result says how many different keys
they hold, and whether they change keys in step; --connections 100 finds rare
keys.

exit status:
  0  transparent: fast open works
  1  the path breaks something
  2  wrong usage or set-up
  3  the path could not be judged"""


def add_path(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`path`."""
    parser = described(commands, "path", SUMMARY, _DESCRIPTION)
    parser.set_defaults(command=_run)
    add = parser.add_argument
    add("target", nargs="?", metavar="TARGET", help="HOST, HOST:PORT, sim:BOX, or serve")
    add_families(parser)
    add("--port", type=port, metavar="N", help=f"first of the agent's ports (default: {PORT})")
    add("--json", type=Path, metavar="FILE", help="also write the results as JSON")
    add("--seed", type=int, metavar="N", help="random seed of a simulated path (default: 0)")
    add("--connections", type=limit, metavar="N", help="cookies to request (default: 16)")
    add("--boxes", action="store_true", help="print the middleboxes and server farms")


def _run(chosen: argparse.Namespace) -> int:
    target = chosen.target
    if chosen.boxes:
        _show_boxes()
        return 0
    if target is None:
        raise SetupError("no target: give HOST, HOST:PORT or sim:BOX ('scapy-tfo path --help')")
    simulated = target.startswith(_SIMULATED)
    if chosen.seed is not None and not simulated:
        raise SetupError("--seed works only with sim:BOX: a run on a real path cannot be repeated")
    if chosen.port is not None and simulated:
        raise SetupError("--port works only with HOST and serve: a simulated path has no agent")
    if target == "serve":
        if chosen.json is not None or chosen.connections is not None or chosen.families:
            raise SetupError("path serve takes only --port: give other options on the other host")
        from scapy_tfo.path.serve import serve

        return serve(_first_port(chosen.port or PORT))
    from scapy_tfo.runner.shared_keys import REQUESTS

    requests = REQUESTS if chosen.connections is None else chosen.connections
    if not 0 < requests <= MOST_REQUESTS:
        raise SetupError(f"--connections {requests}: give 1 to {MOST_REQUESTS}")
    if chosen.json is not None:
        from scapy_tfo.report.output import check_file

        check_file(chosen.json)
    if simulated:
        results = _simulated(target, chosen.families or (4, 6), chosen.seed or 0, requests)
    else:
        results = _live(target, chosen.families, chosen.port, requests)
    return _report(target, results, chosen.json)


def _first_port(number: int) -> int:
    if number > 65533:
        raise SetupError(f"--port {number} is too high: the next two ports are needed, too")
    return number


def _live(
    target: str, families: tuple[int, ...] | None, agent: int | None, requests: int
) -> dict[str, Result]:
    import asyncio

    from scapy_tfo.address import Address
    from scapy_tfo.errors import TargetError
    from scapy_tfo.path.live import observe_live
    from scapy_tfo.path.verdict import judge
    from scapy_tfo.targets.endpoint import parse_endpoint, resolve

    host, given = parse_endpoint(target, default=0)
    if given and agent is not None:
        raise SetupError("--port is the agent's port: give HOST with it, or HOST:PORT without it")
    results: dict[str, Result] = {}
    first = given or _first_port(agent or PORT)

    async def one(address: Address) -> Result:
        return judge(await observe_live(address, first, agent=not given, requests=requests))

    reasons: list[TargetError] = []
    for family, address in sorted(resolve(host, families).items()):
        try:
            results[f"IPv{family}"] = asyncio.run(one(address))
        except TargetError as error:
            reasons.append(error)
    if not results:
        raise reasons[0]
    return results


def _simulated(
    target: str, families: tuple[int, ...], seed: int, requests: int
) -> dict[str, Result]:
    from scapy_tfo.lab.links.impairment import Impairment
    from scapy_tfo.middleboxes.registry import boxes_named
    from scapy_tfo.path.farm import FARMS
    from scapy_tfo.path.simulated import observe_simulated
    from scapy_tfo.path.verdict import judge

    name = target.removeprefix(_SIMULATED)
    farm = FARMS.get(name)
    boxes = boxes_named(name) if farm is None else ()
    slow = Impairment(delay=0.02)
    return {
        f"IPv{family}": judge(
            observe_simulated(
                boxes, family, seed=seed, impairment=slow, farm=farm, requests=requests
            )
        )
        for family in families
    }


def _report(target: str, results: dict[str, Result], to: Path | None) -> int:
    from scapy_tfo.path.evidence import Verdict
    from scapy_tfo.path.text import lines

    try:
        for name, result in results.items():
            print("\n".join(lines(f"{target}, {name}", result)))
    finally:
        # Also where nobody reads what is told.
        if to is not None:
            _write(target, results, to)
    verdicts = {each.verdict for each in results.values()}
    if verdicts - {Verdict.TRANSPARENT, Verdict.UNKNOWN}:
        return 1
    return 3 if Verdict.UNKNOWN in verdicts else 0


def _write(target: str, results: dict[str, Result], to: Path) -> None:
    from scapy_tfo.path.text import as_json

    values: dict[str, Any] = {name: as_json(each) for name, each in results.items()}
    try:
        to.write_text(json.dumps({"target": target, "results": values}, indent=1) + "\n")
    except OSError as error:
        raise SetupError(f"cannot write {to}: {error.strerror}") from error


def _show_boxes() -> None:
    from scapy_tfo.middleboxes.registry import BOXES
    from scapy_tfo.path.farm import FARMS

    summaries = {name: box.summary for name, box in BOXES.items()}
    summaries |= {name: farm.summary for name, farm in FARMS.items()}
    width = max(map(len, summaries))
    for name, summary in summaries.items():
        print(f"{name:<{width}}  {summary}")

"""Measures the cost of the Wireshark plugin against tshark without it, on one capture in one run.

The capture is made first: interleaved connections of ten packets each, of which some use Fast
Open, in a known mix of outcomes, over IPv4 and IPv6; the plugin's table must show that mix
exactly. Ten in a hundred use Fast Open unless --share says otherwise. That is an assumption about
captures in which fast open is the exception, not a measurement; --share 50 and --share 80 are
captures in which somebody tries it out, and cost more. Then tshark reads the capture four ways, two
at a time:

    text output with the plugin, and with a Lua post-dissector that does nothing;
    `-q -z tfo,outcome` with the plugin, and `-q -z io,stat,0` without any.

The measures are CPU time and maximum resident memory; each ratio is the median over the rounds. The
two commands of a ratio run at the same time on the same CPU, so that other work on the machine
slows both equally: one after the other, their times differ by more than the limits allow.

    python bench/dissector.py [--connections N] [--share N] [--rounds N] [--json] [--check]
                              [--floor] [--tshark PROGRAM]

--floor adds two tables in Lua of nothing, held against io,stat likewise: of a post-dissector that
does nothing, and of one that takes no more than each packet's addresses, ports and flags and looks
for its connection. Whatever is above the second is what the plugin makes of the packets.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from known_mix import PACKETS, SHARE, expected, read_table, write_capture

PLUGIN = Path(__file__).resolve().parent.parent / "dissector" / "tfo.lua"
EMPTY = """
local empty = Proto("emptyone", "A post-dissector that does nothing")
function empty.dissector() end
register_postdissector(empty)
"""

EMPTY_TAP = """
register_stat_cmd_arg("emptyone", function()
    local tap = Listener.new("frame")
    function tap.draw() end
end)
"""
"""A table of nothing, besides EMPTY: what Lua costs, whatever a plugin does with the packets."""

LOOK = (
    """
local look = Proto("lookone", "A post-dissector that looks for a connection")
local raw, known = nil, {}
function look.dissector(tvb)
    raw = raw or tvb.raw
    local is_ipv4 = raw(tvb, 14, 1) == "E"
    if raw(tvb, is_ipv4 and 23 or 20, 1) ~= "\\6" then
        return
    end
    local header = raw(tvb, is_ipv4 and 46 or 66, 2)
    local key = is_ipv4 and raw(tvb, 26, 12) or raw(tvb, 22, 36)
    return known[key], header
end
register_postdissector(look)
"""
    + EMPTY_TAP
)
"""The same of one look at each packet on Ethernet, without which none can know its connection."""

LIMITS = {"text": 1.3, "text memory": 1.3, "table": 1.5, "table memory": 1.3}
"""Ratios that must not be exceeded."""

PAIRS = ("text", "text, empty"), ("table", "table, io")
"""The plugin's way, and that which it is held against."""

FLOORS = ("floor", "floor, io"), ("look", "look, io")
"""The same of plugins that do nothing, and next to nothing."""


class Cost(NamedTuple):
    """seconds: of CPU. memory: most that was resident, in MiB."""

    seconds: float
    memory: float


def run_together(commands: list[list[str]], outputs: list[Path]) -> list[Cost]:
    """Run programs at the same time on one CPU to their ends. Raises SystemExit where one fails."""
    processes = []
    cpu = max(os.sched_getaffinity(0))
    for command, output in zip(commands, outputs, strict=True):
        with output.open("wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.DEVNULL)
        os.sched_setaffinity(process.pid, {cpu})
        processes.append(process)
    costs = []
    for process, command in zip(processes, commands, strict=True):
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}")
        costs.append(Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
    return costs


def ways_to_read(tshark: str, capture: Path, place: Path) -> dict[str, list[str]]:
    """The commands of the pairs; place: where the plugins are written."""
    empty, look = place / "empty.lua", place / "look.lua"
    empty.write_text(EMPTY + EMPTY_TAP)
    look.write_text(LOOK)
    with_plugin, with_empty, with_look = (
        [tshark, "-n", "-r", str(capture), "-X", f"lua_script:{each}"]
        for each in (PLUGIN, empty, look)
    )
    io = [tshark, "-n", "-r", str(capture), "-q", "-z", "io,stat,0"]
    return {
        "text": with_plugin,
        "text, empty": with_empty,
        "table": [*with_plugin, "-q", "-z", "tfo,outcome"],
        "floor": [*with_empty, "-q", "-z", "emptyone"],
        "look": [*with_look, "-q", "-z", "emptyone"],
        **dict.fromkeys(("table, io", "floor, io", "look, io"), io),
    }


def measure(
    tshark: str, connections: int, rounds: int, share: int = SHARE, *, floor: bool = False
) -> dict[str, Any]:
    """The ratios, what they are of, and where the table differs from the mix. floor: also of
    tables of nothing."""
    wanted_pairs = (*PAIRS, *FLOORS) if floor else PAIRS
    with tempfile.TemporaryDirectory() as directory:
        capture, table = Path(directory, "mix.pcap"), Path(directory, "out")
        write_capture(capture, connections, share)
        ways = ways_to_read(tshark, capture, Path(directory))
        costs: dict[str, list[Cost]] = {name: [] for name in ways}
        wrong: set[str] = set()
        for _ in range(rounds):
            for pair in wanted_pairs:
                sinks = [table if name == "table" else Path(os.devnull) for name in pair]
                found = run_together([ways[name] for name in pair], sinks)
                for name, cost in zip(pair, found, strict=True):
                    costs[name].append(cost)
            rows, wanted = read_table(table.read_text()), expected(connections, share)
            wrong |= {
                f"{name}: {rows.get(name)} for {wanted.get(name)}"
                for name in rows.keys() | wanted.keys()
                if rows.get(name) != wanted.get(name)
            }

    def ratio(ours: str, theirs: str, what: int) -> float:
        pairs = zip(costs[ours], costs[theirs], strict=True)
        return round(statistics.median(mine[what] / other[what] for mine, other in pairs), 2)

    ratios = {}
    for ours, theirs in wanted_pairs:
        ratios[ours] = ratio(ours, theirs, 0)
        ratios[f"{ours} memory"] = ratio(ours, theirs, 1)
    return {
        "connections": connections,
        "share": share,
        "packets": connections * PACKETS,
        "rounds": rounds,
        "costs": {
            name: [round(statistics.median(each), 2) for each in zip(*values, strict=True)]
            for name, values in costs.items()
            if values
        },
        "ratios": ratios,
        "wrong": sorted(wrong),
    }


def main() -> int:
    """Print the figures; 1 if the table is wrong, or with --check a ratio is over its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--connections", type=int, default=100_000, help="connections of ten packets (100000)"
    )
    parser.add_argument(
        "--share", type=int, default=SHARE, help=f"percent of them with fast open ({SHARE})"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each way (3)")
    parser.add_argument(
        "--floor", action="store_true", help="also measure two tables in Lua of nothing"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--check", action="store_true", help="fail if a ratio is over its limit")
    parser.add_argument("--tshark", default="tshark", help="the program to measure")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.connections < 1:
        parser.error("--rounds and --connections must be 1 or more")
    if not 1 <= arguments.share <= 100:
        parser.error("--share must be from 1 to 100")
    result = measure(
        arguments.tshark,
        arguments.connections,
        arguments.rounds,
        arguments.share,
        floor=arguments.floor,
    )
    if arguments.json:
        print(json.dumps(result))
    else:
        mix = f"{result['packets']} packets, {result['share']} % of connections with fast open"
        print(f"{mix}, median of {arguments.rounds} rounds")
        for name, (seconds, memory) in result["costs"].items():
            print(f"  {name:12} {seconds:7.2f} s of CPU {memory:7.0f} MiB")
        for name, found in result["ratios"].items():
            limit = f" (limit {LIMITS[name]})" if name in LIMITS else ""
            print(f"  {name:12} {found:7.2f}x{limit}")
        print("the table is " + ("exact" if not result["wrong"] else "wrong"))
        for each in result["wrong"]:
            print(f"  {each}")
    over = arguments.check and any(result["ratios"][name] > LIMITS[name] for name in LIMITS)
    return int(bool(result["wrong"] or over))


if __name__ == "__main__":
    sys.exit(main())

"""Compares the speed of our option codec with Scapy's, on the same bytes in the same run.

Both get the 52 bytes of one SYN's TCP header (MSS, SACK permitted, timestamps, window scale, and
Fast Open with a cookie of 8 bytes). Scapy dissects it as `TCP(header)`; ours finds the options
field by the data offset and returns what a conforming receiver reads. The measure is CPU time;
the ways take short turns, so that a busy machine slows all of them equally; each ratio is the
median over the rounds.

    python bench/codec.py [--rounds N] [--json] [--at-least RATIO]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from time import thread_time_ns
from typing import Any

from scapy.config import conf
from scapy.layers.inet import TCP

from scapy_tfo import option as opt

COOKIE = bytes.fromhex("a0a1a2a3a4a5a6a7")
ROUND_NS = 4_000_000
"""How long one round of one way should take."""


def full_syn() -> bytes:
    """The TCP header of a SYN as Linux sends it, with a cookie."""
    options = opt.padded(
        opt.push_options(
            [
                opt.mss(1460),
                opt.sack_permitted(),
                opt.timestamps(123456),
                opt.nop(),
                opt.window_scale(7),
                opt.fast_open(COOKIE),
            ]
        ),
        fill=opt.NOP,
    )
    fixed = bytes(TCP(sport=40000, dport=80, flags="S", dataofs=5 + len(options) // 4))
    return fixed + options


def strict(header: bytes) -> tuple[opt.FastOpen | opt.Broken, ...]:
    """The strict view of a TCP header's options."""
    return opt.find_fast_open(header[20 : (header[12] >> 4) * 4])


def raw(header: bytes) -> tuple[opt.RawOption, ...]:
    """The raw view of a TCP header's options: every option as a value."""
    return opt.pull_options(header[20 : (header[12] >> 4) * 4])


WAYS: dict[str, Callable[[bytes], Any]] = {"strict": strict, "raw": raw, "scapy": TCP}


def check(header: bytes) -> None:
    """All ways must have read the same cookie, or there is nothing to compare."""
    assert strict(header) == (opt.FastOpen(opt.Form.IANA, COOKIE),)
    assert opt.push_options(raw(header)) == header[20:]
    value = dict(TCP(header).options)["TFO"]
    assert b"".join(part.to_bytes(4, "big") for part in value) == COOKIE


def nanoseconds(read: Callable[[bytes], Any], header: bytes, count: int) -> float:
    """What one call costs in CPU time, over a round of `count` calls."""
    calls = range(count)
    start = thread_time_ns()
    for _ in calls:
        read(header)
    return (thread_time_ns() - start) / count


def measure(rounds: int) -> dict[str, Any]:
    """Median nanoseconds of CPU a header for each way, and the ratios to Scapy's."""
    header = full_syn()
    check(header)
    counts = {
        name: max(1, int(ROUND_NS / nanoseconds(read, header, 500))) for name, read in WAYS.items()
    }
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(rounds):
        for name, read in WAYS.items():
            times[name].append(nanoseconds(read, header, counts[name]))

    def ratio(name: str) -> float:
        pairs = zip(times["scapy"], times[name], strict=True)
        return round(statistics.median(scapy / ours for scapy, ours in pairs), 1)

    medians = {name: statistics.median(values) for name, values in times.items()}
    return {
        "header": header.hex(),
        "python": sys.version.split()[0],
        "scapy": conf.version,
        "rounds": rounds,
        "nanoseconds": {name: round(value) for name, value in medians.items()},
        "ratio": ratio("strict"),
        "ratio_raw": ratio("raw"),
    }


def main() -> int:
    """Print the figures; 1 if the ratio of the strict view is below `--at-least`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=101, help="rounds of each way (101)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--at-least", type=float, default=0, help="fail below this ratio")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be 1 or more")
    result = measure(arguments.rounds)
    if arguments.json:
        print(json.dumps(result))
    else:
        micro = {name: value / 1000 for name, value in result["nanoseconds"].items()}
        print(f"one SYN header, median of {arguments.rounds} rounds")
        print(f"  Scapy {result['scapy']} TCP()  {micro['scapy']:8.2f} us")
        print(f"  raw view           {micro['raw']:8.2f} us  {result['ratio_raw']:6.1f}x")
        print(f"  strict view        {micro['strict']:8.2f} us  {result['ratio']:6.1f}x")
    return int(result["ratio"] < arguments.at_least)


if __name__ == "__main__":
    raise SystemExit(main())

"""Schedules that an exploration plays a second on virtual time: `python bench/explore.py [N]`.

N: schedules of each round (default: 3000). The reference explores itself, rules and audits and all,
on one processor. How fast a machine is, and how busy, differs; so a round of it alternates with one
of the same packets' work alone: as many segments are built and read as the schedules had. `make
compiled` makes an environment whose Python runs it compiled.
"""

from __future__ import annotations

import platform
import statistics
import sys
import time
from ipaddress import ip_address

from scapy_tfo.address import known_address
from scapy_tfo.explore.conversation import play
from scapy_tfo.explore.explorer import Explorer
from scapy_tfo.segment import ACK, Segment

_SCHEDULES = 3000
_ROUNDS = 3
_PACKETS = 12
"""Of a schedule, on average."""
_OPTIONS = b"\x01\x01\x08\x0a"


def main(arguments: list[str]) -> int:
    """Measure and print."""
    count = int(arguments[0]) if arguments else _SCHEDULES
    how = "interpreted" if play.__file__.endswith(".py") else "compiled"
    print(f"{how}, Python {platform.python_version()}, {count:,} schedules a round")
    explored, packets = [], []
    for number in range(_ROUNDS):
        explored.append(count / _explore(count, number))
        packets.append(count / _packets(count * _PACKETS))
        print(
            f"{explored[-1]:,.0f} schedules a second of processor time; "
            f"{explored[-1] / packets[-1]:.3f} of the rate at which their packets alone are made"
        )
    ratio = statistics.median(a / b for a, b in zip(explored, packets, strict=True))
    print(f"median: {statistics.median(explored):,.0f} a second, ratio {ratio:.3f}")
    return 0


def _explore(count: int, seed: int) -> float:
    """Seconds of processor time."""
    explorer = Explorer("reference", seed=seed, stop=lambda: explorer.result.total >= count)
    began = time.process_time()
    explorer.explore()
    return time.process_time() - began


def _packets(count: int) -> float:
    """Seconds of processor time for segments that are built, and read from their bytes."""
    ends = [known_address(ip_address(each).packed) for each in ("192.0.2.10", "192.0.2.1")]
    began = time.process_time()
    for number in range(count):
        sent = Segment(
            src=ends[0],
            dst=ends[1],
            sport=40000,
            dport=10001,
            seq=number,
            flags=ACK,
            options=_OPTIONS + number.to_bytes(8, "big"),
            payload=bytes(100),
        )
        came = Segment.from_bytes(sent.to_bytes())
        assert came.timestamps is not None
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

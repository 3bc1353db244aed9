"""Schedules that an exploration plays a second at this kernel: `python bench/explore_live.py [S]`.

It takes root, or user namespaces. S: seconds for the schedules (default: 30). The target's own
processor time is counted: both share this machine.
"""

from __future__ import annotations

import os
import sys
import time

from scapy_tfo.errors import SetupError
from scapy_tfo.explore.live.explorer import LiveExplorer
from scapy_tfo.explore.live.opened import open_site
from scapy_tfo.targets.reached import Reach

_SECONDS = 30.0


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else _SECONDS
    try:
        site = open_site(Reach(target="lab:linux"))
    except SetupError as error:
        print(f"not measured: {error}")
        return 0
    try:
        first = time.monotonic()
        cpu = time.process_time()
        explorer = LiveExplorer(site, stop=lambda: time.monotonic() - first > seconds)
        result = explorer.explore()
        took, own = time.monotonic() - first, time.process_time() - cpu
    finally:
        site.close()
    load = os.getloadavg()[0]
    print(
        f"lab:linux: {result.total:,} schedules in {took:.1f} s with both audits,"
        f" {result.total / took:.0f} a second; {1000 * own / result.total:.2f} ms of processor time"
        f" each on our side; load of the machine {load:.1f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

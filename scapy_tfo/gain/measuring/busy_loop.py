"""Keeps one core from sleeping: `python busy_loop.py PARENT CORE`.

It computes on that core, but only while no other process wants it (SCHED_IDLE, sched(7)). It prints
a line when it does. It ends with its parent, whose id is PARENT, however that ends.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_TURNS = 100_000
"""Between two looks at whether the parent is still there: some milliseconds."""


def main() -> None:
    parent, core = (int(each) for each in sys.argv[1:])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # Ctrl-C is for the parent.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    print("computes", flush=True)
    while os.getppid() == parent:
        for _ in range(_TURNS):
            pass


if __name__ == "__main__":
    main()

"""Settings that all tests share."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# A busy machine is no failure: no test here asserts wall time, so Hypothesis must not either.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Many tests fork, which a process with threads must not; numpy would start one for each processor.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A worker of pytest-xdist ignores Ctrl-C, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# For what tests have from each other. Last, so that an installed wheel is what is tested.
sys.path.append(str(Path(__file__).resolve().parent.parent))

"""Stands for your stack: an echo on port 7 behind a TUN device, which speaks TCP in Python.

It is the reference implementation of scapy-tfo, so that the example is whole; put yours in its
place. STACK=accepts-any-cookie makes it wrong, to see a red run.
"""

import os
import sys

arguments = [sys.executable, "-m", "scapy_tfo", "lab", "serve", "--app", "echo", "--port", "7"]
arguments += ["--second-port", "8", "--plain-port", "10"]
arguments += ["--mutant", os.environ.get("STACK", "reference")]
os.execv(sys.executable, arguments)

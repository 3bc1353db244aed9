"""The system calls of a script, made on real sockets of this process."""

from scapy_tfo.pkt.syscalls.libc import Timing
from scapy_tfo.pkt.syscalls.plan import Connects, Effect, Listens
from scapy_tfo.pkt.syscalls.process import Prepared, Process
from scapy_tfo.pkt.syscalls.state import Endpoints
from scapy_tfo.pkt.syscalls.values import CallError, Symbol

__all__ = [
    "CallError",
    "Connects",
    "Effect",
    "Endpoints",
    "Listens",
    "Prepared",
    "Process",
    "Symbol",
    "Timing",
]

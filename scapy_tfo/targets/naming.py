"""Says which stack a target is, where the target itself, this host or this package knows."""

from __future__ import annotations

import os

from scapy_tfo import __version__
from scapy_tfo.suite.result import Stack
from scapy_tfo.targets.own import is_in_memory
from scapy_tfo.targets.reached import file_of


def stack_of(target: str) -> Stack | None:
    """The stack that a target is, None for an address. Raises SetupError for a target file that
    cannot be read."""
    kind, _, name = target.partition(":")
    if kind == "sim" or is_in_memory(target):
        return Stack(f"scapy-tfo {name}", __version__)
    if kind == "lab":
        kernel = os.uname()
        return Stack(kernel.sysname, kernel.release)
    file = file_of(target)
    return None if file is None else Stack(file.name, file.version)

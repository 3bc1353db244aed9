"""A kernel's own counters of TCP, as coverage: which of them a program makes go up, and how far."""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo.executor.target_coverage import TARGET, class_of

_PART = b"TcpExt:"


class KernelCounters:
    """What went up since it was looked at last. netstat: reads /proc/net/netstat of the target's
    network namespace, pairs of lines: names, and then values."""

    def __init__(self, netstat: Callable[[], bytes]) -> None:
        self._netstat = netstat
        self._names = _fields(netstat(), 0)
        self._values = _fields(netstat(), 1)

    def take(self) -> frozenset[str]:
        """The counters that went up since the last call, each with the class of the difference."""
        values, before = _fields(self._netstat(), 1), self._values
        self._values = values
        return frozenset(
            f"{TARGET}{name.decode()}.{class_of(int(new) - int(old))}"
            for name, new, old in zip(self._names, values, before, strict=True)
            if new != old
        )

    def close(self) -> None:
        """The namespace belongs to the bench."""


def _fields(text: bytes, line: int) -> list[bytes]:
    """The words of a line of TCP's pair, the names (0) or the values (1)."""
    lines = text.splitlines()
    first = next(at for at, each in enumerate(lines) if each.startswith(_PART))
    return lines[first + line].split()[1:]

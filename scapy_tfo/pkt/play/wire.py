"""The interface of a wire, by which a script's run reaches the kernel under test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Arrival:
    """A packet that the kernel sent. when: ns since the epoch, by the clock of the wire.

    checksum_ready: False where filling it in was left to hardware that is not there.
    """

    data: bytes
    when: int
    checksum_ready: bool = True


class Wire(Protocol):
    """Whole IP packets to the kernel under test and back. Times are ns since the epoch.

    tick: ns from one tick of that kernel's clock to the next, 0: unknown.
    """

    tick: int

    def now(self) -> int:
        """The clock that arrivals are stamped with."""
        ...

    def sleep_until(self, when: int) -> None:
        """Return then, or at once; what arrives meanwhile is kept."""
        ...

    def send(self, packet: bytes) -> None:
        """Raises ValueError where it cannot be sent as it is."""
        ...

    def receive(self, until: int) -> Arrival | None:
        """The next packet, or None if none came until then."""
        ...

    def new_port(self) -> int:
        """A port of the script's side that was not used before."""
        ...

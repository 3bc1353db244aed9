"""The links that campaigns send through: many IP packets at once, without an event loop.

A TUN device takes and gives one packet for each system call, and still is the quickest way to a
kernel of this machine: 3.3 us for a SYN, its SYN-ACK and a RST, where a packet socket on a veth
pair takes 4.4 us, with sendmmsg or without.
"""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from scapy_tfo.errors import TargetError
from scapy_tfo.segment import Address
from scapy_tfo.wire.packet_socket import LOST
from scapy_tfo.wire.ports import PortPool

_LARGEST = 1 << 16
_GONE = frozenset({errno.EIO, errno.EBADF, errno.EBADFD, errno.ENODEV, errno.ENXIO})


class Batch(Protocol):
    """Whole IP packets to a target and back, as many as are there.

    sources: addresses that may be sent from, both families, the preferred first of each.
    mtu: largest IP packet in bytes. is_local: False where packets leave this machine.
    room: packets that may be on their way here, unread, before some are lost.
    """

    sources: tuple[Address, ...]
    mtu: int
    is_local: bool
    room: int

    def exchange(self, packets: Iterable[bytes]) -> list[bytes]:
        """Send all, in order, and return what has come by then, in order. Never waits.

        What cannot be sent counts as lost. Raises TargetError where the way is gone.
        """
        ...

    def wait(self, seconds: float) -> list[bytes]:
        """Return what comes: as soon as something is there, or nothing after so many seconds.

        Raises TargetError where the way is gone.
        """
        ...

    def lost(self) -> int:
        """Packets lost so far on our side of the way: those are no fault of the target's."""
        ...

    def reserve_port(self, source: Address, port: int = 0) -> int:
        """A source port that is nobody else's until released: that one, or any for 0.

        Raises SetupError when none is.
        """
        ...

    def release_port(self, source: Address, port: int) -> None:
        """Give a reserved port back."""
        ...

    def close(self) -> None:
        """Give everything back; harmless when called twice."""
        ...


class TunBatch:
    """The descriptor of a TUN device (IFF_TUN, IFF_NO_PI) whose other side is the target.

    sources: addresses that the target routes to the device and nobody owns. queue: packets that
    the device holds for us. dropped: asks how many it had no room for. The batch owns the
    descriptor.
    """

    is_local = True

    def __init__(
        self,
        fd: int,
        sources: Sequence[Address],
        mtu: int,
        *,
        queue: int = 500,
        dropped: Callable[[], int] = lambda: 0,
    ) -> None:
        self.sources = tuple(sources)
        self.mtu = mtu
        # A packet may be answered by several: a SYN-ACK, data, a FIN.
        self.room = max(1, queue // 4)
        self._fd = fd
        self._dropped = dropped
        self._refused = 0
        self._ports = PortPool()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)
        os.set_blocking(fd, False)

    def exchange(self, packets: Iterable[bytes]) -> list[bytes]:
        write, fd = os.write, self._fd
        left = self.room
        came: list[bytes] = []
        for packet in packets:
            try:
                write(fd, packet)
            except OSError as error:
                self._note(error)
            left -= 1
            if not left:
                self._read(came)
                left = self.room
        self._read(came)
        return came

    def wait(self, seconds: float) -> list[bytes]:
        came: list[bytes] = []
        self._read(came)
        if not came and seconds > 0 and self._poll.poll(seconds * 1000):
            self._read(came)
        return came

    def lost(self) -> int:
        return self._refused + self._dropped()

    def reserve_port(self, source: Address, port: int = 0) -> int:
        return self._ports.reserve(source, port)

    def release_port(self, source: Address, port: int) -> None:
        self._ports.release(source, port)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _read(self, came: list[bytes]) -> None:
        read, fd, add = os.read, self._fd, came.append
        # Bounded, since a target that answers all it hears of would otherwise keep us here.
        for _ in range(8 * self.room):
            try:
                add(read(fd, _LARGEST))
            except BlockingIOError:
                return
            except OSError as error:
                self._note(error)
                return

    def _note(self, error: OSError) -> None:
        if error.errno in _GONE:
            raise TargetError(f"the interface to the target is gone: {error.strerror}") from error
        # EINVAL: no IP packet at all, as a program may well have it.
        if error.errno not in LOST and error.errno != errno.EINVAL:
            raise error
        self._refused += 1

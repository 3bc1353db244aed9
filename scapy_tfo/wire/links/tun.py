"""A link over a TUN device that is held open, with this host's kernel behind it."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scapy_tfo.errors import SetupError
from scapy_tfo.segment import Address
from scapy_tfo.wire import ip_header
from scapy_tfo.wire.link import Receiver
from scapy_tfo.wire.links.batch import TunBatch
from scapy_tfo.wire.packet_socket import LOST
from scapy_tfo.wire.ports import PortPool

if TYPE_CHECKING:
    import asyncio

_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_TAP, _IFF_NO_PI = 0x0001, 0x0002, 0x1000
_LARGEST = 1 << 17
_PER_WAKE_UP = 256


def open_tun(name_hint: str = "tfo%d", *, layer2: bool = False) -> tuple[int, str]:
    """Make a TUN device (layer2: a TAP), and return its non-blocking descriptor and its name.

    name_hint: the name to give; the kernel puts a number in the place of `%d`. The device has
    no address and is down; it goes when the descriptor is closed, however that happens.
    Raises SetupError where the host does not allow it.
    """
    flags = (_IFF_TAP if layer2 else _IFF_TUN) | _IFF_NO_PI
    try:
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SetupError(f"cannot open /dev/net/tun: {error.strerror}") from error
    try:
        made = fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", name_hint.encode(), flags))
    except OSError as error:
        os.close(fd)
        why = error.strerror
        raise SetupError(f"cannot make a TUN device ({why}): this needs CAP_NET_ADMIN") from error
    return fd, made[:16].rstrip(b"\0").decode()


class TunLink:
    """Sends and sees IP packets on the descriptor of a TUN device (IFF_TUN, IFF_NO_PI).

    sources: addresses that the host routes to the device and nobody owns. mtu: of the device,
    in bytes. The link owns the descriptor: closing the link removes the device.
    """

    def __init__(self, fd: int, sources: Sequence[Address], mtu: int) -> None:
        self.sources = tuple(sources)
        self.mtu = mtu
        self.is_local = True
        self._fd = fd
        self._ours = {each.packed for each in sources}
        self._ports = PortPool()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._receive: Receiver | None = None
        os.set_blocking(fd, False)

    def start(self, receive: Receiver) -> None:
        # Whoever has no link, only a device, runs without a loop.
        import asyncio

        self._receive = receive
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._drain)

    async def prepare(self) -> None:
        """A TUN device has no neighbours."""

    def batch(self) -> TunBatch:
        """The same device without a loop, for who reads it instead of this link."""
        return TunBatch(os.dup(self._fd), self.sources, self.mtu)

    def send(self, packet: bytes) -> None:
        """See Link. Raises ValueError where the packet is over the MTU."""
        if len(packet) > self.mtu:
            raise ValueError(f"a packet of {len(packet)} bytes, over the MTU of {self.mtu}")
        try:
            os.write(self._fd, packet)
        except OSError as error:
            if error.errno not in LOST:
                raise

    @property
    def lag(self) -> float:
        return 0.0

    def now(self) -> float:
        return time.time()

    def reserve_port(self, source: Address, port: int = 0) -> int:
        return self._ports.reserve(source, port)

    def release_port(self, source: Address, port: int) -> None:
        self._ports.release(source, port)

    def close(self) -> None:
        if self._fd < 0:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1

    def _drain(self) -> None:
        for _ in range(_PER_WAKE_UP):
            try:
                packet = os.read(self._fd, _LARGEST)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EBADF) and self._loop is not None:
                    # The device was removed or set down: it would be readable for ever.
                    self._loop.remove_reader(self._fd)
                return
            if self._receive is not None and ip_header.destination(packet) in self._ours:
                self._receive(packet, time.time())

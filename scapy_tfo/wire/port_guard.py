"""The port guard: a port of this host whose segments the kernel drops without an answer.

The kernel answers a segment for a port without a socket with RST, and so would end every
connection that the suite opens by hand. A listening socket whose filter drops everything stops
that: the kernel finds a socket, drops the segment and sends nothing, while packet sockets still
see it. It keeps the port from any other process, and goes with this process, even after kill -9.
"""

from __future__ import annotations

import errno
import socket
from collections import deque

from scapy_tfo.errors import SetupError
from scapy_tfo.segment import Address
from scapy_tfo.wire import bpf

_REST = 256


class PortGuard:
    """One guarded port of one source address.

    scope: index of the interface, for a link-local source; else 0. port: 0 lets the kernel choose.
    Raises OSError.
    """

    def __init__(self, source: Address, scope: int = 0, port: int = 0) -> None:
        family = socket.AF_INET if source.version == 4 else socket.AF_INET6
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        try:
            bpf.attach(self._socket, bpf.drop_all())
            if source.is_unspecified and source.version == 6:
                self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            where = (str(source), port) if source.version == 4 else (str(source), port, 0, scope)
            self._socket.bind(where)
            self._socket.listen(1)
        except OSError:
            self._socket.close()
            raise
        self.port: int = self._socket.getsockname()[1]

    def close(self) -> None:
        """Give the port back to the host; harmless when called twice."""
        self._socket.close()


class GuardedPorts:
    """The guarded ports of a link.

    A released port rests under its guard until 256 later ones are released: no case meets what
    the target still holds of an earlier one, and late segments of the target draw no RST.
    """

    def __init__(self, scope: int = 0) -> None:
        self._scope = scope
        self._held: dict[tuple[bytes, int], PortGuard] = {}
        self._resting: deque[PortGuard] = deque()

    def __contains__(self, end: tuple[bytes, int] | None) -> bool:
        """Whether (packed source address, port) is reserved now."""
        return end in self._held

    def reserve(self, source: Address, port: int = 0) -> int:
        """A port of `source`: that one, or any for 0. Raises SetupError where there is none."""
        while True:
            try:
                guard = PortGuard(source, self._scope, port)
                break
            except OSError as error:
                spent = error.errno in (errno.EMFILE, errno.ENFILE)
                if not port:
                    spent = spent or error.errno == errno.EADDRINUSE
                if not (spent and self._resting):
                    why = error.strerror
                    raise SetupError(f"cannot reserve a port of {source}: {why}") from error
                self._resting.popleft().close()
        self._held[source.packed, guard.port] = guard
        return guard.port

    def release(self, source: Address, port: int) -> None:
        """Let a reserved port rest. Raises KeyError for one that is not reserved."""
        self._resting.append(self._held.pop((source.packed, port)))
        if len(self._resting) > _REST:
            self._resting.popleft().close()

    def close(self) -> None:
        """Give every port back; harmless when called twice."""
        for guard in (*self._held.values(), *self._resting):
            guard.close()
        self._held.clear()
        self._resting.clear()

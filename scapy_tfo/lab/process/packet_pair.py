"""Two connected descriptors that exchange IP packets, as if each were the other's TUN device."""

from __future__ import annotations

import socket

_BUFFER = 4 << 20
_SO_SNDBUFFORCE = 32


def packet_pair() -> tuple[socket.socket, socket.socket]:
    """Whole packets, in order; both ends are not blocking."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for each in ends:
        each.setblocking(False)
        try:
            each.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _BUFFER)
        except PermissionError:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
    return ends

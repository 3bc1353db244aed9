"""Every system call that a script may make."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scapy_tfo.pkt.syscalls import data, messages, settings, sockets, waiting
from scapy_tfo.pkt.syscalls.arguments import Arguments
from scapy_tfo.pkt.syscalls.plan import Plan

CALLS: Mapping[str, Callable[[Arguments], Plan]] = {
    "socket": sockets.socket,
    "bind": sockets.bind,
    "listen": sockets.listen,
    "accept": sockets.accept,
    "accept4": sockets.accept4,
    "connect": sockets.connect,
    "read": data.plain,
    "readv": data.scattered,
    "recv": data.flagged,
    "recvfrom": data.recvfrom,
    "recvmsg": messages.recvmsg,
    "write": data.plain,
    "writev": data.scattered,
    "send": data.flagged,
    "sendto": data.sendto,
    "sendmsg": messages.sendmsg,
    "sendfile": data.sendfile,
    "splice": data.splice,
    "fcntl": settings.fcntl,
    "ioctl": settings.ioctl,
    "close": sockets.close,
    "shutdown": sockets.shutdown,
    "getsockopt": settings.getsockopt,
    "setsockopt": settings.setsockopt,
    "poll": waiting.poll,
    "epoll_create": waiting.epoll_create,
    "epoll_ctl": waiting.epoll_ctl,
    "epoll_wait": waiting.epoll_wait,
    "pipe": data.pipe,
    "open": data.open_file,
    "cap_set": settings.cap_set,
}

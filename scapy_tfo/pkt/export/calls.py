"""Builds the system calls of an exported script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scapy_tfo.pkt.language import tree

ANY = tree.Anything()
_IN_PROGRESS = "Operation now in progress"


def new_socket(descriptor: int) -> tree.Syscall:
    """A TCP socket."""
    return call("socket", ANY, "SOCK_STREAM", "IPPROTO_TCP", result=descriptor)


def open_socket(descriptor: int) -> Iterator[tree.Syscall]:
    """A client's, which does not wait."""
    yield new_socket(descriptor)
    flags = tree.Choice((tree.Name("O_RDWR"), tree.Name("O_NONBLOCK")))
    yield call("fcntl", descriptor, "F_SETFL", flags)


def send_fast_open(descriptor: int, size: int) -> tree.Syscall:
    """With so many bytes on the SYN; with none, the handshake goes its way."""
    arguments = (descriptor, ANY, size, "MSG_FASTOPEN", ANY, ANY)
    if size:
        return call("sendto", *arguments, result=size)
    return in_progress("sendto", *arguments)


def close(descriptor: int) -> tree.Syscall:
    """Of a socket."""
    return call("close", descriptor)


def call(
    name: str,
    *arguments: object,
    result: int = 0,
    errno: str | None = None,
    note: str | None = None,
) -> tree.Syscall:
    """A call: numbers, names and lists as they are in Python."""
    return tree.Syscall(
        name=name,
        arguments=tuple(map(_expression, arguments)),
        result=tree.Number(result),
        errno=errno,
        note=note,
    )


def set_keys(listening: int, keys: Sequence[bytes]) -> tree.Syscall:
    """A listener's cookie keys, primary first."""
    key = b"".join(keys)
    return call("setsockopt", listening, "SOL_TCP", "TCP_FASTOPEN_KEY", tree.Text(key), len(key))


def in_progress(name: str, *arguments: object) -> tree.Syscall:
    """A call that begins to connect and does not wait."""
    return call(name, *arguments, result=-1, errno="EINPROGRESS", note=_IN_PROGRESS)


def _expression(value: object) -> tree.Expression:
    match value:
        case int():
            return tree.Number(value)
        case str():
            return tree.Name(value)
        case list():
            return tree.Array(tuple(map(_expression, value)))
        case tree.Anything() | tree.Choice() | tree.Struct() | tree.Text():
            return value
    raise TypeError(f"no argument of a call: {value!r}")


def named(name: str, value: int) -> tree.Field:
    """`name=value`."""
    return tree.Field(name, tree.Number(value))

"""poll() and epoll."""

from __future__ import annotations

from collections.abc import Iterator

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.packets.difference import Difference
from scapy_tfo.pkt.syscalls.arguments import Arguments
from scapy_tfo.pkt.syscalls.libc import EpollEvent, PollDescriptor
from scapy_tfo.pkt.syscalls.names import name_flags
from scapy_tfo.pkt.syscalls.plan import Plan
from scapy_tfo.pkt.syscalls.sockets import keep, new_number
from scapy_tfo.pkt.syscalls.state import Descriptor
from scapy_tfo.pkt.syscalls.values import CallError, unfit

_DATA_BITS = {"ptr": 64, "fd": 32, "u32": 32, "u64": 64}
_LARGEST_COUNT = 4096


def poll(arguments: Arguments) -> Plan:
    """`poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, timeout)`; revents: what it returns, or 0.

    timeout: ms.
    """
    arguments.count(3)
    match arguments[0]:
        case tree.Array(items):
            waited_for = [_poll_descriptor(arguments, item) for item in items]
        case other:
            raise unfit(other, "[{fd=, events=, revents=}, ...]")
    count = arguments.integer(1)
    if count != len(waited_for):
        raise CallError(f"the call announces {count} descriptors, but has {len(waited_for)}")
    array = (PollDescriptor * max(1, count))(*waited_for)
    expected = [each.returned for each in waited_for]

    def compare(_result: int) -> Iterator[Difference]:
        for each, flags in zip(array, expected, strict=False):
            if each.returned != flags:
                number = arguments.state.number_of(each.descriptor)
                yield Difference(
                    f"revents of file descriptor {number}",
                    name_flags("POLL", flags & 0xFFFF),
                    name_flags("POLL", each.returned & 0xFFFF),
                )

    return Plan("poll", (array, count, arguments.integer(2)), compare=compare)


def _poll_descriptor(arguments: Arguments, item: tree.Expression) -> PollDescriptor:
    fields = arguments.values.fields(item)
    if not {"fd", "events"} <= set(fields) <= {"fd", "events", "revents"}:
        raise unfit(item, "{fd=, events=, revents=}")
    numbers = {name: arguments.values.signed(field.value) for name, field in fields.items()}
    live = arguments.state.find(numbers["fd"]).live
    return PollDescriptor(live, numbers["events"], numbers.get("revents", 0))


def epoll_create(arguments: Arguments) -> Plan:
    """`epoll_create(size)`."""
    arguments.count(1)
    number = new_number(arguments)

    def settle(live: int) -> None:
        keep(arguments, number, Descriptor(live))

    return Plan("epoll_create", (arguments.integer(0),), returns_descriptor=True, settle=settle)


def epoll_ctl(arguments: Arguments) -> Plan:
    """`epoll_ctl(epfd, operation, fd, {events=EPOLLIN, fd=4})`; for fd also ptr, u32, u64."""
    arguments.count(4)
    live = arguments.descriptor(2).live
    event, kind = _event(arguments, arguments[3])
    if kind == "fd" and event.data != live:
        raise CallError("the fd in the event is not the fd that the call is about")
    epoll, operation = arguments.descriptor(0).live, arguments.integer(1)
    return Plan("epoll_ctl", (epoll, operation, live, (EpollEvent * 1)(event)))


def epoll_wait(arguments: Arguments) -> Plan:
    """`epoll_wait(epfd, {events=EPOLLIN, fd=4}, maximum, timeout)`: the first event it returns.

    timeout: ms. Where none comes in time, `{events=0, ptr=0}`.
    """
    arguments.count(4)
    expected, kind = _event(arguments, arguments[1])
    maximum = arguments.integer(2)
    if maximum > _LARGEST_COUNT:
        raise CallError(f"epoll_wait() takes at most {_LARGEST_COUNT} events at a time here")
    events = (EpollEvent * max(1, maximum))()
    epoll = arguments.descriptor(0).live

    def compare(_result: int) -> Iterator[Difference]:
        actual = events[0]
        if actual.events != expected.events:
            yield Difference(
                "events of epoll_wait()",
                name_flags("EPOLL", expected.events),
                name_flags("EPOLL", actual.events),
            )
        mask = (1 << _DATA_BITS[kind]) - 1
        if (actual.data ^ expected.data) & mask:
            sides = [_data(arguments, kind, event.data & mask) for event in (expected, actual)]
            yield Difference(f"{kind} of epoll_wait()", *sides)

    return Plan("epoll_wait", (epoll, events, maximum, arguments.integer(3)), compare=compare)


def _event(arguments: Arguments, expression: tree.Expression) -> tuple[EpollEvent, str]:
    fields = arguments.values.fields(expression)
    kind = next((name for name in fields if name in _DATA_BITS), None)
    if kind is None or set(fields) != {"events", kind}:
        raise unfit(expression, "{events=, fd=}, or the same with ptr, u32 or u64 instead of fd")
    bits = _DATA_BITS[kind]
    data = arguments.values.integer(fields[kind].value, bits) & (1 << bits) - 1
    if kind == "fd":
        data = arguments.state.find(data).live
    events = arguments.values.integer(fields["events"].value) & 0xFFFFFFFF
    return EpollEvent(events, data), kind


def _data(arguments: Arguments, kind: str, data: int) -> str:
    return arguments.state.number_of(data) if kind == "fd" else str(data)

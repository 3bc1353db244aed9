"""Finds for each listener of a script the one of a target that is like it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.pkt.language import tree
from scapy_tfo.stacks.file import SMALL
from scapy_tfo.suite.target import Target

_EVERY_LISTENER = 0x400
"""Bit of tcp_fastopen (Documentation/networking/ip-sysctl.rst): on without a call."""

_PLENTY = 1024

_SETTING = re.compile(r"tcp_fastopen=(0x[0-9a-fA-F]+|\d+)\b")


@dataclass(slots=True)
class Listener:
    """port: as the script binds it. room: for how many pending fast opens; 0: fast open is off."""

    port: int
    room: int = 0


def listeners(script: tree.Script, bind_port: int) -> list[Listener]:
    """Those of a script by their ports, in the order of their listen(). bind_port: of a bind() that
    names none."""
    everywhere = any(int(each, 0) & _EVERY_LISTENER for each in _settings(script))
    sockets: dict[int, Listener] = {}
    found: dict[int, Listener] = {}
    for event in script.events:
        call = event.action
        if not isinstance(call, tree.Syscall) or not call.arguments:
            continue
        if call.name == "socket" and isinstance(call.result, tree.Number):
            sockets[call.result.value] = Listener(bind_port, _PLENTY if everywhere else 0)
            continue
        first = call.arguments[0]
        socket = sockets.get(first.value) if isinstance(first, tree.Number) else None
        if socket is None:
            continue
        if call.name == "bind":
            socket.port = _bound(call, bind_port)
        elif call.name == "setsockopt" and tree.Name("TCP_FASTOPEN") in call.arguments:
            socket.room = next(_numbers(call), _PLENTY)
        elif call.name == "listen":
            found.setdefault(socket.port, socket)
    return list(found.values())


async def ports_of(target: Target, wanted: list[Listener]) -> dict[int, int]:
    """The target's ports by those of the script's listeners.

    Of a target of our own a listener with little room is opened. Raises SetupError where the target
    has too few.
    """
    found: dict[int, int] = {}
    plenty = [target.main, *([target.second] if target.second is not None else [])]
    for each in wanted:
        small = await _small(target, each.room) if 0 < each.room <= SMALL else None
        if small is not None:
            found[each.port] = small
        elif not each.room and target.plain is not None:
            found[each.port] = target.plain.port
        elif not each.room and len(wanted) > 1:
            raise SetupError("the script has a listener with fast open off: give --plain-port")
        elif plenty:
            found[each.port] = plenty.pop(0).port
        else:
            raise SetupError(
                f"the script listens on {len(wanted)} ports: give --second-port, --plain-port or"
                " --small-port"
            )
    return found


async def _small(target: Target, room: int) -> int | None:
    if target.small is not None and room == SMALL:
        return target.small.port
    if target.is_ours and target.hooks is not None:
        return await target.hooks.listen(ListenerOptions(target.main.app.name, queue=room))
    return None


def _settings(script: tree.Script) -> Iterator[str]:
    for command in script.commands:
        yield from _SETTING.findall(command.shell.command)


def _bound(call: tree.Syscall, usual: int) -> int:
    for argument in call.arguments:
        for field in argument.items if isinstance(argument, tree.Struct) else ():
            if isinstance(field, tree.Field) and isinstance(field.value, tree.Call):
                numbers = [each for each in field.value.arguments if isinstance(each, tree.Number)]
                if field.value.name == "htons" and numbers:
                    return numbers[0].value
    return usual


def _numbers(call: tree.Syscall) -> Iterator[int]:
    for argument in call.arguments:
        if isinstance(argument, tree.Array):
            yield from (each.value for each in argument.items if isinstance(each, tree.Number))

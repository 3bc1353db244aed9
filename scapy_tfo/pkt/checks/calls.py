"""Refuses calls, code and ICMP errors that would fail only when their turn comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.icmp_names import IcmpNameError, icmp_numbers

_ARITY: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "accept": (3,),
        "accept4": (4,),
        "bind": (3,),
        "close": (1,),
        "connect": (3,),
        "epoll_create": (1,),
        "epoll_ctl": (4,),
        "epoll_wait": (4,),
        "fcntl": (2, 3),
        "getsockopt": (5,),
        "ioctl": (2, 3),
        "listen": (2,),
        "open": (2,),
        "pipe": (1,),
        "poll": (3,),
        "read": (3,),
        "readv": (3,),
        "recv": (4,),
        "recvfrom": (6,),
        "recvmsg": (3,),
        "send": (4,),
        "sendfile": (4,),
        "sendmsg": (3,),
        "sendto": (6,),
        "setsockopt": (5,),
        "shutdown": (2,),
        "socket": (3,),
        "splice": (6,),
        "write": (3,),
        "writev": (3,),
    }
)
"""How many arguments a call has; of others nothing is known."""

_OPENING = frozenset({"accept", "accept4", "epoll_create", "open", "socket"})
_DUPLICATING = "fcntl"
_WITHOUT = _OPENING - {"accept", "accept4"} | {"cap_set", "pipe", "poll"}
"""Calls whose first argument is no descriptor."""

_INHERITED = 2
"""The largest descriptor that is open from the start: stderr."""


def refuse_wrong_calls(script: tree.Script, text: str, name: str) -> None:
    """Raise ScriptError at the first event that no run could get past. text, name: for the message.

    That is a call with too many or too few arguments, or of a descriptor that nothing has opened;
    code that is not Python; and a type or code that ICMP has in neither IP version.
    """
    opened = set(range(_INHERITED + 1))
    # What opens nothing at all is a part of a script.
    is_known = any(map(_opens, script.events))
    for event in script.events:
        problem = ""
        match event.action:
            case tree.Syscall() as call:
                problem = next(_in_call(call, opened if is_known else None), "")
                is_known = is_known and _note(call, opened)
            case tree.Code() as code:
                problem = _in_code(code)
            case tree.Icmp() as packet:
                problem = _in_icmp(packet)
        if problem:
            at = event.at
            raise ScriptError(problem, name=name, text=text, line=at.line, column=at.column)


def _opens(event: tree.Event) -> bool:
    call = event.action
    return isinstance(call, tree.Syscall) and call.name in _OPENING & _WITHOUT


def _in_call(call: tree.Syscall, opened: set[int] | None) -> Iterator[str]:
    wanted = _ARITY.get(call.name)
    count = len(call.arguments)
    if wanted is not None and count not in wanted:
        yield f"{call.name}() takes {' or '.join(map(str, wanted))} arguments, not {count}"
        return
    first = call.arguments[0] if call.arguments else None
    has_failed = isinstance(call.result, tree.Number) and call.result.value < 0
    if opened is None or call.name in _WITHOUT or has_failed or not isinstance(first, tree.Number):
        return
    if first.value not in opened:
        yield f"nothing has opened the file descriptor {first.value}"


def _note(call: tree.Syscall, opened: set[int]) -> bool:
    """Note what a call opens; whether that is known."""
    if call.name == "pipe":
        match call.arguments:
            case (tree.Array(items),):
                opened.update(each.value for each in items if isinstance(each, tree.Number))
        return True
    if call.name not in _OPENING and call.name != _DUPLICATING:
        return True
    if isinstance(call.result, tree.Number):
        opened.add(call.result.value)
        return True
    return call.name == _DUPLICATING


def _in_code(code: tree.Code) -> str:
    try:
        compile(code.text.strip(" \t") + "\n", "the script", "exec")
    except SyntaxError as error:
        return f"the code is not Python: {error.msg}"
    except ValueError as error:
        # What Python 3.11.2 raises for a null byte.
        return f"the code is not Python: {error}"
    return ""


def _in_icmp(packet: tree.Icmp) -> str:
    # In capitals it is a symbol, of which -D says what it stands for.
    if packet.type.isupper() or (packet.code or "").isupper():
        return ""
    problem = ""
    for family in (4, 6):
        try:
            icmp_numbers(packet.type, packet.code, family)
        except IcmpNameError as error:
            problem = problem or str(error)
        else:
            return ""
    return problem

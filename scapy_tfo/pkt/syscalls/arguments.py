"""Reads the arguments of one system call, each as the kind of value that it must be."""

from __future__ import annotations

import ctypes
from typing import Any

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.printing import show_expression
from scapy_tfo.pkt.syscalls.libc import Iovec
from scapy_tfo.pkt.syscalls.state import Descriptor, State
from scapy_tfo.pkt.syscalls.values import CallError, Values, unfit

_LARGEST_BUFFER = 1 << 30


class Arguments:
    """Of a call, in a process. Each method raises CallError where the script has something else."""

    def __init__(self, call: tree.Syscall, state: State) -> None:
        self.call = call
        self.state = state
        self.values: Values = state.values

    def __len__(self) -> int:
        return len(self.call.arguments)

    def __getitem__(self, index: int) -> tree.Expression:
        return self.values.resolve(self.call.arguments[index])

    def count(self, *allowed: int) -> None:
        """There are so many."""
        if len(self) not in allowed:
            wanted = " or ".join(map(str, allowed))
            raise CallError(f"{self.call.name}() takes {wanted} arguments, not {len(self)}")

    def integer(self, index: int) -> int:
        """An `int`."""
        return self.values.signed(self.call.arguments[index])

    def wide(self, index: int) -> int:
        """64 bits."""
        return self.values.integer(self.call.arguments[index], 64)

    def bracketed(self, index: int) -> tree.Expression:
        """What stands alone in brackets."""
        match self[index]:
            case tree.Array((alone,)):
                return alone
            case other:
                raise unfit(other, "[value], a single value in brackets")

    def descriptor(self, index: int) -> Descriptor:
        """An open file, by the script's number."""
        return self.state.find(self.integer(index))

    def engine_chooses(self, *indexes: int) -> None:
        """`...` stands there."""
        for index in indexes:
            if not isinstance(self[index], tree.Anything):
                raise unfit(self[index], "'...': the engine chooses this value")

    def result(self) -> int:
        """What the script says that the call returns, as an `int`; for a file descriptor."""
        return self.values.signed(self.call.result)

    def buffer(self, index: int, count: int) -> Any:
        """`...`: zeroed memory of so many bytes; NULL or 0: no memory."""
        match self[index]:
            case tree.Anything():
                return memory(count)
            case tree.Name("NULL") | tree.Number(0):
                return None
            case other:
                raise unfit(other, "'...' or NULL")

    def iovecs(self, expression: tree.Expression, count: int) -> tuple[Any, list[Any]]:
        """`[{..., 10}, {..., 20}]` as an array, and the memory it points to."""
        match self.values.resolve(expression):
            case tree.Array(items):
                buffers = [self._iovec(item) for item in items]
            case other:
                raise unfit(other, "[{..., length}, ...]")
        if len(buffers) != count:
            raise CallError(f"the call announces {count} pieces, but has {len(buffers)}")
        array = (Iovec * max(1, count))()
        # Where nothing is announced, one stays empty.
        for vector, (buffer, length) in zip(array, buffers, strict=False):
            vector.base, vector.length = ctypes.addressof(buffer), length
        return array, [buffer for buffer, _ in buffers]

    def _iovec(self, item: tree.Expression) -> tuple[Any, int]:
        match item:
            case tree.Struct((tree.Anything(), tree.Number() | tree.Name() as length)):
                count = self.values.signed(length)
                return memory(count), count
            case other:
                raise unfit(other, "{..., length}")


def memory(count: int) -> Any:
    """Zeroed, of so many bytes. Raises CallError for a count that no machine of ours has room for.

    The kernel would write behind a buffer that is shorter than the call says.
    """
    if not 0 <= count <= _LARGEST_BUFFER:
        raise CallError(f"a buffer of {count} bytes is out of range: 0 to {_LARGEST_BUFFER}")
    return ctypes.create_string_buffer(max(1, count))


def sides(expression: tree.Expression, expected: int, actual: int) -> tuple[str, str]:
    """Two numbers to compare, as the script writes its own; a name with its number."""
    match expression:
        case tree.Number(_, 0):
            return str(expected), str(actual)
        case tree.Name():
            return f"{show_expression(expression)} ({expected})", str(actual)
        case tree.Choice():
            return f"{show_expression(expression)} ({expected:#x})", f"{actual:#x}"
    return show_expression(expression), f"{actual:#x}"

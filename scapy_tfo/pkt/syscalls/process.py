"""A script's process: prepares its calls, makes them, closes what they have opened."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from socket import IPPROTO_TCP, SHUT_RDWR, SO_LINGER, SOL_SOCKET, TCP_CONGESTION

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.packets.difference import Difference
from scapy_tfo.pkt.syscalls import libc, settings, tcp_info
from scapy_tfo.pkt.syscalls.arguments import Arguments, sides
from scapy_tfo.pkt.syscalls.names import name_error
from scapy_tfo.pkt.syscalls.plan import Effect, Plan
from scapy_tfo.pkt.syscalls.state import Endpoints, State
from scapy_tfo.pkt.syscalls.table import CALLS
from scapy_tfo.pkt.syscalls.values import CallError, Symbol, unknown

_ABORT = struct.pack("ii", 1, 0)


class Prepared:
    """A call that can be made once. effect: what it will do, known before.

    timing: when it was made; None until it has returned.
    """

    def __init__(self, arguments: Arguments, plan: Plan) -> None:
        self.effect: Effect | None = plan.effect
        self.timing: libc.Timing | None = None
        self._arguments = arguments
        self._plan = plan
        self._thread: int | None = None

    def run(self) -> tuple[Difference, ...]:
        """Make it, in this thread, for as long as it blocks; say what is not as the script says.

        What other threads may do meanwhile: prepare and run other calls of the process, and
        close it.
        """
        call, plan = self._arguments.call, self._plan
        self._thread = threading.get_native_id()
        self._arguments.state.running.append(self)
        try:
            outcome = libc.call(plan.function, plan.arguments, blocks=call.until is not None)
        finally:
            self._thread = None
            self._arguments.state.running.remove(self)
        self.timing = outcome.timing
        plan.settle(outcome.result)
        return tuple(self._differences(outcome))

    @property
    def is_asleep(self) -> bool:
        """Whether the call has reached the kernel and waits there for something to happen."""
        thread = self._thread
        if thread is None:
            return False
        task = Path(f"/proc/self/task/{thread}")
        try:
            status = (task / "stat").read_text().rpartition(")")[2].split()[0]
            place = (task / "wchan").read_text()
        except OSError:
            return False
        # A thread that waits for Python's global lock sleeps in a futex.
        return status == "S" and not place.startswith("futex")

    def _differences(self, outcome: libc.Outcome) -> Iterator[Difference]:
        call, result = self._arguments.call, outcome.result
        if not isinstance(call.result, tree.Anything):
            expected = self._arguments.values.signed(call.result)
            opened = self._plan.returns_descriptor and expected >= 0 and result >= 0
            if not opened and expected != result:
                wanted, got = sides(call.result, expected, result)
                wanted += f" {call.errno}" if call.errno else ""
                got = f"-1 {name_error(outcome.errno)}" if result == -1 else got
                yield Difference(f"result of {call.name}()", wanted, got)
                return
        values = self._arguments.values
        if call.errno is not None and values.error_number(call.errno) != outcome.errno:
            actual = name_error(outcome.errno) if outcome.errno else "none"
            yield Difference(f"errno of {call.name}()", call.errno, actual)
        yield from self._plan.compare(result)


class Process:
    """The open files of a script and what its calls mean.

    symbols: what `-D` gives. Calls are prepared in the script's order, each right before it runs.
    """

    def __init__(self, endpoints: Endpoints, symbols: Mapping[str, Symbol] | None = None) -> None:
        self._state = State(endpoints, symbols or {})

    def begin(self, started: int, tolerance: int) -> None:
        """Tell the script's time 0, as CLOCK_REALTIME, and its tolerance, both ns.

        Timestamps that the kernel hands out (SCM_TIMESTAMPING) are compared by these.
        """
        self._state.started, self._state.tolerance = started, tolerance

    @property
    def current(self) -> int | None:
        """The live socket that code reads of: the last that was made, or accepted after it."""
        return None if self._state.current is None else self._state.current.live

    def prepare(self, call: tree.Syscall) -> Prepared:
        """Raises CallError where the call is unknown, or its arguments, result or errno are."""
        if call.name not in CALLS:
            raise CallError(unknown("system call", call.name, CALLS))
        arguments = Arguments(call, self._state)
        plan = CALLS[call.name](arguments)
        if not isinstance(call.result, tree.Anything):
            arguments.values.signed(call.result)
        if call.errno is not None:
            arguments.values.error_number(call.errno)
        libc.function(plan.function)
        return Prepared(arguments, plan)

    def use_control(self, name: str) -> None:
        """Give the socket that was made last a congestion control that the kernel has; "" leaves
        it as it is."""
        if name and self.current is not None:
            data = name.encode("ascii")
            libc.call("setsockopt", (self.current, IPPROTO_TCP, TCP_CONGESTION, data, len(data)))

    def tcp_info(self) -> dict[str, int]:
        """What code sees: `tcpi_*`, congestion control, `SK_MEMINFO_*`, constants to compare with.

        Raises CallError where there is no socket, or none of TCP that is open.
        """
        if self.current is None:
            raise CallError("the script has made no socket that code could read")
        return tcp_info.read(self.current)

    def close(self) -> None:
        """Close all that is open; connections are reset, so that nothing of them is left.

        A call that still blocks on a socket is woken up. Capabilities that the script has taken
        from this thread come back.
        """
        state = self._state
        is_busy = bool(state.running)
        for live in state.all_live():
            libc.call("setsockopt", (live, SOL_SOCKET, SO_LINGER, _ABORT, len(_ABORT)))
            if is_busy:
                libc.call("shutdown", (live, SHUT_RDWR))
        state.forget()
        if state.capabilities is not None:
            sets = ctypes.create_string_buffer(state.capabilities)
            libc.call("capset", (settings.capability_header(), sets))
            state.capabilities = None

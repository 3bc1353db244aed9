"""Carries out a script's calls, commands and code in this process, on this host's kernel."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.printing import show_action
from scapy_tfo.pkt.local import programs
from scapy_tfo.pkt.packets.difference import Difference
from scapy_tfo.pkt.play.actions import Program
from scapy_tfo.pkt.play.outcome import Failure
from scapy_tfo.pkt.play.player import Player
from scapy_tfo.pkt.play.schedule import Span, Window
from scapy_tfo.pkt.syscalls import CallError, Connects, Endpoints, Listens, Prepared, Process
from scapy_tfo.pkt.syscalls.plan import Effect

_LONGEST_CALL = 10.0
"""Seconds after which a call that should not block is interrupted."""

_ONCE_MORE = 0.5
"""Seconds from one interruption to the next: the first may come before the call sleeps."""

_LONGEST_COMMAND = 60.0
_LAST_WORDS = 4096
"""Bytes at the end of what a command said that are looked at."""

_SCHEDULING = Path("/proc/self/schedstat")
_FALLING_ASLEEP = 1.0
_LOOK_AGAIN = 0.0001
_STILL_BLOCKED = 1.0
"""Seconds beyond its end for which a blocking call is waited for, to tell late from never."""


@dataclass(slots=True)
class _Blocking:
    """A call in a thread of its own. window: when it should return. slip: of the script's own
    actions when it began. waited: how long the main thread sat ready meanwhile, and with it,
    maybe, whoever wanted Python's global lock. Both ns."""

    event: tree.Event
    call: tree.Syscall
    prepared: Prepared
    thread: threading.Thread
    window: Window | None
    slip: int
    waited: int = 0
    differences: tuple[Difference, ...] = ()


class LocalProgram(Program):
    """The script's process, its commands and its code. directory: where commands run."""

    control = ""
    """The congestion control of new sockets, "" for that of the namespace."""

    def __init__(self, player: Player, directory: Path) -> None:
        settings = player.settings
        local, remote = settings.addresses
        endpoints = Endpoints(
            local,
            remote,
            settings.bind_port,
            settings.connect_port,
            settings.version == "ipv4-mapped-ipv6",
        )
        self._player = player
        self._process = Process(endpoints, settings.symbols)
        self._directory = directory
        self._blocking: list[_Blocking] = []
        self._names: dict[str, object] = {}

    def begin(self, started: int) -> None:
        self._process.begin(started, self._player.settings.tolerance)
        signal.signal(signal.SIGALRM, _wake_up)

    def call(self, event: tree.Event, call: tree.Syscall) -> None:
        due = self._player.times.due(event.time)
        self._player.wire.sleep_until(due)
        self._await_returns()
        try:
            prepared = self._process.prepare(call)
        except CallError as error:
            self._player.fail(event, f"cannot be called: {error}", expected=show_action(call))
            return
        self._tell(prepared.effect)
        if call.until is not None:
            self._start(event, call, prepared, due)
            return
        before = self._player.wire.now()
        signal.setitimer(signal.ITIMER_REAL, _LONGEST_CALL, _ONCE_MORE)
        differences = prepared.run()
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._player.times.acted(event.time, due, Span(before, self._player.wire.now()))
        if call.name == "socket" and not differences and call.errno is None:
            self._process.use_control(self.control)
            self._player.catch_up()
            self._player.flows.socket_made()
        if differences:
            has_blocked = self._player.wire.now() - before >= _LONGEST_CALL * 1e9
            problem = f"it blocked, and was interrupted after {_LONGEST_CALL:g} s"
            self._blame(event, call, differences, problem if has_blocked else "")

    def shell(self, event: tree.Event, command: tree.Shell) -> None:
        problems: list[str] = []
        self._player.act(event, lambda: problems.extend(self.run_command(command)))
        for problem in problems:
            self._player.fail(event, problem, expected=show_action(command))

    def code(self, event: tree.Event, code: tree.Code) -> None:
        self._player.act(event, lambda: self._run_code(event, code))

    def finish(self) -> None:
        for blocking in self._blocking:
            window = blocking.window
            left = _LONGEST_CALL
            if window is not None:
                latest = window.latest + window.tolerance
                left = max(latest - self._player.wire.now(), 0) / 1e9 + _STILL_BLOCKED
            blocking.thread.join(left)
            self._judge(blocking)

    def run_command(self, command: tree.Shell) -> list[str]:
        """What went wrong with a command of the script. Raises SetupError where the machine lacks a
        program that it needs.

        It has this process's priority, as the script's times go on meanwhile; it is in its group,
        which the runner ends, so nothing has to be done between fork and exec, which costs most.
        """
        shell = shutil.which("bash") or "/bin/sh"
        # A pipe would be open for as long as what the command leaves in the background.
        output = os.memfd_create("output")
        try:
            done = subprocess.run(
                [shell, "-c", command.command],
                cwd=self._directory,
                env=programs.environment() | {"PACKETDRILL_PID": str(os.getpid())},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_LONGEST_COMMAND,
                check=False,
            )
            if not done.returncode:
                return []
            start = max(os.fstat(output).st_size - _LAST_WORDS, 0)
            said = os.pread(output, _LAST_WORDS, start).decode(errors="replace")
        except subprocess.TimeoutExpired:
            return [f"the command did not end within {_LONGEST_COMMAND:g} s"]
        finally:
            os.close(output)
        missing = programs.advice(said)
        if missing:
            raise SetupError(f"the script cannot run here: {missing}")
        words = [line for line in said.split("\n") if line.strip()]
        last = words[-1] if words else "and said nothing"
        return [f"the command ended with status {done.returncode}: {last.strip()}"]

    def close(self) -> None:
        """Close what the script has left open."""
        self._process.close()

    def _await_returns(self) -> None:
        """Let calls return whose time has come: the next may need what they give."""
        now = self._player.wire.now()
        for blocking in self._blocking:
            window = blocking.window
            if window is not None and not window.is_early(now):
                left = window.latest + window.tolerance + window.grain - now
                blocking.thread.join(max(left, 0) / 1e9)

    def _tell(self, effect: Effect | None) -> None:
        if effect is not None:
            self._player.catch_up()
        match effect:
            case Listens():
                self._player.flows.listening()
            case Connects(remote, port):
                self._player.flows.connecting(remote, port)

    def _start(self, event: tree.Event, call: tree.Syscall, prepared: Prepared, due: int) -> None:
        times = self._player.times
        assert call.until is not None
        window = times.window_to(event.time, call.until)
        blocking = _Blocking(event, call, prepared, threading.current_thread(), window, times.slip)

        def run() -> None:
            waited = _waited()
            blocking.differences = prepared.run()
            blocking.waited = _waited() - waited

        blocking.thread = threading.Thread(target=run, daemon=True)
        before = self._player.wire.now()
        blocking.thread.start()
        deadline = time.monotonic() + _FALLING_ASLEEP
        while prepared.timing is None and not prepared.is_asleep and time.monotonic() < deadline:
            time.sleep(_LOOK_AGAIN)
        times.acted(event.time, due, Span(before, self._player.wire.now()))
        self._blocking.append(blocking)

    def _judge(self, blocking: _Blocking) -> None:
        timing, window = blocking.prepared.timing, blocking.window
        if timing is None:
            self._blame(blocking.event, blocking.call, (), "it has not returned")
            return
        differences = blocking.differences
        slip = max(self._player.times.slip - blocking.slip, 0)
        if window is not None:
            # What was waited for the processor is not the kernel's time.
            returned = timing.after - timing.queued - blocking.waited
            early = window.is_early(timing.after)
            late = window.is_late(returned - slip)
            if early or late:
                at = self._player.times.since_start
                differences += (
                    Difference(
                        "time of its return",
                        f"{at(window.earliest) / 1e9:.6f} s",
                        f"{at(timing.after if early else returned) / 1e9:.6f} s",
                    ),
                )
        if differences:
            self._blame(blocking.event, blocking.call, differences)

    def _blame(
        self,
        event: tree.Event,
        call: tree.Syscall,
        differences: tuple[Difference, ...],
        problem: str = "",
    ) -> None:
        self._player.outcome.failures.append(
            Failure(
                line=event.at.line,
                problem=problem or "; ".join(map(str, differences)),
                expected=show_action(call),
                differences=differences,
            )
        )

    def _run_code(self, event: tree.Event, code: tree.Code) -> None:
        try:
            self._names.update(self._process.tcp_info())
        except CallError as error:
            self._player.fail(event, f"no values for the code: {error}")
            return
        printed = io.StringIO()
        try:
            # On its lines of the script, which its errors name, and with the last one ended.
            text = "\n" * (event.at.line - 1) + code.text.strip(" \t") + "\n"
            program = compile(text, "the script", "exec")
            with contextlib.redirect_stdout(printed):
                exec(program, self._names)
        except (Exception, SystemExit) as error:  # whatever a script's code raises
            self._player.fail(
                event,
                f"{type(error).__name__}: {error}".removesuffix(": "),
                expected=code.text.strip(),
                differences=(Difference("code", "no exception", type(error).__name__),),
            )
        if printed.getvalue():
            self._player.outcome.notes.append(f"line {event.at.line}: {printed.getvalue().strip()}")


def _waited() -> int:
    """ns that the main thread has waited for a processor, in all; 0 where nobody counts."""
    try:
        return int(_SCHEDULING.read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _wake_up(_number: int, _frame: FrameType | None) -> None:
    """A call that blocks returns with EINTR."""

"""Starts commands where the client is: `python -I -S starter.py FD DIRECTORY`.

It is small, so that it forks in no time, and stands between the suite and the commands, which need
not wait for each other. One JSON message of FD for each: `{"start": ID, "words": [...], "own":
bool, "out": path, "err": path}`, `own` where the words are our sender's and need no new Python; or
`{"kill": ID}`. It answers `{"ended": ID, "status": N}`, and ends, with all that it started and the
directory of its files, when the other end is closed, however that came.
"""

import contextlib
import ctypes
import importlib
import json
import os
import select
import signal
import socket
import sys

_LARGEST = 1 << 16
_NOT_STARTED = 127
_PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None)


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    # It outlives who started it by as long as it takes to tidy up.
    _libc.prctl(_PR_SET_PDEATHSIG, 0, 0, 0, 0)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    running: dict[int, int] = {}
    wake, woken = os.pipe()
    for each in (wake, woken):
        os.set_blocking(each, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([control.fileno(), wake], [], [])
        if wake in ready:
            os.read(wake, _LARGEST)
            _tell_ended(control, running)
        if control.fileno() in ready:
            try:
                message = control.recv(_LARGEST)
            except ConnectionResetError:
                break
            if not message:
                break
            asked = json.loads(message)
            if "kill" in asked:
                _kill([pid for pid, each in running.items() if each == asked["kill"]])
            else:
                pid = _start(asked["words"], asked["out"], asked["err"], own=asked["own"])
                running[pid] = asked["start"]
    _kill(running)
    _remove(sys.argv[2])


def _remove(directory: str) -> None:
    with contextlib.suppress(OSError):
        for each in os.scandir(directory):
            os.unlink(each)
        os.rmdir(directory)


def _tell_ended(control: socket.socket, running: dict[int, int]) -> None:
    # Whether anybody still listens is told by `control`.
    with contextlib.suppress(ChildProcessError, BrokenPipeError, ConnectionResetError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            pid, status = found
            answer = {"ended": running.pop(pid), "status": os.waitstatus_to_exitcode(status)}
            control.send(json.dumps(answer).encode())


def _kill(pids: "list[int] | dict[int, int]") -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _start(words: list[str], out: str, err: str, *, own: bool) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpgid(pid, pid)
        return pid
    try:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(_NOT_STARTED)
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        flags = os.O_WRONLY | os.O_CREAT
        for at, name in ((1, out), (2, err)):
            os.dup2(os.open(name, flags, 0o600), at)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        if own:
            sys.argv = words[3:]
            os._exit(importlib.import_module("sender").main())
        os.execvp(words[0], words)
    except OSError as error:
        os.write(2, f"cannot start {words[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(_NOT_STARTED)


if __name__ == "__main__":
    main()

"""Starts commands in the client's namespace: `python -I -S launcher.py FD DIRECTORY`.

It is small, so that it forks quickly. Commands run concurrently. A JSON message on FD starts one:
`{"start": ID, "words": [...], "own": bool, "out": path, "err": path}`; with `own`, the words call
linux_client.py, which needs no new Python. `{"kill": ID}` kills a command, and the launcher answers
`{"ended": ID, "status": N}` when one has ended. When the other end of FD is closed, for whatever
reason, it kills all that it started, removes DIRECTORY with its files, and ends.
"""

import contextlib
import ctypes
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys

_LARGEST = 1 << 16
_NOT_STARTED = 127
_PR_SET_PDEATHSIG = 1
_LARGEST_FILE = 64 << 20
"""Bytes that a command may write into a file: what it prints is kept in files of ours."""

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
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        least = _LARGEST_FILE if most < 0 else min(_LARGEST_FILE, most)
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))
        flags = os.O_WRONLY | os.O_CREAT
        for at, name in ((1, out), (2, err)):
            os.dup2(os.open(name, flags, 0o600), at)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        if own:
            sys.argv = words[3:]
            os._exit(importlib.import_module("linux_client").main())
        os.execvp(words[0], words)
    except OSError as error:
        os.write(2, f"cannot start {words[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(_NOT_STARTED)


if __name__ == "__main__":
    main()

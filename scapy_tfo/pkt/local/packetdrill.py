"""Runs scripts with packetdrill itself, if it is on PATH."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel import interface
from scapy_tfo.lab.process.forking import signals_held_back
from scapy_tfo.lab.process.namespace import die_with_parent, enter_namespace
from scapy_tfo.pkt.checks.portable import refuse_additions
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.settings import IPV6
from scapy_tfo.pkt.local.pool import Answer
from scapy_tfo.pkt.local.programs import environment
from scapy_tfo.pkt.local.run import Task
from scapy_tfo.pkt.local.watchdog import Guard
from scapy_tfo.pkt.play.outcome import Failure, Outcome

NAME = "packetdrill"
WHERE = (
    "Fedora, EPEL, openSUSE, nixpkgs and the FreeBSD ports have a package of that name; Debian, "
    "Ubuntu and PyPI have none"
)
_OWN_OPTION = re.compile(r"^--(\w+)", re.MULTILINE)
_RAISED = re.compile(r"^\w*(?:Error|Exception|Exit)\b")
_PLACE = re.compile(r"^[^\s:]+:(\d+): *(?:runtime |semantic |parse )?(?:error|warning)?:? *(.*)")


def find() -> str:
    """Where the binary is. Raises SetupError where there is none."""
    found = shutil.which(NAME)
    if found is None:
        raise SetupError(f"{NAME} is not on PATH: {WHERE}")
    return found


def run(binary: str, task: Task, *, longest: float = 180.0) -> Answer:
    """Run a script with it, in a namespace of its own. longest: seconds, then it is ended.

    Where the script has this project's additions, which packetdrill does not know, or is not in the
    language, the answer is the ScriptError that says so.
    """
    try:
        refuse_additions(parse(task.text, task.name), task.text, task.name)
    except ScriptError as error:
        return error
    parent = os.getpid()

    def prepare(let_through: Callable[[], None]) -> None:
        let_through()
        enter_namespace()
        die_with_parent(parent)
        interface.bring_up("lo")

    started = time.monotonic()
    command = [binary, *_arguments(task), Path(task.name).name]
    try:
        with signals_held_back() as let_through:
            process = subprocess.Popen(
                command,
                cwd=task.directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment(),
                preexec_fn=lambda: prepare(let_through),
                process_group=0,
            )
    except subprocess.SubprocessError:
        return SetupError(f"cannot make a network namespace for {NAME}: run as root")
    except OSError as error:
        return SetupError(f"cannot run {binary}: {error.strerror}")
    guard = Guard()
    guard.watch(process.pid)
    try:
        said, _ = process.communicate(timeout=longest)
    except subprocess.TimeoutExpired:
        problem = f"{NAME} did not end within {longest:g} s"
        return Outcome([Failure(line=0, problem=problem)], seconds=longest)
    finally:
        # Commands of the script may still run.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        guard.forget(process.pid)
        guard.close()
    outcome = Outcome(seconds=time.monotonic() - started)
    if process.returncode:
        outcome.failures.append(_failure(said.decode(errors="replace"), process.returncode))
    return outcome


def _arguments(task: Task) -> list[str]:
    """What the script does not say itself, since the command line would win."""
    settings = task.settings
    local, remote = settings.addresses
    values = {
        "ip_version": settings.version,
        "local_ip": str(local),
        "remote_ip": str(remote),
        "gateway_ip": str(_gateway(str(local), settings.version)),
        "bind_port": str(settings.bind_port),
        "connect_port": str(settings.connect_port),
        "tolerance_usecs": str(settings.tolerance // 1000),
    }
    if settings.version != IPV6:
        values["netmask_ip"] = "255.255.0.0"
    if settings.mtu is not None:
        values["mtu"] = str(settings.mtu)
    own = set(_OWN_OPTION.findall(task.text))
    shown = [f"--{name}={value}" for name, value in values.items() if name not in own]
    for name, value in settings.symbols.items():
        if re.search(rf"\b{re.escape(name)}\b", task.text):
            shown += ["-D", f"{name}={value}"]
    return ["--send_omit_free", *shown]


def _gateway(local: str, version: str) -> str:
    return "fd3d:a0b:17d6:8888::1" if version == IPV6 else local


def _failure(said: str, status: int) -> Failure:
    """What it said, at the line that it names."""
    lines = [line for line in said.splitlines() if line.strip()]
    shown = {
        word: line.partition(":")[2].strip()
        for line in lines
        for word in ("script", "actual")
        if line.startswith(f"{word} packet:")
    }
    raised = [line for line in lines if _RAISED.match(line)]
    for line in lines:
        found = _PLACE.match(line)
        if found is not None and "Python code" in line and raised:
            return Failure(line=int(found[1]), problem=raised[-1])
        if found is not None:
            return Failure(
                line=int(found[1]),
                problem=found[2] or line,
                expected=shown.get("script", ""),
                actual=shown.get("actual", ""),
            )
    return Failure(line=0, problem=lines[-1] if lines else f"it ended with status {status}")

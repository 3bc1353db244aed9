"""Where packets to be read come from: a file, standard input, or an interface."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.dissector import tshark
from scapy_tfo.errors import SetupError

_PATIENCE = 10.0
"""Seconds for a program that was told to end."""


@dataclass(frozen=True, slots=True)
class Source:
    """path: of a file; None for standard input or an interface. interface: its name, captured for
    `seconds`, or until the user interrupts where that is None."""

    name: str
    path: Path | None = None
    interface: str = ""
    seconds: float | None = None

    def check(self) -> None:
        """Raises SetupError where a file is not there."""
        if self.path is not None and not self.path.is_file():
            raise SetupError(f"there is no file {self.path}")

    @contextmanager
    def open(self) -> Iterator[int]:
        """A descriptor to read a capture from. Raises SetupError where there is none."""
        if self.interface:
            with _captured(self.interface, self.seconds) as descriptor:
                yield descriptor
        elif self.path is None:
            yield sys.stdin.fileno()
        else:
            try:
                file = self.path.open("rb")
            except OSError as error:
                raise SetupError(f"cannot read {self.path}: {error.strerror}") from error
            with file:
                yield file.fileno()


def source_of(text: str) -> Source:
    """A file by its name, or standard input for `-`."""
    return Source("standard input") if text == "-" else Source(text, path=Path(text))


def live(interface: str, seconds: float | None) -> Source:
    """What passes an interface from now on."""
    return Source(f"interface {interface}", interface=interface, seconds=seconds)


@contextmanager
def _captured(interface: str, seconds: float | None) -> Iterator[int]:
    """dumpcap's output. An interrupt ends dumpcap, and so what is read, and nothing else."""
    program = shutil.which("dumpcap", path=_beside_tshark())
    if program is None:
        raise SetupError("there is no dumpcap, which captures for Wireshark: install it")
    limit = () if seconds is None else ("-a", f"duration:{max(1, round(seconds))}")
    process = subprocess.Popen(
        [program, "-q", "-i", interface, *limit, "-w", "-"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        with _interrupting(process), process.stdout as packets:
            yield packets.fileno()
        said = process.stderr.read().decode(errors="replace")
        if process.wait(_PATIENCE):
            raise SetupError(f"dumpcap cannot capture on {interface}: {_first(said)}")
    finally:
        process.stderr.close()
        process.kill()
        process.wait()


@contextmanager
def _interrupting(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """SIGINT goes to the process while this lasts; signals are the main thread's."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: _interrupt(process))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)


def _beside_tshark() -> str | None:
    """Where the installers put it: beside tshark, where that is not on PATH."""
    path = tshark.path_of_tshark()
    if path is None or shutil.which("dumpcap") is not None:
        return None
    return str(Path(path).parent)


def _first(said: str) -> str:
    lines = [line.removeprefix("dumpcap: ") for line in said.splitlines() if line.strip()]
    # The first lines name the interface and the file.
    told = [line for line in lines if not line.startswith(("Capturing on", "File:", "Running as"))]
    return " ".join((told or lines or ["it ended"])[0].split())

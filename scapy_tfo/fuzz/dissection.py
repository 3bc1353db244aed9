"""Whether tshark, with a Lua plugin, gets through a capture without an error of the plugin."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.errors import SetupError

PATIENCE = 300.0
"""Seconds for a capture: a plugin that does not end is one that failed."""

_ERRORS = '_ws.lua.error or _ws.expert.message matches "dissector.bug"'
"""The field of a dissector's bug has another name from one version to the next."""

_COMPLAINT = "tshark: "
_MOST_FRAMES = 5


@dataclass(frozen=True, slots=True)
class Dissection:
    """version: of tshark, as it says. problems: one line for each kind, with some of the frames
    that show it; empty where all went well."""

    version: str
    problems: tuple[str, ...]


def has_tshark() -> bool:
    """Whether it is on PATH."""
    return shutil.which("tshark") is not None


def dissect(capture: Path, plugin: Path | None, *, patience: float = PATIENCE) -> Dissection:
    """Let tshark read a capture twice, the second time with all of its tree.

    patience: seconds. Raises SetupError where there is no tshark or no such plugin.
    """
    if not has_tshark():
        raise SetupError("there is no tshark on PATH: install it, or give --no-dissect")
    if plugin is not None and not plugin.is_file():
        raise SetupError(f"there is no plugin {plugin}")
    first_line, _, _ = _run(["tshark", "--version"], patience).stdout.partition("\n")
    version = first_line.partition(" (Git")[0].rstrip(".")
    script = [] if plugin is None else ["-X", f"lua_script:{plugin}"]
    fields = ["-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message"]
    separators = ["-E", "separator=/t", "-E", "aggregator=/s"]
    command = ["tshark", "-n", "-2", "-r", str(capture), *script, "-Y", _ERRORS]
    try:
        done = _run([*command, *fields, *separators, "-E", "occurrence=l"], patience)
    except subprocess.TimeoutExpired:
        return Dissection(version, (f"tshark did not end within {patience:.0f} s",))
    problems = [each for each in done.stderr.splitlines() if each.startswith(_COMPLAINT)]
    if done.returncode < 0:
        problems.append(f"tshark was killed by signal {-done.returncode}")
    elif done.returncode and not problems:
        problems.append(f"tshark ended with status {done.returncode}")
    return Dissection(version, (*problems, *_of_frames(done.stdout)))


def _of_frames(lines: str) -> list[str]:
    frames: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for line in lines.splitlines():
        number, _, message = line.partition("\t")
        what = message.strip() or "an error that tshark does not name"
        counts[what] += 1
        frames.setdefault(what, []).append(number)
    return [
        f"{what} (in {times}: packet {', '.join(frames[what][:_MOST_FRAMES])}"
        f"{', ...' if times > _MOST_FRAMES else ''})"
        for what, times in counts.most_common()
    ]


def _run(command: list[str], patience: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        timeout=patience,
        check=False,
    )

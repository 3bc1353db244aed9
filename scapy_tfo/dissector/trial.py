"""Checks that tshark with a Lua plugin reads a capture without an error of the plugin."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.dissector import tshark
from scapy_tfo.errors import SetupError

PATIENCE = 300.0
"""Seconds for a capture: a plugin that does not end has failed."""

_ERRORS = '_ws.lua.error or _ws.expert.message matches "dissector.bug"'
"""The name of the field for a dissector's bug differs from version to version."""

_MOST_FRAMES = 5


@dataclass(frozen=True, slots=True)
class Trial:
    """version: of tshark, as it says. problems: one line for each kind, with some of the frames
    that show it; empty where all went well."""

    version: str
    problems: tuple[str, ...]


def dissect(capture: Path, plugin: Path | None, *, patience: float = PATIENCE) -> Trial:
    """Let tshark read a capture twice, the second time with all of its tree.

    patience: seconds. Raises SetupError where there is no tshark or no such plugin.
    """
    program = tshark.find()
    if plugin is not None and not plugin.is_file():
        raise SetupError(f"there is no plugin {plugin}")
    fields = ["-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message"]
    separators = ["-E", "separator=/t", "-E", "aggregator=/s", "-E", "occurrence=l"]
    try:
        done = tshark.run_alone(
            program,
            ["-Y", _ERRORS, *fields, *separators],
            capture=capture,
            plugin=plugin,
            patience=patience,
            twice=True,
        )
    except tshark.TooLongError as error:
        return Trial(program.text, (str(error),))
    problems = list(done.complaints)
    if done.status < 0:
        problems.append(f"tshark was killed by signal {-done.status}")
    elif done.status and not problems:
        problems.append(f"tshark ended with status {done.status}")
    return Trial(program.text, (*problems, *_of_frames(done.output)))


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

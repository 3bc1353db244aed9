"""Whether the plugin works: tshark on a capture whose outcomes are known."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.dissector import files, tshark
from scapy_tfo.dissector.folders import Folders
from scapy_tfo.dissector.install import is_current

_FIELDS = ("-T", "fields", "-e", "tcp.stream", "-e", "tfo.outcome")
_PATIENCE = 60.0
_ROOT_IS_REFUSED = (4, 4)
"""From this version on, root's tshark passes over the scripts of users, and -X."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. is_good: None for what is only told."""

    text: str
    is_good: bool | None = None


def check(program: tshark.Tshark, folders: Folders) -> list[Finding]:
    """What can be said of the plugin and its installation: each finding in a line.

    The first that is not good says what to do. Raises SetupError where tshark does not run.
    """
    return list(_findings(program, folders))


def _findings(program: tshark.Tshark, folders: Folders) -> Iterator[Finding]:
    lua = f"Lua {program.lua}" if program.lua else "without Lua: install one with Lua"
    yield Finding(f"{program.text}, {lua} ({program.path})", bool(program.lua))
    if not program.lua:
        return
    wanted = expected_outcomes()
    alone = tshark.run_alone(
        program, _FIELDS, capture=files.sample(), plugin=files.plugin(), patience=_PATIENCE
    )
    trouble = _difference(wanted, alone)
    if trouble:
        yield Finding(f"the plugin {files.plugin()} does not work: {trouble}", False)
        return
    yield Finding(
        f"{files.plugin()} tells the outcomes of the sample ({len(wanted)} of them)", True
    )
    command = [program.path, "-n", "-r", str(files.sample()), *_FIELDS]
    here = tshark.run(command, patience=_PATIENCE)
    trouble = _difference(wanted, here)
    if not trouble:
        yield from _installed(folders)
        yield Finding("Wireshark and tshark load it by themselves", True)
        return
    yield Finding(f"tshark by itself does not load it: {_why(program, folders, here)}", False)


def expected_outcomes() -> dict[int, str]:
    """The outcomes in the sample by tcp.stream."""
    kept = json.loads(files.answers().read_text(encoding="utf-8"))
    return {int(stream): outcome for stream, outcome in kept["outcomes"].items()}


def installed_copies(folders: Folders) -> list[Path]:
    """Where the plugin lies among those that Wireshark loads."""
    places = (folders.plugins, folders.configuration / "plugins", folders.system_plugins)
    found = [place / files.PLUGIN for place in dict.fromkeys(places) if place is not None]
    return [path for path in found if path.is_file()]


def root_advice(program: tshark.Tshark | None, folders: Folders) -> str:
    """What root has to do so that the user's plugins are loaded; "" where nothing."""
    if not _is_root() or program is None or program.version < _ROOT_IS_REFUSED:
        return ""
    system = folders.system_plugins or Path("(Global Lua Plugins of 'tshark -G folders')")
    return (
        "Wireshark 4.4 and later pass over root's own plugins and -X lua_script: run "
        "'scapy-tfo dissector install --system', or write 'run_user_scripts_when_superuser = "
        f"true' into {system / 'init.lua'}, or run Wireshark as another user"
    )


def _installed(folders: Folders) -> Iterator[Finding]:
    source = files.plugin()
    copies = installed_copies(folders)
    for path in copies:
        if not is_current(path, source):
            yield Finding(f"{path} is of another version: 'scapy-tfo dissector install'", False)
    if len(copies) > 1:
        yield Finding(f"it lies in several places: {', '.join(map(str, copies))}")


def _why(program: tshark.Tshark, folders: Folders, done: tshark.Done) -> str:
    copies = installed_copies(folders)
    if not copies:
        return "it is not installed; 'scapy-tfo dissector install' does that"
    if any("Lua" in line for line in done.complaints):
        return f"Lua complains: {' '.join(done.complaints)}"
    stale = [path for path in copies if not is_current(path, files.plugin())]
    if stale:
        return f"{stale[0]} is of another version; 'scapy-tfo dissector install' replaces it"
    # A copy that everybody's tshark loads is loaded for root, too.
    if any(path.parent != folders.system_plugins for path in copies):
        advice = root_advice(program, folders)
        if advice:
            return advice
    return (
        f"{copies[0]} is there, but it gives other outcomes; is Lua switched off (enable_lua in an "
        "init.lua), or the protocol (Analyze, Enabled Protocols)?"
    )


def _difference(wanted: dict[int, str], done: tshark.Done) -> str:
    """How the last outcome of each stream differs from what it should be; "" where none does."""
    seen: dict[int, str] = {}
    for line in done.output.splitlines():
        number, _, told = line.partition("\t")
        if number.isdigit() and told:
            seen[int(number)] = told.split(",")[-1]
    for stream, outcome in wanted.items():
        if seen.get(stream) != outcome:
            said = seen.get(stream, "nothing")
            rest = f" ({' '.join(done.complaints)})" if done.complaints else ""
            return f"of connection {stream} it says {said} where {outcome} is right{rest}"
    extra = seen.keys() - wanted.keys()
    return f"it speaks of connection {min(extra)}, which is plain" if extra else ""


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0

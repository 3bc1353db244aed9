"""Checks that the plugin works: lets tshark read a capture with known outcomes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.dissector import files, tshark
from scapy_tfo.dissector.folders import Folders
from scapy_tfo.dissector.install import is_current

_FIELDS = (
    *("-T", "fields", "-e", "tcp.srcport", "-e", "tcp.dstport", "-e", "tfo.outcome"),
    *("-E", "occurrence=l"),
)
_PATIENCE = 60.0


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
    what = f"the {len(wanted)} connections of the sample"
    yield Finding(f"{files.plugin()} reports the outcomes of {what}", True)
    command = [program.path, "-n", "-r", str(files.sample()), *_FIELDS]
    here = tshark.run(command, patience=_PATIENCE)
    trouble = _difference(wanted, here)
    if not trouble:
        yield from _installed(folders)
        yield Finding("Wireshark and tshark load the installed plugin", True)
        return
    yield Finding(f"tshark does not load the plugin: {_why(program, folders, here)}", False)


def expected_outcomes() -> dict[int, str]:
    """The outcomes in the sample by the client's port, which is of one connection only; "" for one
    without fast open. (Numbers of tcp.stream depend on Wireshark's version.)"""
    kept = json.loads(files.answers().read_text(encoding="utf-8"))
    return {int(port): outcome for port, outcome in kept["outcomes"].items()}


def installed_copies(folders: Folders) -> list[Path]:
    """Where the plugin lies among those that Wireshark loads."""
    places = (folders.plugins, folders.configuration / "plugins", folders.system_plugins)
    found = [place / files.PLUGIN for place in dict.fromkeys(places) if place is not None]
    return [path for path in found if path.is_file()]


def root_advice(program: tshark.Tshark | None, folders: Folders) -> str:
    """What root has to do so that the plugin is loaded; "" where nothing."""
    if not _is_root() or program is None or not program.refuses_root:
        return ""
    place = folders.system_plugins or Path("the folder of global Lua plugins")
    return (
        "Wireshark 4.4 and later do not load root's own plugins: run 'scapy-tfo dissector install"
        " --system', or Wireshark as another user; -X lua_script works with"
        f" 'run_user_scripts_when_superuser = true' in {place / 'init.lua'}"
    )


def _installed(folders: Folders) -> Iterator[Finding]:
    source = files.plugin()
    copies = installed_copies(folders)
    for path in copies:
        if not is_current(path, source):
            yield Finding(f"{path} is of another version: run 'scapy-tfo dissector install'", False)
    if len(copies) > 1:
        yield Finding(f"it is in several places: {', '.join(map(str, copies))}")


def _why(program: tshark.Tshark, folders: Folders, done: tshark.Done) -> str:
    copies = installed_copies(folders)
    advice = root_advice(program, folders)
    if not copies:
        option = " --system" if advice else ""
        return f"it is not installed; 'scapy-tfo dissector install{option}' installs it"
    if advice and folders.system_plugins not in [path.parent for path in copies]:
        return advice
    stale = [path for path in copies if not is_current(path, files.plugin())]
    if stale:
        return f"{stale[0]} is of another version; 'scapy-tfo dissector install' replaces it"
    if any("Lua" in line for line in done.complaints):
        return f"Lua reports: {' '.join(done.complaints)}"
    return (
        f"{copies[0]} is there, but gives other outcomes; is Lua disabled (enable_lua in an "
        "init.lua), or the protocol (Analyze, Enabled Protocols)?"
    )


def _difference(wanted: dict[int, str], done: tshark.Done) -> str:
    """How the last outcome of a connection differs from what it should be; "" where none does."""
    seen: dict[int, str] = {}
    for line in done.output.splitlines():
        source, destination, outcome = line.split("\t")
        if outcome:
            seen[int(source) if int(source) in wanted else int(destination)] = outcome
    for port, outcome in wanted.items():
        if seen.get(port, "") != outcome:
            told = (
                f"for port {port} it says {seen.get(port, 'nothing')} instead of"
                f" {outcome or 'nothing'}"
            )
            return f"{told} ({' '.join(done.complaints)})" if done.complaints else told
    return ""


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0

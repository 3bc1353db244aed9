"""Finds the folders in which Wireshark looks for a user's plugins and profiles."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from scapy_tfo.dissector import tshark

_ASKED = {
    "Personal Lua Plugins": "plugins",
    "Global Lua Plugins": "system_plugins",
    "Personal configuration": "configuration",
}


@dataclass(frozen=True, slots=True)
class Folders:
    """plugins: the user's Lua plugins. system_plugins: everybody's; None where only tshark could
    tell and is not there. configuration: the user's preferences, with the profiles in it."""

    plugins: Path
    configuration: Path
    system_plugins: Path | None = None

    @property
    def profiles(self) -> Path:
        """One directory for each profile."""
        return self.configuration / "profiles"


def folders(program: str | None) -> Folders:
    """As `tshark -G folders` says, or by the rules that it follows where there is no tshark.

    program: path of tshark. Raises SetupError where it does not run.
    """
    told = _told(program) if program is not None else {}
    guess = expected(sys.platform, os.environ, Path.home())
    return Folders(
        plugins=Path(told.get("plugins", guess.plugins)),
        configuration=Path(told.get("configuration", guess.configuration)),
        system_plugins=Path(told["system_plugins"]) if "system_plugins" in told else None,
    )


@dataclass(frozen=True, slots=True)
class Expected:
    """Folders of some platform, which need not be this one."""

    plugins: PurePath
    configuration: PurePath


def expected(platform: str, environment: Mapping[str, str], home: PurePath) -> Expected:
    """Where they are by Wireshark's rules (its wsutil/filesystem.c).

    platform: as `sys.platform`. On Linux and macOS an old `~/.wireshark` counts where the newer
    place is absent.
    """
    given = environment.get("WIRESHARK_CONFIG_DIR")
    if platform == "win32":
        roaming = environment.get("APPDATA") or PureWindowsPath(home, "AppData", "Roaming")
        configuration = PureWindowsPath(given or PureWindowsPath(roaming, "Wireshark"))
        return Expected(configuration / "plugins", configuration)
    posix = PurePosixPath(home)
    plugins = posix / ".local" / "lib" / "wireshark" / "plugins"
    if given:
        return Expected(plugins, PurePosixPath(given))
    base = environment.get("XDG_CONFIG_HOME") or posix / ".config"
    newer, older = PurePosixPath(base, "wireshark"), posix / ".wireshark"
    is_old = not Path(newer).is_dir() and Path(older).is_dir()
    return Expected(plugins, older if is_old else newer)


def _told(program: str) -> dict[str, str]:
    found = {}
    for line in tshark.run([program, "-G", "folders"], patience=60.0).output.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in _ASKED and value.strip():
            found[_ASKED[name.strip()]] = value.strip()
    return found

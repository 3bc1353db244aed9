"""Finds the plugin and its files: in a checkout next to the package, in a wheel inside it."""

from __future__ import annotations

from pathlib import Path

from scapy_tfo.errors import SetupError

PLUGIN = "tfo.lua"
_PROFILE = "profile"
_SAMPLE = "sample.pcapng"
_ANSWERS = "sample.json"


def own_plugin() -> Path | None:
    """The plugin; None where there is none."""
    here = Path(__file__).resolve().parent
    for directory in (here.parents[1] / "dissector", here):
        path = directory / PLUGIN
        if path.is_file():
            return path
    return None


def plugin() -> Path:
    """The plugin. Raises SetupError where there is none."""
    path = own_plugin()
    if path is None:
        raise SetupError(f"there is no {PLUGIN} in this installation: reinstall scapy-tfo")
    return path


def profile() -> Path:
    """The directory of the Wireshark profile. Raises SetupError where there is no plugin."""
    return plugin().with_name(_PROFILE)


def sample() -> Path:
    """A capture of connections with known outcomes. Raises SetupError where there is no plugin."""
    return plugin().with_name(_SAMPLE)


def answers() -> Path:
    """What `sample` holds: JSON, {"outcomes": {port of the client: outcome, "" for a connection
    without fast open}}. Raises SetupError where there is no plugin."""
    return plugin().with_name(_ANSWERS)

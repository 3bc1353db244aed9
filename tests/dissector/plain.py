"""The plugin's facts and verdicts in plain Lua, without Wireshark: IP packets in, verdicts out."""

from __future__ import annotations

import importlib
import runpy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "build_plugin.py"

TABLES = "statistics.lua"
WIRESHARKS = ("protocol.lua", "frames.lua", TABLES)
"""Parts that need Wireshark: how frames come, and how the result is shown."""

VERSIONS = ("lua52", "lua53", "lua54")
"""Of Lua: 5.2 is in Wireshark up to 4.2, 5.4 in later ones."""

HARNESS = Path(__file__).with_name("plain.lua")
WINDOW = Path(__file__).with_name("window.lua")

LISTS = {"frames", "problems"}


class PlainLua:
    """One interpreter with the parts of the plugin that are not Wireshark's.

    in_window: also with the tables, in windows of ours.
    """

    def __init__(self, version: str, *, in_window: bool = False) -> None:
        parts = [name for name in runpy.run_path(str(SCRIPT))["PARTS"] if name not in WIRESHARKS]
        parts += [TABLES] if in_window else []
        files = [ROOT / "dissector" / "src" / name for name in parts]
        files = [*([WINDOW] if in_window else []), *files, HARNESS]
        self._lua = importlib.import_module(f"lupa.{version}").LuaRuntime(encoding=None)
        source = b"".join(each.read_bytes() for each in files)
        self._take, self._told, self._forget = self._lua.execute(source)

    def connections(self, packets: Iterable[tuple[float, bytes]]) -> list[dict[str, Any]]:
        """Of times and IP packets, in order: what `-z tfo,json` tells, and the event of each."""
        self._forget()
        for number, (when, packet) in enumerate(packets, 1):
            self._take(packet, number, when)
        return [_python(each) for each in self._told().values()]

    def window(self, name: str, *, plain: bool = False) -> tuple[str, str]:
        """Title and text of a table's window, which may take nothing but plain text."""
        title, text = self._lua.globals()[b"open_table"](name.encode(), plain)
        return title.decode(), text.decode()


def _python(verdict: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in verdict.items():
        key = {"evidence": "frames"}.get(name.decode(), name.decode())
        if key == "problems":
            made[key] = [{k.decode(): _text(v) for k, v in each.items()} for each in value.values()]
        else:
            made[key] = list(value.values()) if key in LISTS else _text(value)
    return made


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value

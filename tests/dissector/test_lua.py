"""The plugin's source: luacheck, and Lua versions."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess

import pytest

from scapy_tfo.dissector.files import own_plugin


def test_luacheck_has_nothing_to_say() -> None:
    program, plugin = shutil.which("luacheck"), own_plugin()
    if program is None:
        pytest.skip("luacheck is not installed: apt-get install lua-check")
    assert plugin is not None
    command = [program, "--no-color", "--config", plugin.with_name(".luacheckrc"), plugin]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "name", ["bit32", r"string\.pack", "utf8", "goto", "loadstring", "setfenv"]
)
def test_what_one_version_of_lua_lacks_is_not_used(name: str) -> None:
    plugin = own_plugin()
    assert plugin is not None
    code = re.sub(r"--.*", "", plugin.read_text(encoding="utf-8"))
    assert not re.search(rf"\b{name}\b", code)


@pytest.mark.parametrize("version", ["lua52", "lua53", "lua54"])
def test_each_version_of_lua_compiles_it(version: str) -> None:
    """All parts are one function, which may have 200 local names: 5.4 counts more of a loop."""
    pytest.importorskip("lupa", reason="lupa is not installed: scripts/setup.sh test")
    plugin = own_plugin()
    assert plugin is not None
    lua = importlib.import_module(f"lupa.{version}").LuaRuntime()
    load = lua.eval("function(text) local _, why = load(text); return why end")
    assert load(plugin.read_text(encoding="utf-8")) is None

"""Calls tshark with the plugin, for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.dissector.files import own_plugin
from scapy_tfo.dissector.tshark import find, has_tshark, run_alone

needs_tshark = pytest.mark.skipif(
    not has_tshark(), reason="tshark is not installed: apt-get install tshark"
)


def tshark(capture: Path, *arguments: str, plugin: bool = True) -> str:
    """What it prints, without a word about Lua beside it. As root it runs as nobody: root's passes
    over the plugin since 4.4."""
    script = own_plugin() if plugin else None
    words = [word for word in arguments if word != "-2"]
    twice = len(words) < len(arguments)
    done = run_alone(find(), words, capture=capture, plugin=script, twice=twice)
    assert "Lua" not in done.errors, done.errors
    assert not done.status, done.errors
    return done.output


def fields(capture: Path, *names: str, arguments: tuple[str, ...] = ()) -> list[list[str]]:
    """A row for each frame; several values of a field are joined by "|"."""
    wanted = [word for name in names for word in ("-e", name)]
    out = tshark(capture, *arguments, "-T", "fields", "-E", "aggregator=|", *wanted)
    return [line.split("\t") for line in out.splitlines()]


def connections(capture: Path, display_filter: str = "") -> list[dict[str, Any]]:
    """`-z tfo,json`, read."""
    tap = f"tfo,json,{display_filter}" if display_filter else "tfo,json"
    lines = tshark(capture, "-q", "-z", tap).splitlines()
    begin, end = lines.index("tfo-json-begin"), lines.index("tfo-json-end")
    return [json.loads(line) for line in lines[begin + 1 : end]]


def table(
    capture: Path, name: str, display_filter: str = "", *, arguments: Iterable[str] = ()
) -> list[list[str]]:
    """The rows of a table below its head, split."""
    tap = f"tfo,{name},{display_filter}" if display_filter else f"tfo,{name}"
    lines = tshark(capture, *arguments, "-q", "-z", tap).splitlines()
    first, last = (at for at, line in enumerate(lines) if line.startswith("====="))
    return [line.split() for line in lines[first + 3 : last]]

"""Says in a sentence what is wrong with the shape of a file that people or tools have written."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    tuple: "a list",
    dict: "a table",
    type(None): "nothing",
}
_SURPLUS = re.compile(r"unexpected keyword argument '(\w+)'")
_LACKING = re.compile(r"missing \d+ required .*?: '(\w+)'")
_OBJECT = re.compile(r"'(\w+)' object")
_INDICES = re.compile(r"^(list|string|tuple) indices")


class ShapeError(ValueError):
    """The message is a sentence without its full stop, about "it", the file."""


def kind_of(value: object) -> str:
    """`a list`, in the words of whoever wrote a file."""
    return _KINDS.get(type(value), "something else")


def tables(text: str, name: str) -> list[Mapping[str, Any]]:
    """The [[name]] tables of a TOML text that has nothing else. Raises ShapeError."""
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ShapeError(f"it is not TOML: {error}") from None
    except RecursionError as error:
        raise ShapeError(sentence(error)) from None
    entries = whole.pop(name, [])
    if whole:
        raise ShapeError(f"it has '{next(iter(whole))}', and should have [[{name}]] tables alone")
    if not isinstance(entries, list):
        raise ShapeError(f"its '{name}' is {kind_of(entries)}, not a list of [[{name}]] tables")
    for number, each in enumerate(entries, 1):
        if not isinstance(each, dict):
            raise ShapeError(f"its {name} {number} is {kind_of(each)}, not a table")
    return entries


def text_of(entry: Mapping[str, Any], field: str, where: str) -> str:
    """A text of an entry. where: which entry that is. Raises ShapeError."""
    if field not in entry:
        raise ShapeError(f"{where} has no '{field}'")
    held = entry[field]
    if not isinstance(held, str):
        raise ShapeError(f"the '{field}' of {where} is {kind_of(held)}, not a text")
    return held


def fault_of(raw: object, wanted: Mapping[str, Any], inside: str = "it") -> str:
    """What a table read from JSON lacks, or holds of another kind, or "".

    wanted: each field with its type, `float` for any number, or with the same of a table in it.
    """
    if not isinstance(raw, dict):
        return f"{inside} is {kind_of(raw)}, not a table"
    for name, kind in wanted.items():
        if name not in raw:
            return f"{inside} has no '{name}'"
        held = raw[name]
        if isinstance(kind, Mapping):
            fault = fault_of(held, kind, f"its '{name}'")
            if fault:
                return fault
            continue
        wide = (int, float) if kind is float else kind
        if isinstance(held, bool) or not isinstance(held, wide):
            return f"the '{name}' of {inside} is {kind_of(held)}, not {_KINDS[kind]}"
    return ""


def sentence(error: Exception) -> str:
    """What an error of a reader means to whoever wrote the file, without Python's words."""
    said = str(error)
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, OverflowError):
        return "a number is too large"
    if isinstance(error, UnicodeDecodeError):
        return f"it is not text in UTF-8 (see byte {error.start})"
    if isinstance(error, KeyError):
        return f"the field '{error.args[0] if error.args else '?'}' is missing"
    if isinstance(error, TypeError | AttributeError | IndexError):
        if found := _SURPLUS.search(said):
            return f"there is no field '{found[1]}'"
        if found := _LACKING.search(said):
            return f"the field '{found[1]}' is missing"
        if found := _OBJECT.search(said) or _INDICES.search(said):
            names = {kind.__name__: name for kind, name in _KINDS.items()} | {"string": "a text"}
            return f"{names.get(found[1], 'a value')} stands where something else belongs"
        return "a value is not of the kind that belongs there"
    return said

"""Makes the parser of grammar.lark, or loads it from the table that was made of it.

To make it takes longer than a short script takes to run. The table holds for one grammar and one
version of lark, by its key; with any other, the parser is made.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import re
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

import lark
from lark import Lark, Token

GRAMMAR = Path(__file__).with_name("grammar.lark")
TABLE = Path(__file__).with_name("grammar.json")

Callbacks = Mapping[str, Callable[[Token], Token]]
"""Called with each token of a terminal, by its name."""

_START = "script"
_OPTIONS: Mapping[str, Any] = MappingProxyType(
    {
        "start": _START,
        "parser": "lalr",
        "lexer": "contextual",
        "g_regex_flags": int(re.ASCII),
        "propagate_positions": True,
        "maybe_placeholders": True,
    }
)
_SHIFT = 0


def parser(callbacks: Callbacks) -> Lark:
    """The parser of the language."""
    grammar = GRAMMAR.read_text(encoding="utf-8")
    return loaded(grammar, callbacks) or made(grammar, callbacks)


def made(grammar: str, callbacks: Callbacks) -> Lark:
    """A parser of a grammar."""
    return Lark(grammar, lexer_callbacks=dict(callbacks), **_OPTIONS)


def loaded(grammar: str, callbacks: Callbacks, table: Path = TABLE) -> Lark | None:
    """The same out of a table; None if it was made of another grammar, or by another lark."""
    try:
        stored = json.loads(table.read_bytes())
    except (OSError, ValueError):
        return None
    if stored["key"] != _key(grammar):
        return None
    data = stored["data"]
    data["options"]["lexer_callbacks"] = dict(callbacks)
    actions = data["parser"]["parser"]
    actions["tokens"] = dict(enumerate(actions["tokens"]))
    actions["states"] = {
        number: {token: (action, argument) for token, action, argument in row}
        for number, row in enumerate(actions["states"])
    }
    return Lark.load({"data": data, "memo": dict(enumerate(stored["memo"]))})


def table_of(grammar: str) -> dict[str, Any]:
    """What the table of a grammar holds: the same at each time, so that two can be compared."""
    kept = BytesIO()
    made(grammar, {}).save(kept, exclude_options=["lexer_callbacks"])
    found = pickle.loads(kept.getvalue())
    data, memo = found["data"], found["memo"]
    data["parser"]["parser"] = _numbered(data["parser"]["parser"])
    table = {
        "lark": lark.__version__,
        "key": _key(grammar),
        "data": data,
        "memo": [memo[each] for each in range(len(memo))],
    }
    copy: dict[str, Any] = json.loads(json.dumps(table))
    return copy


def _key(grammar: str) -> str:
    about = json.dumps([lark.__version__, dict(_OPTIONS), grammar])
    return hashlib.sha256(about.encode()).hexdigest()


def _numbered(actions: dict[str, Any]) -> dict[str, Any]:
    """Actions with tokens in the order of their names, and with states in the order in which they
    are reached from the start: lark numbers both by sets, another way at each time."""
    tokens = sorted(actions["tokens"].values())
    place = {name: number for number, name in enumerate(tokens)}
    first = actions["start_states"][_START]
    order, numbers, rows = [first], {first: 0}, []
    for state in order:
        row = []
        for token, (action, argument) in sorted(
            (place[actions["tokens"][token]], does)
            for token, does in actions["states"][state].items()
        ):
            if action == _SHIFT and argument not in numbers:
                numbers[argument] = len(order)
                order.append(argument)
            row.append([token, action, numbers[argument] if action == _SHIFT else argument])
        rows.append(row)
    ends = {name: numbers[state] for name, state in actions["end_states"].items()}
    return {"tokens": tokens, "states": rows, "start_states": {_START: 0}, "end_states": ends}

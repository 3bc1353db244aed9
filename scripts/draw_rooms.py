"""Draws the rooms of the package, and which may know which, into docs/developing.md.

The table is docs/rooms.toml, which tests/test_architecture.py reads, too. Run `make rooms` after a
change of it, or of the first line of a folder's `__init__.py`.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "scapy_tfo"
TABLE = ROOT / "docs" / "rooms.toml"
PAGE = ROOT / "docs" / "developing.md"
BEGIN, END = "<!-- rooms: begin -->\n", "<!-- rooms: end -->\n"
VALUES = "values"


def load() -> dict[str, Any]:
    """The table as it is written."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def arrows(table: dict[str, Any]) -> dict[str, set[str]]:
    """Room -> rooms that it may import, without the values; "lab/*" taken apart."""
    rooms = table["rooms"]

    def meant(word: str) -> Iterator[str]:
        folder = word.removesuffix("/*")
        if folder == word:
            yield word
        else:
            yield from (room for room in rooms if room == folder or room.startswith(f"{folder}/"))

    return {
        room: {each for word in words for each in meant(word)} - {room}
        for room, words in rooms.items()
    }


def floors(graph: dict[str, set[str]]) -> list[list[str]]:
    """Rooms by height, the lowest first: a room stands above all that it may import."""
    height: dict[str, int] = {}

    def of(room: str) -> int:
        if room not in height:
            height[room] = 1 + max((of(below) for below in graph[room]), default=0)
        return height[room]

    for room in graph:
        of(room)
    return [
        [room for room in graph if height[room] == floor]
        for floor in range(1, max(height.values()) + 1)
    ]


def title(room: str) -> str:
    """What the room is for: the first sentence of its docstring."""
    path = PACKAGE / room / "__init__.py"
    if not path.exists():
        path = PACKAGE / f"{room}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n\n")[0].replace("\n", " ").rstrip(".")


def whole(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same between folders of the first level, each with all that is inside it."""
    top: dict[str, set[str]] = {}
    for room, below in graph.items():
        inner = top.setdefault(room.partition("/")[0], set())
        inner |= {each.partition("/")[0] for each in below}
    return {room: below - {room} for room, below in top.items()}


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without the arrows that others imply."""

    def reach(room: str) -> set[str]:
        return graph[room].union(*(reach(below) for below in graph[room]))

    return {
        room: {each for each in below if not any(each in reach(other) for other in below)}
        for room, below in graph.items()
    }


def drawing(table: dict[str, Any]) -> str:
    """The picture as a Mermaid diagram, and the rooms as a table, the highest floor first."""
    graph = arrows(table)
    lines = ["```mermaid", "flowchart TD"]
    picture = reduced(whole(graph))
    for room, below in picture.items():
        lines += [f"    {room} --> {each}" for each in sorted(below)]
        if not below:
            lines.append(f"    {room} --> {VALUES}")
    lines += [
        "```",
        "",
        "| floor | room | what is in it | what it may import |",
        "|---|---|---|---|",
    ]
    levels = floors(graph)
    for floor in range(len(levels), 0, -1):
        for room in levels[floor - 1]:
            words = ", ".join(f"`{word}`" for word in table["rooms"][room])
            lines.append(f"| {floor} | `{room}` | {title(room)} | {words or 'values'} |")
    names = ", ".join(f"`{each}`" for each in table["values"])
    lines.append(f"| 0 | values | {names} | each other |")
    return "\n".join(lines) + "\n"


def page(table: dict[str, Any]) -> str:
    """docs/developing.md with the drawing of this table."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{drawing(table)}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(load()), encoding="utf-8")

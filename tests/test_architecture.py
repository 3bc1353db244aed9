"""The rooms of the package and the arrows between them, read from the imports.

docs/rooms.toml is the table of what may import what; docs/developing.md draws it.
"""

from __future__ import annotations

import ast
import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "scapy_tfo"
DRAWER = runpy.run_path(str(ROOT / "scripts" / "draw_rooms.py"))
TABLE = DRAWER["load"]()

# Only these read files, of the values.
READERS = {"spec", "freedoms", "tcp_rules"}
VALUES = set(TABLE["values"])
ARROWS: dict[str, set[str]] = {room: set() for room in VALUES} | DRAWER["arrows"](TABLE)

# The sans-IO core is handed its time and its bytes.
SANS_IO = VALUES - READERS | set(TABLE["sans_io"])
OUTSIDE_WORLD = {
    *("asyncio", "concurrent", "multiprocessing", "threading", "sched", "signal", "subprocess"),
    *("socket", "select", "selectors", "ssl", "http", "urllib", "fcntl", "pyroute2"),
    *("os", "io", "pathlib", "shutil", "tempfile", "mmap"),
    *("time", "datetime", "logging"),
}
OUTSIDE_CALLS = {"open", "print", "input"}

LINE_LIMIT = 400
ROOM_LIMIT = 14
"""Modules of a folder, `__init__` and subfolders aside."""
FUNCTION_LIMIT = 60
# Function -> its lines. They may only shrink, and no more may be added.
LONG_FUNCTIONS: dict[str, int] = {}
# Path from the repository's root -> why it may be longer.
LONG_FILES = {"dissector/tfo.lua": "built from shorter ones: users copy one file"}


@dataclass(frozen=True)
class Import:
    """One import statement's target, as a full dotted name."""

    name: str
    line: int
    at_module_level: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str | None:
    """The room of a module of the package: its folder; None for the package itself."""
    parts = module.split(".")[1:]
    if len(parts) > 1 and modules()[module].name != "__init__.py":
        parts = parts[:-1]
    return "/".join(parts) or None


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def statements(node: ast.AST, at_module_level: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """Every node below `node`, and whether importing the module runs it."""
    for child in ast.iter_child_nodes(node):
        deferred = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        runs = at_module_level and not deferred and not is_type_checking(child)
        yield child, runs
        yield from statements(child, runs)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def modules() -> dict[str, Path]:
    return {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def imports_of(path: Path) -> tuple[Import, ...]:
    found = []
    for node, runs in statements(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno, runs) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = module_name(path).split(".")
                up = node.level - (path.name == "__init__.py")
                base = ".".join([*here[: len(here) - up], *filter(None, [node.module])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.append(Import(full if full in modules() else base, node.lineno, runs))
    return tuple(found)


def where(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def test_every_room_has_its_place() -> None:
    unplaced = {room_of(module) for module in modules()} - {None} - set(ARROWS)
    assert not unplaced, "give these rooms a line in docs/rooms.toml, as low as they can stand"


def test_every_place_has_its_room() -> None:
    rooms = {room_of(module) for module in modules()}
    assert set(ARROWS) <= rooms, "docs/rooms.toml names rooms that are not there"
    assert set().union(*ARROWS.values()) <= set(ARROWS)


def test_the_page_shows_the_table() -> None:
    assert DRAWER["PAGE"].read_text() == DRAWER["page"](TABLE), "run `make rooms`"


def test_the_drawing_itself_only_points_down() -> None:
    list(TopologicalSorter(ARROWS).static_order())


def test_arrows_between_rooms_point_down() -> None:
    wrong = []
    for module, path in modules().items():
        room = room_of(module)
        allowed = ARROWS.get(room, set()) | VALUES | {room, None} if room else set(ARROWS)
        for found in imports_of(path):
            if found.name in modules() and room_of(found.name) not in allowed:
                wrong.append(f"{where(path, found.line)} {room} -> {room_of(found.name)}")
    assert not wrong


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    """Also not by imports for the type checker, or inside functions."""
    graph = {
        module: {
            found.name
            for found in imports_of(path)
            if found.name in modules() and found.name != module
        }
        for module, path in modules().items()
    }
    list(TopologicalSorter(graph).static_order())


def test_the_core_does_no_io_and_reads_no_clock() -> None:
    wrong = []
    for module, path in modules().items():
        if room_of(module) not in SANS_IO:
            continue
        wrong += [
            f"{where(path, found.line)} imports {found.name}"
            for found in imports_of(path)
            if found.name.split(".")[0] in OUTSIDE_WORLD
        ]
        wrong += [
            f"{where(path, node.lineno)} calls {node.func.id}()"
            for node, _ in statements(tree_of(path))
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in OUTSIDE_CALLS
        ]
    assert not wrong


def test_scapy_is_imported_only_when_asked_for() -> None:
    """Importing Scapy costs up to a second, and changes what other users of it see."""
    slow = {"scapy", "scapy_tfo.scapy_bridge"}
    wrong = [
        f"{where(path, found.line)} {found.name}"
        for module, path in modules().items()
        if module != "scapy_tfo.scapy_bridge"
        for found in imports_of(path)
        if found.at_module_level and (found.name in slow or found.name.startswith("scapy."))
    ]
    assert not wrong


def test_a_room_is_small_enough_to_look_around_in() -> None:
    held: dict[str, int] = {}
    for path in modules().values():
        if path.name != "__init__.py":
            folder = str(path.parent.relative_to(PACKAGE))
            held[folder] = held.get(folder, 0) + 1
    held.pop(".")
    full = {each: held[each] for each in held.keys() - set(TABLE["shelves"])}
    assert not {each: count for each, count in full.items() if count > ROOM_LIMIT}
    assert set(TABLE["shelves"]) <= held.keys()


def test_the_root_holds_the_values_and_the_front_doors() -> None:
    doors = {"cli", "pytest_plugin", "pytest_scripts", "scapy_bridge", "__main__", "__init__"}
    assert {path.stem for path in PACKAGE.glob("*.py")} == VALUES | doors


def test_a_function_is_short_enough_to_read() -> None:
    long = {}
    for module, path in modules().items():
        for node, _ in statements(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LIMIT:
                    long[f"{module.removeprefix('scapy_tfo.')}.{node.name}"] = lines
    assert long == LONG_FUNCTIONS, "split what is new; list what shrank as it is now"


@pytest.mark.parametrize("folder", ["scapy_tfo", "tests", "bench", "fuzz", "dissector"])
def test_a_file_is_short_enough_to_read(folder: str) -> None:
    long = {}
    for path in (ROOT / folder).rglob("*"):
        if path.suffix in {".py", ".lua"}:
            lines = path.read_text(encoding="utf-8").count("\n")
            if lines > LINE_LIMIT and str(path.relative_to(ROOT)) not in LONG_FILES:
                long[str(path.relative_to(ROOT))] = lines
    assert not long, f"over {LINE_LIMIT} lines: split by what each part knows"


def test_exceptions_for_long_files_are_still_needed() -> None:
    needless = [
        name
        for name in LONG_FILES
        if not (ROOT / name).exists() or (ROOT / name).read_text().count("\n") <= LINE_LIMIT
    ]
    assert not needless


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import scapy.all", True),
        ("if x:\n    import scapy", True),
        ("class A:\n    import scapy", True),
        ("def f():\n    import scapy", False),
        ("async def f():\n    import scapy", False),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import scapy", False),
    ],
)
def test_module_level_is_what_an_import_of_the_module_runs(source: str, expected: bool) -> None:
    runs = [
        at_module_level
        for node, at_module_level in statements(ast.parse(source))
        if isinstance(node, ast.Import) and node.names[0].name.startswith("scapy")
    ]
    assert runs == [expected]

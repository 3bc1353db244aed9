"""The rooms of the package and the arrows between them, read from the imports.

docs/developing.md draws the same picture for people.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "scapy_tfo"

# Values and bytes: what every room may use. Only `spec` reads files.
VALUES = {"address", "cookie", "errors", "icmp", "option", "segment", "seq", "spec", "values"}
MECHANISMS = VALUES | {"scapy_bridge", "reference", "wire"}
JUDGES = MECHANISMS | {"lab", "mutants", "suite", "cases"}

# Room -> rooms it may import. A room that is missing here has no place yet: give it one.
ARROWS: dict[str, set[str]] = {
    **dict.fromkeys(VALUES, VALUES),
    "scapy_bridge": VALUES,
    "reference": VALUES,
    "mutants": VALUES | {"reference"},
    "wire": VALUES | {"scapy_bridge"},
    "middleboxes": VALUES,
    "lab": MECHANISMS | {"mutants", "middleboxes"},
    "suite": MECHANISMS | {"lab", "mutants"},
    "cases": MECHANISMS | {"lab", "suite"},
    "client_mutants": VALUES | {"reference", "mutants"},
    "clients": MECHANISMS | {"middleboxes", "lab", "mutants", "suite"},
    "client_cases": VALUES | {"suite", "clients"},
    "path": MECHANISMS | {"middleboxes", "lab", "suite"},
    "pkt": JUDGES,
    "fuzz": JUDGES | {"pkt"},
    "dissector": VALUES,
    "report": JUDGES | {"pkt", "fuzz", "dissector", "clients", "middleboxes"},
    "listing": VALUES | {"mutants", "suite", "pkt", "clients"},
    "front": JUDGES | {"report"},
    "matrix_command": JUDGES | {"report"},
    "pytest_plugin": JUDGES | {"pkt", "report", "pytest_scripts"},
    "pytest_scripts": JUDGES | {"pkt", "report"},
    "lab_command": MECHANISMS | {"lab", "mutants"},
    "pkt_command": JUDGES | {"pkt", "report", "pkt_export_command", "pkt_run_command"},
    "pkt_run_command": JUDGES | {"pkt", "report"},
    "pkt_export_command": JUDGES | {"pkt"},
    "soak_command": JUDGES | {"arguments", "report", "front"},
    "fuzz_command": {
        "arguments",
        "fuzz_run_command",
        "fuzz_store_command",
        "fuzz_boofuzz_command",
        "fuzz_capture_command",
        "fuzz_cluster_command",
        "errors",
    },
    "fuzz_cluster_command": VALUES | {"fuzz", "report", "fuzz_run_command"},
    "fuzz_capture_command": VALUES | {"fuzz", "dissector"},
    "fuzz_boofuzz_command": VALUES | {"fuzz", "report"},
    "fuzz_run_command": VALUES | {"fuzz", "report", "front"},
    "fuzz_store_command": VALUES | {"fuzz", "report", "fuzz_run_command"},
    "dissector_command": VALUES | {"arguments", "dissector"},
    "capture_command": VALUES | {"arguments", "dissector", "report", "front"},
    "arguments": set(),
    "gain": MECHANISMS | {"lab"},
    "gain_front": VALUES | {"arguments", "gain", "front", "report"},
    "gain_latency_command": VALUES | {"arguments", "gain", "gain_front"},
    "gain_rate_command": VALUES | {"arguments", "gain", "gain_front"},
    "gain_cost_command": VALUES | {"arguments", "gain", "gain_front"},
    "gain_pages_command": VALUES | {"arguments", "gain", "gain_front"},
    "gain_command": {
        "gain_cost_command",
        "gain_latency_command",
        "gain_pages_command",
        "gain_rate_command",
    },
    "client_command": VALUES
    | {"arguments", "clients", "middleboxes", "mutants", "suite", "front", "listing"},
    "path_command": MECHANISMS | {"middleboxes", "lab", "path", "suite", "arguments", "report"},
    "cli": JUDGES
    | {
        "pkt",
        "fuzz",
        "report",
        "listing",
        "front",
        "lab_command",
        "pkt_command",
        "fuzz_command",
        "soak_command",
        "matrix_command",
        "dissector_command",
        "capture_command",
        "client_command",
        "path_command",
        "arguments",
        "gain_command",
    },
    "__main__": {"cli"},
}

# The sans-IO core is handed its time and its bytes.
SANS_IO = VALUES - {"spec"} | {"reference", "mutants", "middleboxes"}
OUTSIDE_WORLD = {
    *("asyncio", "concurrent", "multiprocessing", "threading", "sched", "signal", "subprocess"),
    *("socket", "select", "selectors", "ssl", "http", "urllib", "fcntl", "pyroute2"),
    *("os", "io", "pathlib", "shutil", "tempfile", "mmap"),
    *("time", "datetime", "logging"),
}
OUTSIDE_CALLS = {"open", "print", "input"}

LINE_LIMIT = 400
# Path from the repository's root -> why it may be longer.
LONG_FILES = {"dissector/tfo.lua": "users copy one file to where Wireshark looks"}


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
    """The room of a module of the package; None for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


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
    assert not unplaced, "give these rooms a line in ARROWS, as low as they can stand"


def test_the_drawing_itself_only_points_down() -> None:
    order = {room: targets - {room} for room, targets in ARROWS.items() if room not in VALUES}
    list(TopologicalSorter(order).static_order())


def test_arrows_between_rooms_point_down() -> None:
    wrong = []
    for module, path in modules().items():
        room = room_of(module)
        allowed = ARROWS.get(room, set()) | {room, None} if room else set(ARROWS)
        for found in imports_of(path):
            if found.name.split(".")[0] == "scapy_tfo" and room_of(found.name) not in allowed:
                wrong.append(f"{where(path, found.line)} {room} -> {room_of(found.name)}")
    assert not wrong


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    graph = {
        module: {
            found.name
            for found in imports_of(path)
            if found.at_module_level and found.name in modules() and found.name != module
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

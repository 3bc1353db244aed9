"""Runs the files and modules in which users register cases, mutants and variants of their own."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from scapy_tfo.errors import SetupError

GROUP = "scapy_tfo.cases"
"""Of entry points: each names a module, which registers what it has when it is imported."""

_loaded: set[Path] = set()


def load_file(path: Path) -> None:
    """Run a Python file once. What it registers then belongs to the registries.

    Raises SetupError where it cannot be read, is no Python, or fails, with the line.
    """
    place = path.resolve()
    if place in _loaded:
        return
    name = f"scapy_tfo_own_{len(_loaded)}_{place.stem}"
    made = importlib.util.spec_from_file_location(name, place)
    if made is None or made.loader is None:
        raise SetupError(f"cannot load {path}: give a Python file, NAME.py")
    module = importlib.util.module_from_spec(made)
    sys.modules[name] = module
    try:
        made.loader.exec_module(module)
    except OSError as error:
        raise SetupError(f"cannot load {path}: {error.strerror or error}") from None
    except SetupError:
        raise
    except Exception as error:
        raise SetupError(f"cannot load {path}: {_told(error, place)}") from None
    _loaded.add(place)


def load_files(paths: Iterable[Path]) -> None:
    """Run each of the files. Raises SetupError as `load_file` does."""
    for path in paths:
        load_file(path)


def load_installed() -> None:
    """Import what installed packages name as entry points of GROUP. Raises SetupError."""
    for each in entry_points(group=GROUP):
        _load(each)


def _load(entry: EntryPoint) -> None:
    try:
        entry.load()
    except Exception as error:
        package = entry.dist.name if entry.dist else "a package"
        raise SetupError(
            f"cannot load the cases of {package} ({entry.value}): {_told(error, None)}"
        ) from None


def _told(error: Exception, place: Path | None) -> str:
    """The error in one line, with the line of the file that it came from."""
    said = " ".join(f"{type(error).__name__}: {error}".split())
    frames = [each for each in traceback.extract_tb(error.__traceback__) if place is not None]
    lines = [each.lineno for each in frames if Path(each.filename) == place]
    return f"line {lines[-1]}: {said}" if lines else said

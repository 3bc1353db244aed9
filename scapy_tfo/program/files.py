"""Reads programs from JSON files: one of a finding, one by itself, or a directory of them."""

from __future__ import annotations

import json
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.program.program import Program, from_json
from scapy_tfo.shape import sentence


def read_program(path: Path) -> tuple[Program, str | None]:
    """A program, and the target where it was found if the file says so.

    The record of a finding gives its reduced program. Raises SetupError.
    """
    program, target, _ = read_finding(path)
    return program, target


def read_finding(path: Path) -> tuple[Program, str | None, tuple[str, str]]:
    """The same, and rule and requirement of what it showed, "" where the file does not say."""
    try:
        raw = json.loads(path.read_text("utf-8"))
        held = raw if isinstance(raw, dict) else {}
        name = str(held.get("rule", "")), str(held.get("requirement", ""))
        return from_json(held.get("reduced", raw)), held.get("target"), name
    except OSError as error:
        raise SetupError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise SetupError(
            f"{path} holds no program: {sentence(error)}; 'scapy-tfo fuzz export' writes such files"
        ) from error


def read_directory(directory: Path) -> dict[str, Program]:
    """The programs of a directory's *.json files, by their names. Raises SetupError."""
    found = {path.stem: read_program(path)[0] for path in sorted(directory.glob("*.json"))}
    if not found:
        raise SetupError(f"no programs in {directory}: it must hold *.json files")
    return found

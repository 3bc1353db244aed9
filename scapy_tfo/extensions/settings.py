"""Reads the table [tool.scapy-tfo] of a repository's pyproject.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.shape import kind_of
from scapy_tfo.stacks.fields import Fields
from scapy_tfo.stacks.file import APPS

FILE = "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a repository says once for all. cases: Python files. target: "" for none. known: the
    list of known failures. app: "" where not given."""

    cases: tuple[Path, ...] = ()
    target: str = ""
    known: Path | None = None
    app: str = ""


def read_settings(directory: Path) -> Settings:
    """The table in the directory's pyproject.toml; without either, nothing is set.

    Paths in it are relative to the directory. Raises SetupError, which names the key.
    """
    path = directory / FILE
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise SetupError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        # Whose tool it is complains of a damaged file; nothing of ours is known to be in it.
        return Settings()
    tools = raw.get("tool", {})
    table = tools.get("scapy-tfo") if isinstance(tools, dict) else None
    if table is None:
        return Settings()
    if not isinstance(table, dict):
        raise SetupError(f"{path}: 'tool.scapy-tfo' is {kind_of(table)}: write a table")
    fields = Fields(table, str(path), "tool.scapy-tfo.")
    known, app = fields.text("known", ""), fields.text("app", "")
    made = Settings(
        cases=tuple(directory / each for each in fields.texts("cases", _FILES, ())),
        target=_target(directory, fields.text("target", "")),
        known=directory / known if known else None,
        app=app,
    )
    if app and app not in APPS:
        raise fields.wrong("app", repr(app), " or ".join(APPS))
    fields.end()
    return made


_FILES = 'a list of Python files, such as ["tests/tfo_cases.py"]'


def _target(directory: Path, target: str) -> str:
    """A target file is named relative to the directory, too."""
    is_relative_file = target.endswith(".toml") and ":" not in target
    return str(directory / target) if is_relative_file else target

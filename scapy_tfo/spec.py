"""The requirements of `specs/` as values: the statement, source and level of each.

The data is TOML, one file for each group of ids. It is looked for in the directory that the
environment variable SCAPY_TFO_SPECS names, else in the `specs` directory beside the package
(a source checkout), else in the one inside it (an installed wheel).
"""

from __future__ import annotations

import enum
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError

ENVIRONMENT = "SCAPY_TFO_SPECS"

GROUPS = ("OPT", "SRV", "ACC", "LIM", "DUP", "AFT", "CLI", "PATH", "REL", "PERF")
"""Groups of ids in the order of the catalogue. Each has one file, named in lower case."""

ROLES = ("wire", "server", "client", "path", "recognised", "benchmark")
"""Who a requirement binds, or what is done with it."""

VIEWPOINTS = ("wire", "application", "command", "inside", "simulation")
"""From where a requirement can be observed.

wire: packets alone. application: its answers (echo, HTTP). command: one that makes the target
open connections. inside: the target's own counters, keys or sockets. simulation: only in
simulation, or by reading the code.
"""

_ID = re.compile(r"[A-Z]+-[1-9][0-9]*[a-z]?")
_HEADER = "[[requirement]]"
_FILE_FIELDS = {"title": str, "role": str, "requirement": list}
_FIELDS = {
    "id": str,
    "source": list,
    "section": str,
    "level": str,
    "statement": str,
    "observed": list,
    "how": str,
}
_OPTIONAL = {"note": str}


class Level(enum.StrEnum):
    """How binding a requirement is, strongest first.

    MUST, SHOULD, MAY: the keyword of the source. STEP: a step of the protocol that carries no
    keyword. ROBUST: follows from plain TCP, or from surviving bad input. DESIGN: a mechanism
    that a source describes without demanding it.
    """

    MUST = "MUST"
    STEP = "step"
    ROBUST = "robust"
    SHOULD = "SHOULD"
    MAY = "MAY"
    DESIGN = "design"

    @property
    def fails_run(self) -> bool:
        """A FAIL at this level fails the run, strict or not."""
        return self in (Level.MUST, Level.STEP, Level.ROBUST)

    @property
    def can_fail(self) -> bool:
        """False for what is only recorded."""
        return self not in (Level.MAY, Level.DESIGN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One rule of TCP Fast Open, in our words.

    id: group, number, and a letter for a rule split off another, e.g. `CLI-8a`. source: where
    it stands, e.g. `RFC 7413 section 4.1.1`. section: what that clause is about. role: one of
    ROLES. observed: some of VIEWPOINTS. how: how it is observed. note: where sources differ,
    and what is not demanded; "" for none.
    """

    id: str
    source: tuple[str, ...]
    section: str
    level: Level
    role: str
    statement: str
    observed: tuple[str, ...]
    how: str
    note: str = ""

    @property
    def group(self) -> str:
        """The part of the id before the dash, one of GROUPS."""
        return self.id.partition("-")[0]


class Catalogue(Mapping[str, Requirement]):
    """Requirements by id, in the order of GROUPS and of their files. Immutable."""

    def __init__(self, requirements: Mapping[str, Requirement], titles: Mapping[str, str]) -> None:
        self._requirements = dict(requirements)
        self._titles = dict(titles)

    def __getitem__(self, key: str) -> Requirement:
        return self._requirements[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._requirements)

    def __len__(self) -> int:
        return len(self._requirements)

    def group(self, name: str) -> tuple[Requirement, ...]:
        """The requirements of one group, e.g. "OPT". Raises KeyError for an unknown group."""
        self.title(name)
        return tuple(r for r in self._requirements.values() if r.group == name)

    def title(self, name: str) -> str:
        """The title of a group. Raises KeyError for an unknown group."""
        return self._titles[name]


def directory() -> Path:
    """Where the requirements are read from when nobody says otherwise.

    Raises SetupError if there is no such directory.
    """
    override = os.environ.get(ENVIRONMENT)
    if override:
        if not Path(override).is_dir():
            raise SetupError(
                f"{ENVIRONMENT}={override} is not a directory: "
                "point it at the directory of opt.toml, or unset it"
            )
        return Path(override)
    package = Path(__file__).resolve().parent
    # A wheel has no pyproject.toml beside the package; a checkout keeps its data in one place.
    if (package.parent / "pyproject.toml").is_file() and (package.parent / "specs").is_dir():
        return package.parent / "specs"
    if (package / "specs").is_dir():
        return package / "specs"
    raise SetupError(
        f"no requirements found beside or in {package}: reinstall scapy-tfo, "
        f"or set {ENVIRONMENT} to the directory of opt.toml"
    )


def load(where: Path | None = None) -> Catalogue:
    """Read every group from the TOML files in `where`, or in directory() for None.

    Raises SetupError for a missing or damaged file: one line that names the file, the line or
    the field, and what to do.
    """
    base = directory() if where is None else where
    titles: dict[str, str] = {}
    found: dict[str, Requirement] = {}
    for group in GROUPS:
        path = base / f"{group.lower()}.toml"
        title, requirements = _read(path, group)
        titles[group] = title
        for number, requirement in enumerate(requirements):
            if requirement.id in found:
                raise _damaged(path, number, "id", f"{requirement.id} is used twice; rename one")
            found[requirement.id] = requirement
    return Catalogue(found, titles)


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """A file of specs/, which holds `what`. Raises SetupError where it is missing or no TOML."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise SetupError(
            f"{path}: cannot read {what} ({error.strerror}): "
            f"restore the file, or set {ENVIRONMENT} to a complete directory"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SetupError(f"{path}: not valid TOML ({error}): correct or restore it") from None


def _read(path: Path, group: str) -> tuple[str, list[Requirement]]:
    data = read_toml(path, f"the requirements of {group}")
    _check_fields(path, None, data, _FILE_FIELDS, {})
    if data["role"] not in ROLES:
        raise _damaged(path, None, "role", f"{data['role']!r} is none of {', '.join(ROLES)}")
    return data["title"], [
        _requirement(path, number, entry, group, data["role"])
        for number, entry in enumerate(data["requirement"])
    ]


def _requirement(path: Path, number: int, entry: Any, group: str, role: str) -> Requirement:
    if not isinstance(entry, dict):
        raise _damaged(path, number, "requirement", f"write each one as a {_HEADER} table")
    _check_fields(path, number, entry, _FIELDS, _OPTIONAL)
    if not (_ID.fullmatch(entry["id"]) and entry["id"].startswith(f"{group}-")):
        raise _damaged(path, number, "id", f"{entry['id']!r} is not {group}-NUMBER, e.g. {group}-1")
    if entry["level"] not in list(Level):
        levels = ", ".join(Level)
        raise _damaged(path, number, "level", f"{entry['level']!r} is none of {levels}")
    for viewpoint in entry["observed"]:
        if viewpoint not in VIEWPOINTS:
            allowed = ", ".join(VIEWPOINTS)
            raise _damaged(path, number, "observed", f"{viewpoint!r} is none of {allowed}")
    return Requirement(
        id=entry["id"],
        source=tuple(entry["source"]),
        section=entry["section"],
        level=Level(entry["level"]),
        role=role,
        statement=entry["statement"],
        observed=tuple(entry["observed"]),
        how=entry["how"],
        note=entry.get("note", ""),
    )


def _check_fields(
    path: Path,
    number: int | None,
    table: dict[str, Any],
    required: Mapping[str, type],
    optional: Mapping[str, type],
) -> None:
    for name in required:
        if name not in table:
            raise _damaged(path, number, name, "missing; add it")
    for name, value in table.items():
        kind = required.get(name) or optional.get(name)
        if kind is None:
            known = ", ".join((*required, *optional))
            raise _damaged(path, number, name, f"unknown; the fields are {known}")
        if not isinstance(value, str if kind is str else list):
            raise _damaged(
                path, number, name, f"must be {'a string' if kind is str else 'an array'}"
            )
        if not value or (isinstance(value, str) and not value.strip()):
            raise _damaged(path, number, name, "empty; fill it in")
        strings = name in ("source", "observed")
        if strings and isinstance(value, list) and not all(isinstance(v, str) and v for v in value):
            raise _damaged(path, number, name, "must be an array of strings")


def _damaged(path: Path, number: int | None, field: str, what: str) -> SetupError:
    """An error at one field. number: of the entry, counted from 0; None for the file's head."""
    where = str(path)
    if number is not None:
        lines = path.read_text(encoding="utf-8").splitlines()
        headers = [i for i, line in enumerate(lines, 1) if line.strip() == _HEADER]
        if number < len(headers):
            where += f", requirement at line {headers[number]}"
    return SetupError(f"{where}: field {field}: {what}")

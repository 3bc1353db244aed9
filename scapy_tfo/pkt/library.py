"""Finds scripts in files and directories, and reads their requirements and symbols."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.language.settings import IPV4, IPV6, MAPPED, VERSIONS, Settings
from scapy_tfo.pkt.local.run import Task

SYMBOLS = "symbols.toml"
"""Beside scripts or above them: a table of each IP version, NAME = "VALUE"."""

RUNNERS = ("packetdrill/run_all.py", "ksft_runner.sh")
"""Beside published scripts or above them: Google's runner and that of the kernel's selftests, which
say for each IP version what symbols stand for."""

SUFFIX = ".pkt"
SLOW = "-slow.pkt"
"""How the name of a script ends that waits for long timers."""

_HEADER = re.compile(r"// *((?:[A-Z]+-[1-9][0-9]*[a-z]?[ ,]*)+)")
_MTU_IPV6 = 1520
"""So that the MSS is the 1460 bytes that scripts write for both versions."""

_LEVELS_UP = 3
_LEVELS_UP_TO_RUNNER = 6
_IP_VERSION = re.compile(r"--ip_version=([\w-]+)")
_DEFINITION = re.compile(r"-D (\w+)=([\w:.]+)")


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """A script as it lies there. requirements: the ids in its first line."""

    path: Path
    text: str
    requirements: tuple[str, ...]

    @property
    def versions(self) -> tuple[str, ...]:
        """The IP versions that it can be for, by its name and its options."""
        stated = re.search(r"^--ip_version=(\S+)", self.text, re.MULTILINE)
        if stated is not None and stated[1] in VERSIONS:
            return (stated[1],)
        if self.path.name.endswith("v6.pkt"):
            return (IPV6,)
        if self.path.name.endswith("v4.pkt") or _has_ipv4_address(self.text):
            return (IPV4, MAPPED)
        return VERSIONS


def own_directory() -> Path:
    """Where this project's own scripts are: beside the package in a source checkout, inside it
    in an installed wheel."""
    package = Path(__file__).resolve().parents[1]
    beside = package.parent / "packetdrill"
    return beside if beside.is_dir() else package / "packetdrill"


def find_scripts(places: Iterable[str]) -> list[ScriptFile]:
    """Every script that is named, or lies in or below a directory that is named.

    Raises SetupError where there is none, or one cannot be read.
    """
    found: list[ScriptFile] = []
    for place in map(Path, places):
        paths = sorted(place.rglob(f"*{SUFFIX}")) if place.is_dir() else [place]
        if not paths:
            raise SetupError(f"no script in {place}: it holds no file named *{SUFFIX}")
        found += map(read_script, paths)
    return found


def scripts_by_requirement() -> dict[str, list[str]]:
    """This project's own scripts, `packetdrill/server/NAME.pkt`, by the id of what each checks."""
    found: dict[str, list[str]] = {}
    home = own_directory()
    for script in find_scripts([str(home)]) if home.is_dir() else ():
        for identity in script.requirements:
            name = str(Path(home.name) / script.path.relative_to(home))
            found.setdefault(identity, []).append(name)
    return found


def text_of(data: bytes) -> str:
    """A script's text: UTF-8, or Latin-1 where it is not that, as in the comments of old ones."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_script(path: Path) -> ScriptFile:
    """Raises SetupError."""
    try:
        text = text_of(path.read_bytes()).replace("\r\n", "\n")
    except OSError as error:
        raise SetupError(f"cannot read {path}: {error.strerror}") from error
    header = _HEADER.fullmatch(text.split("\n", 1)[0].strip())
    ids = tuple(re.findall(r"[A-Z]+-\d+[a-z]?", header[1])) if header else ()
    return ScriptFile(path, text, ids)


def task_of(script: ScriptFile, version: str, base: Settings, given: Mapping[str, str]) -> Task:
    """The script to be run for an IP version. given: symbols of the command line, which win.

    Without a file of symbols, those of a published runner count. Raises SetupError where a file of
    symbols is damaged.
    """
    mtu = base.mtu
    if mtu is None and version == IPV6 and not script.path.name.endswith("v6.pkt"):
        mtu = _MTU_IPV6
    symbols = {**_symbols(script.path, version), **given}
    settings = replace(base, version=version, symbols=symbols, mtu=mtu)
    return Task(str(script.path), script.text, script.path.resolve().parent, settings)


def chosen_versions(wanted: Sequence[str], script: ScriptFile) -> tuple[str, ...]:
    """Of the wanted IP versions those that the script can be for, in this order."""
    return tuple(each for each in wanted if each in script.versions)


def _has_ipv4_address(text: str) -> bool:
    return re.search(r"^--(?:local|remote)_ip=\d+\.", text, re.MULTILINE) is not None


def _symbols(path: Path, version: str) -> dict[str, str]:
    for directory in list(path.resolve().parents)[:_LEVELS_UP]:
        file = directory / SYMBOLS
        if file.is_file():
            return _read_symbols(file, version)
    for directory in list(path.resolve().parents)[:_LEVELS_UP_TO_RUNNER]:
        for runner in map(directory.joinpath, RUNNERS):
            if runner.is_file():
                return _definitions(_read_runner(runner), version)
    return {}


def _read_runner(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise SetupError(f"cannot read the symbols in {file}: {error.strerror}") from error


def _definitions(runner: str, version: str) -> dict[str, str]:
    """What a runner defines beside this IP version, up to where it names the next."""
    found: dict[str, str] = {}
    parts = _IP_VERSION.split(runner)
    for named, text in zip(parts[1::2], parts[2::2], strict=True):
        if named == version:
            found.update(_DEFINITION.findall(text))
    return found


def _read_symbols(file: Path, version: str) -> dict[str, str]:
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SetupError(f"cannot read the symbols in {file}: {error}") from error
    table = tables.get(version, {})
    if not isinstance(table, dict) or not all(isinstance(each, str) for each in table.values()):
        raise SetupError(f'{file}: [{version}] must be a table of NAME = "VALUE"')
    return table

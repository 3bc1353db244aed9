"""Finds tshark and its version, and runs it without the user's settings and plugins."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scapy_tfo.errors import SetupError

_OFF_THE_PATH = (
    "/Applications/Wireshark.app/Contents/MacOS/tshark",
    r"C:\Program Files\Wireshark\tshark.exe",
)
_VERSION = re.compile(r"(\d+)\.(\d+)\.\d+")
_LUA = re.compile(r"Lua\s+(\d+\.\d+(?:\.\d+)?)")
_PREFIX = "tshark: "
_NOBODY = 65534
_ROOT_IS_REFUSED = (4, 4)
"""From this version on, tshark ignores the scripts of users, and -X, when run by root."""

_AT_ONCE = 60.0
"""Seconds that are enough for a command that reads no capture of the user's."""


class TooLongError(SetupError):
    """It did not end in time."""


@dataclass(frozen=True, slots=True)
class Tshark:
    """path: of the program. text: `TShark (Wireshark) 4.0.17`. version: (4, 0). lua: `5.2.4`, or
    "" where it was built without."""

    path: str
    text: str
    version: tuple[int, int]
    lua: str

    @property
    def refuses_root(self) -> bool:
        """Whether it ignores the scripts of users, and -X, when run by root."""
        return self.version >= _ROOT_IS_REFUSED


@dataclass(frozen=True, slots=True)
class Done:
    """What a run came to. complaints: what tshark itself said was wrong, line by line. errors: all
    that it said there."""

    status: int
    output: str
    complaints: tuple[str, ...]
    errors: str


def path_of_tshark() -> str | None:
    """On PATH, or where the installers of macOS and Windows put it; None where it is not."""
    return next(filter(None, map(shutil.which, ("tshark", *_OFF_THE_PATH))), None)


def has_tshark() -> bool:
    """Whether this machine has one."""
    return path_of_tshark() is not None


def find() -> Tshark:
    """The tshark of this machine. Raises SetupError where there is none, or it does not run."""
    path = path_of_tshark()
    if path is None:
        raise SetupError(
            "there is no tshark on PATH: install it (Debian, Ubuntu: apt-get install tshark; "
            "elsewhere it comes with Wireshark)"
        )
    return _known(path)


@cache
def _known(path: str) -> Tshark:
    done = run([path, "--version"], patience=_AT_ONCE)
    text = done.output.partition("\n")[0].partition(" (Git")[0].rstrip(".")
    number = _VERSION.search(text)
    if number is None:
        raise SetupError(f"{path} --version prints no version ({_last(done)}): reinstall it")
    lua = _LUA.search(done.output)
    return Tshark(path, text, (int(number[1]), int(number[2])), lua[1] if lua else "")


def run(command: Sequence[str], *, patience: float | None = None) -> Done:
    """Run a command in the user's own environment. patience: seconds.

    Raises SetupError where it cannot be started or takes longer.
    """
    return _run(list(command), patience, {})


def run_alone(
    tshark: Tshark,
    arguments: Sequence[str],
    *,
    capture: Path,
    plugin: Path | None = None,
    patience: float | None = None,
    twice: bool = False,
) -> Done:
    """Let tshark read a capture with this plugin and nothing of the user's: no preferences, no
    other plugin.

    As root it runs as nobody, where that is possible: since 4.4 root's tshark passes over every
    script but the global ones, and dissectors are no code to run as root. The capture is handed
    in as standard input, so that nobody needs no right to it; what is read twice (`-2`) has to be
    a file, so that a copy is. Raises SetupError where the capture cannot be opened or tshark
    cannot be started, TooLongError where it takes longer than `patience` seconds.
    """
    with _alone(plugin) as (place, script, environment):
        try:
            source = ["-r", "-"]
            if twice:
                source = ["-2", "-r", _readable_copy(capture, place)]
            command = [tshark.path, "-n", *source, *script, *arguments]
            with capture.open("rb") as file:
                return _run(command, patience, environment, file.fileno(), is_alone=True)
        except OSError as error:
            raise SetupError(f"cannot read {capture}: {error.strerror}") from error


def stream_alone(
    tshark: Tshark,
    arguments: Sequence[str],
    *,
    source: int,
    plugin: Path,
    take: Callable[[str], None],
) -> Done:
    """As `run_alone`, but hand each line of the output on as it comes, and keep none: `output` is
    "". source: a descriptor to read the capture from. take: may raise, which ends tshark.

    An interrupt from the terminal does not reach it: it ends with its source. Raises SetupError.
    """
    with _alone(plugin) as (_, script, environment), tempfile.TemporaryFile() as said:
        command = [tshark.path, "-n", "-r", "-", *script, *arguments]
        process = _started(command, environment, source, said.fileno())
        try:
            assert process.stdout is not None
            with process.stdout as lines:
                for line in lines:
                    take(line.rstrip("\r\n"))
            status = process.wait()
        finally:
            process.kill()
            process.wait()
        said.seek(0)
        errors = said.read().decode(errors="replace")
        return Done(status, "", _complaints(errors), errors)


def _started(
    command: list[str], environment: dict[str, str], source: int, errors: int
) -> subprocess.Popen[str]:
    for user in (_NOBODY, None) if _may_be_another() else (None,):
        try:
            return subprocess.Popen(
                command,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
                env={**os.environ, **environment},
                start_new_session=True,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
            )
        except PermissionError as error:
            if user is None:
                raise SetupError(f"cannot run {command[0]}: {error.strerror}") from error
        except OSError as error:
            raise SetupError(f"cannot run {command[0]}: {error.strerror}") from error
    raise AssertionError("the last user of the list is ourselves")


@contextmanager
def _alone(plugin: Path | None) -> Iterator[tuple[Path, list[str], dict[str, str]]]:
    """A directory that everybody may read; the words that load the plugin; an environment without
    anything of the user's."""
    with tempfile.TemporaryDirectory(prefix="scapy-tfo-") as name:
        place = Path(name)
        place.chmod(0o755)
        script = []
        if plugin is not None:
            script = ["-X", f"lua_script:{_readable_copy(plugin, place)}"]
        empty = place / "empty"
        empty.mkdir()
        names = ("HOME", "XDG_CONFIG_HOME", "WIRESHARK_CONFIG_DIR", "WIRESHARK_PLUGIN_DIR")
        yield place, script, dict.fromkeys((*names, "APPDATA"), str(empty))


def _run(
    command: list[str],
    patience: float | None,
    environment: dict[str, str],
    standard_input: int = subprocess.DEVNULL,
    *,
    is_alone: bool = False,
) -> Done:
    for user in (_NOBODY, None) if is_alone and _may_be_another() else (None,):
        try:
            done = subprocess.run(
                command,
                stdin=standard_input,
                capture_output=True,
                text=True,
                errors="replace",
                env={**os.environ, **environment},
                timeout=patience,
                check=False,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
            )
        except subprocess.TimeoutExpired as error:
            raise TooLongError(f"{command[0]} did not end within {patience:.0f} s") from error
        except PermissionError as error:
            if user is None:
                raise SetupError(f"cannot run {command[0]}: {error.strerror}") from error
        except OSError as error:
            raise SetupError(f"cannot run {command[0]}: {error.strerror}") from error
        else:
            complaints = _complaints(done.stderr)
            return Done(done.returncode, done.stdout, complaints, done.stderr)
    raise AssertionError("the last user of the list is ourselves")


def _readable_copy(file: Path, place: Path) -> str:
    copy = place / file.name
    shutil.copyfile(file, copy)
    copy.chmod(0o644)
    return str(copy)


def _may_be_another() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


def _complaints(errors: str) -> tuple[str, ...]:
    """The lines from the first complaint on; what comes before is about root and the like."""
    lines = [line for line in errors.splitlines() if line.strip()]
    at = next((n for n, line in enumerate(lines) if line.startswith(_PREFIX)), len(lines))
    return tuple(" ".join(line.removeprefix(_PREFIX).split()) for line in lines[at:])


def _last(done: Done) -> str:
    return done.complaints[-1] if done.complaints else f"status {done.status}"

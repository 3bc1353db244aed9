"""Reads a target file: how to start a stack, its addresses and ports, its hooks (docs/hooks.md)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.segment import Address
from scapy_tfo.shape import sentence
from scapy_tfo.stacks.fields import Fields

SUFFIX = ".toml"
_OURS = ("sim:", "lab:")

APPS = ("echo", "http", "none")
ROLES = ("main", "second", "plain", "small")
"""Of ports: the listener that is judged; another with fast open on, one with it off, and an echo
with a limit of `SMALL` pending fast opens."""

SMALL = 4

_SIZE = re.compile(r"(?:send|send-close|send-abort|two-sends|half-close):(?:0|[1-9][0-9]{0,7})")
_PLAIN_APPS = ("echo", "http", "mute", "close", "abort", "never-reads")

_READY_WITHIN, _ANSWER_WITHIN = 10.0, 10.0


@dataclass(frozen=True, slots=True)
class Start:
    """How a stack is started. argv: program and arguments. ready: text of the line that it prints
    when it is. within: seconds that this may take."""

    argv: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str]
    ready: str
    within: float


@dataclass(frozen=True, slots=True)
class HooksWay:
    """How hooks are reached: by a Unix socket, or else by a command that is run. within: seconds
    that an answer may take. first_port: of listeners, None for the agent's choice."""

    socket: Path | None
    argv: tuple[str, ...]
    within: float
    first_port: int | None


@dataclass(frozen=True, slots=True)
class StackFile:
    """What a target file says. addresses: IP addresses or host names. direct: packets come and go
    as they are sent, each once and in order. ports: by role; empty where hooks open the listeners.
    standing: ports by application of listeners that are there."""

    path: Path
    name: str
    version: str
    addresses: tuple[str, ...]
    app: str
    iface: str | None
    sources: tuple[Address, ...]
    intrusive: bool
    direct: bool = False
    ports: Mapping[str, int] = field(default_factory=dict)
    standing: Mapping[str, int] = field(default_factory=dict)
    start: Start | None = None
    hooks: HooksWay | None = None

    @property
    def title(self) -> str:
        """Name and version."""
        return " ".join(filter(None, [self.name, self.version]))


def is_target_file(name: str) -> bool:
    """Whether a target, as a user or a store names it, is a target file."""
    return name.lower().endswith(SUFFIX) and not name.startswith(_OURS)


def is_app(name: str) -> bool:
    """Whether a name is one of an application of docs/hooks.md."""
    return name in _PLAIN_APPS or _SIZE.fullmatch(name) is not None


def load(path: Path) -> StackFile:
    """Read a target file. Raises SetupError, which names the key and says what to write."""
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SetupError(f"cannot read the target file {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        said = f"it is not TOML: {error}" if isinstance(error, tomllib.TOMLDecodeError) else ""
        raise SetupError(f"cannot read the target file {path}: {said or sentence(error)}") from None
    fields = Fields(raw, str(path))
    start, hooks = _start(fields, path.parent), _hooks(fields, path.parent)
    ports, standing = _ports(fields)
    made = StackFile(
        path=path,
        name=fields.text("name", "") or path.stem,
        version=fields.text("version", ""),
        addresses=fields.texts("address", "an IP address or a host name, or a list of these"),
        app=fields.choice("app", APPS, "echo"),
        iface=fields.text("iface", "") or None,
        sources=tuple(_address(fields, each) for each in fields.texts("sources", _SOURCES, ())),
        intrusive=fields.flag("intrusive", start is not None),
        direct=fields.flag("direct", False),
        ports=ports,
        standing=standing,
        start=start,
        hooks=hooks,
    )
    fields.end()
    if "main" not in ports and hooks is None:
        raise fields.wrong("ports.main", "missing", "the port where 'app' listens, such as 7")
    return made


_SOURCES = "a list of IP addresses to send from"


def _address(fields: Fields, text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError:
        raise fields.wrong("sources", repr(text), _SOURCES) from None


def _start(fields: Fields, here: Path) -> Start | None:
    inner = fields.table("start")
    if inner is None:
        return None
    made = Start(
        argv=inner.argv("command"),
        directory=here / inner.text("directory", "."),
        environment=inner.words("environment"),
        ready=inner.text("ready"),
        within=inner.seconds("within", _READY_WITHIN),
    )
    if not made.ready:
        raise inner.wrong("ready", "empty", "text of the line that it prints when it is ready")
    inner.end()
    return made


def _hooks(fields: Fields, here: Path) -> HooksWay | None:
    inner = fields.table("hooks")
    if inner is None:
        return None
    socket = inner.text("socket", "")
    argv = inner.argv("command", ())
    if bool(socket) == bool(argv):
        what = "given beside hooks.command" if socket else "missing, and so is hooks.command"
        raise inner.wrong("socket", what, "one of them: the path of the agent's Unix socket")
    made = HooksWay(
        socket=here / socket if socket else None,
        argv=argv,
        within=inner.seconds("within", _ANSWER_WITHIN),
        first_port=inner.port("first_port"),
    )
    inner.end()
    return made


def _ports(fields: Fields) -> tuple[dict[str, int], dict[str, int]]:
    """Those by role, and those by application."""
    inner = fields.table("ports")
    if inner is None:
        return {}, {}
    roles = {role: port for role in ROLES if (port := inner.port(role)) is not None}
    standing = {}
    for name in inner.left():
        if not is_app(name):
            known = f"{', '.join(ROLES)}, {', '.join(_PLAIN_APPS)}, or send:N and the like"
            raise inner.wrong(name, "unknown", f"one of {known} (docs/hooks.md)")
        port = inner.port(name)
        if port is not None:
            standing[name] = port
    inner.end()
    return roles, standing

"""Decides which of a script's calls a target's application makes by itself; refuses others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.printing import show_action
from scapy_tfo.pkt.play.actions import Program
from scapy_tfo.pkt.play.player import Player
from scapy_tfo.pkt.remote.refusal import RefusalError, placed

APPS = ("echo", "http", "none")
"""echo: sends back what it gets. http: sends nothing for a script's zeros. none: not known. The
first two close once their client has."""

_READS = frozenset({"read", "readv", "recv", "recvfrom", "recvmsg"})
_WRITES = frozenset({"write", "writev", "send", "sendto", "sendmsg", "sendfile", "splice"})
_CLIENT = frozenset({"MSG_FASTOPEN", "TCP_FASTOPEN_CONNECT"})
_USUAL = frozenset({"TCP_FASTOPEN", "SO_REUSEADDR", "SO_REUSEPORT"})
_KEYS = "TCP_FASTOPEN_KEY"
_AT_ONCE = "TCP_NODELAY"
"""What an application asks for that answers piece by piece; most that do so have it set."""

_MODULUS = 1 << 32
_RETURN_ZERO = frozenset({"bind", "listen", "setsockopt", "close", "shutdown"})
_RETURN_A_DESCRIPTOR = frozenset({"socket", "accept", "accept4"})


_Ends = tuple[tuple[int, int] | None, int]
"""Ports of a connection as a script names them, its own first, and the number of its address."""


class Assumed(Program):
    """Makes no call: only what each means for the packets that follow."""

    def __init__(self, player: Player) -> None:
        self._player = player

    def call(self, event: tree.Event, call: tree.Syscall) -> None:
        self._player.act(event, lambda: None)
        if call.name == "socket":
            self._player.catch_up()
            self._player.flows.socket_made()
        elif call.name == "listen":
            self._player.catch_up()
            self._player.flows.listening()

    def shell(self, event: tree.Event, command: tree.Shell) -> None:
        self._player.act(event, lambda: None)

    def code(self, event: tree.Event, code: tree.Code) -> None:
        self._player.act(event, lambda: None)


def assumptions(script: tree.Script, app: str, *, text: str, name: str) -> list[str]:
    """What is taken for granted of a target where nothing but `app` runs, one line each.

    app: one of APPS. text, name: for messages. Raises ScriptError at the first line that asks for
    what such a target would not do.
    """
    reader = _Reader(app)
    with placed(text, name):
        notes = list(reader.read(script))
    if not any(map(is_looked_at, script.events)):
        raise ScriptError(
            "the script expects no packet of the target, and nothing else of it can be checked",
            name=name,
            text=text,
            line=1,
            column=1,
        )
    return notes


@dataclass(slots=True, eq=False)
class _Client:
    """A connection as the script's packets show it. isn: of the script's side. sent: how many
    bytes it has after each of its packets. delivered: of these, what the target owns to have.
    has_ended: by FIN or RST of the script's side."""

    isn: int = 0
    sent: set[int] = field(default_factory=lambda: {0})
    delivered: int = 0
    has_ended: bool = False

    def send(self, packet: tree.Packet) -> None:
        """The script's side sends this."""
        start, length = packet.range.start, packet.range.length
        if isinstance(start, int) and isinstance(length, int):
            self.sent.add(length if "S" in packet.flags else start - 1 + length)
        self.has_ended = self.has_ended or bool(set(packet.flags) & set("FR"))

    def acknowledge(self, packet: tree.Packet) -> None:
        """The target is to send this."""
        if not isinstance(packet.ack, int) or "." not in packet.flags:
            return
        first = self.isn if "S" in packet.flags else 0
        got = (packet.ack - first - 1 - self.has_ended) % _MODULUS
        if got in self.sent:
            self.delivered = max(self.delivered, got)


@dataclass(slots=True)
class _Session:
    """A connection as the application has it. last: where it read."""

    client: _Client
    read: int = 0
    written: int = 0
    last: tree.Event | None = None


class _Reader:
    """Goes through a script, and knows at each event what the application has and would do."""

    def __init__(self, app: str) -> None:
        self._app = app
        self._started = False
        self._listeners: dict[int, bool] = {}
        self._sessions: dict[int, _Session] = {}
        self._clients: dict[_Ends, _Client] = {}
        self._unaccepted: list[_Client] = []
        self._needs_listener = False

    def read(self, script: tree.Script) -> Iterator[str]:
        first = script.events[0].at.line if script.events else 0
        for command in script.commands:
            if command.at.line <= first:
                yield f"assumed: `{command.shell.command}`"
        has_code = False
        for event in script.events:
            match event.action:
                case tree.Packet(direction=tree.Direction.INBOUND) as packet:
                    self._cookies(event, packet)
                    self._sent(event, packet)
                case tree.Packet() as packet:
                    self._cookies(event, packet)
                    self._heard(packet)
                case tree.AnyOf(packets):
                    for packet in packets:
                        self._cookies(event, packet)
                    self._heard(packets[0])
                case tree.Silence():
                    self._must_be_done(event, delivered=True)
                case tree.Syscall() as call:
                    yield from self._call(event, call)
                case tree.Shell() if self._started:
                    raise RefusalError(
                        event, "commands after the first packet cannot be run on a target"
                    )
                case tree.Shell(shell):
                    yield f"assumed: `{shell}`"
                case tree.Code():
                    has_code = True
        if has_code:
            yield "not checked: %{ }%, since a target does not show its tcp_info"

    # Packets.

    def _cookies(self, event: tree.Event, packet: tree.Packet) -> None:
        for option in packet.options or ():
            if isinstance(option, fields.FastOpen) and isinstance(option.cookie, fields.Symbol):
                raise RefusalError(
                    event,
                    f"the target's key is not known, so {option.cookie.name} cannot be its cookie: "
                    "ask for one, write 'FO *=$C' in the SYN-ACK and 'FO $C' from then on",
                )

    def _sent(self, event: tree.Event, packet: tree.Packet) -> None:
        self._started = True
        if set(packet.flags) & set("FR") or packet.range.length:
            self._must_be_done(event, delivered=False)
        if "S" in packet.flags and "." not in packet.flags:
            if self._needs_listener:
                raise RefusalError(
                    event, "the target's listener stays open: call listen() again first"
                )
            known = self._clients.get(_ends(packet))
            if known is None or known.has_ended:
                start = packet.range.start
                new = _Client(start if isinstance(start, int) else 0)
                self._clients[_ends(packet)] = new
                self._unaccepted.append(new)
        client = self._clients.get(_ends(packet))
        if client is None:
            return
        client.send(packet)
        if "R" in packet.flags and client in self._unaccepted:
            self._unaccepted.remove(client)

    def _heard(self, packet: tree.Packet) -> None:
        client = self._clients.get(_ends(packet))
        if client is not None:
            client.acknowledge(packet)

    def _must_be_done(self, event: tree.Event, *, delivered: bool) -> None:
        """An echo has sent back everything by now. delivered: also what was never read."""
        if self._app != "echo":
            return
        for session in self._sessions.values():
            if session.written < session.read:
                raise RefusalError(
                    session.last or event,
                    f"an echo application sends back all that it reads: {session.read} bytes, not "
                    f"{session.written}, before line {event.at.line}",
                )
        written = sum(each.written for each in self._sessions.values())
        if delivered and not self._sessions and any(c.delivered for c in self._unaccepted):
            raise RefusalError(
                event, "an echo application sends data before this: call accept() first"
            )
        for session in self._sessions.values() if delivered else ():
            if session.read < session.client.delivered:
                raise RefusalError(
                    event,
                    f"an echo application reads and sends back all {session.client.delivered} "
                    f"bytes before this, not {written}",
                )

    # Calls.

    def _call(self, event: tree.Event, call: tree.Syscall) -> Iterator[str]:
        named = set(names_in(call.arguments))
        first = call.arguments[0] if call.arguments else None
        descriptor = first.value if isinstance(first, tree.Number) else -1
        result = call.result.value if isinstance(call.result, tree.Number) else -1
        if call.name == "connect" or named & _CLIENT:
            raise RefusalError(event, "a target's application is a server: it does not connect")
        self._must_succeed(event, call)
        match call.name:
            case "listen":
                self._listeners[descriptor] = True
                self._needs_listener = False
                self._clients.pop((None, 1), None)
            case "accept" | "accept4" if result >= 0:
                waiting = self._unaccepted
                self._sessions[result] = _Session(waiting.pop(0) if waiting else _Client())
            case "setsockopt":
                yield from self._option(event, call, descriptor, named)
            case "close" | "shutdown" if result >= 0:
                self._close(event, call, descriptor)
            case reads if reads in _READS and descriptor in self._sessions:
                session = self._sessions[descriptor]
                session.read += max(result, 0)
                session.last = event
                if session.client.sent != {0} and session.read > max(session.client.sent):
                    raise RefusalError(
                        event, f"only {max(session.client.sent)} bytes were sent to the application"
                    )
            case writes if writes in _WRITES and result > 0:
                self._write(event, descriptor, result)

    def _must_succeed(self, event: tree.Event, call: tree.Syscall) -> None:
        if not isinstance(call.result, tree.Number) or call.errno == "EAGAIN":
            return
        result = call.result.value
        if (call.name in _RETURN_ZERO and result) or (
            call.name in _RETURN_A_DESCRIPTOR and result < 0
        ):
            raise RefusalError(event, f"{call.name}() does not fail in a target's application")

    def _option(
        self, event: tree.Event, call: tree.Syscall, descriptor: int, named: set[str]
    ) -> Iterator[str]:
        is_ready = descriptor in self._listeners or descriptor in self._sessions
        if descriptor in self._sessions and _AT_ONCE in named:
            yield f"assumed: {show_action(call)}"
            return
        if self._started and (is_ready or _KEYS in named):
            raise RefusalError(event, "a target's application keeps its options during a script")
        if not named & _USUAL:
            yield f"assumed: {show_action(call)}"

    def _close(self, event: tree.Event, call: tree.Syscall, descriptor: int) -> None:
        if self._listeners.pop(descriptor, False):
            self._needs_listener = not self._listeners
            return
        session = self._sessions.get(descriptor)
        if session is None:
            return
        if self._app == "none":
            raise RefusalError(
                event, f"it is not known when the target's application closes: {_OTHER}"
            )
        if not session.client.has_ended:
            raise RefusalError(
                event, f"an {self._app} application closes after its client, not before"
            )
        self._must_be_done(event, delivered=False)
        if call.name == "close":
            del self._sessions[descriptor]

    def _write(self, event: tree.Event, descriptor: int, size: int) -> None:
        if self._app != "echo":
            raise RefusalError(
                event, f"it is not known what the target's application answers to zeros: {_OTHER}"
            )
        session = self._sessions.setdefault(descriptor, _Session(_Client()))
        if session.written + size > session.read:
            raise RefusalError(
                event,
                f"an echo application sends what it has read, {session.read - session.written} "
                f"bytes, not {size}",
            )
        session.written += size


_OTHER = "choose another --assume-app"


def _ends(packet: tree.Packet) -> _Ends:
    ports = packet.ports
    if ports is not None and packet.direction is tree.Direction.OUTBOUND:
        ports = ports[1], ports[0]
    return ports, packet.client


def is_looked_at(event: tree.Event) -> bool:
    match event.action:
        case tree.Packet(direction=way) | tree.Icmp(direction=way):
            return way is tree.Direction.OUTBOUND
        case tree.AnyOf() | tree.Silence():
            return True
    return False


def names_in(expressions: tuple[tree.Expression | tree.Field, ...]) -> Iterator[str]:
    for expression in expressions:
        match expression:
            case tree.Name(name):
                yield name
            case tree.Choice(inner) | tree.Array(inner) | tree.Struct(inner):
                yield from names_in(inner)
            case tree.Field(_, value):
                yield from names_in((value,))

"""Decides which of a script's calls a client makes by itself, and what it has to send."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.printing import show_action
from scapy_tfo.pkt.remote.actions import is_looked_at, names_in
from scapy_tfo.pkt.remote.refusal import RefusalError, placed

FILE, NONE = "file", "none"
APPS = (FILE, NONE)
"""file: sends its file at once, reads until the server closes, and closes then. none: not known:
the script's calls are taken for what it does."""

SENDS = frozenset({"write", "writev", "send", "sendto", "sendmsg"})
_NEVER = frozenset({"listen", "accept", "accept4"})
_LATER = frozenset(
    {"EINPROGRESS", "ETIMEDOUT", "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH"}
)
"""What a call that connects may end with once a SYN was sent."""

_HARMLESS = frozenset({"TCP_NODELAY", "SO_REUSEADDR", "SO_ZEROCOPY"})
"""Options that change nothing where all is sent at once."""

_READS = frozenset({"read", "readv", "recv", "recvfrom", "recvmsg"})
_PASSING = frozenset({"frag_needed", "packet_too_big"})
"""ICMP errors after which a connection goes on."""

_OTHER = "choose --assume-app none for one that does"
_ASKS = frozenset({"MSG_FASTOPEN", "TCP_FASTOPEN_CONNECT"})


@dataclass(frozen=True, slots=True)
class Start:
    """A call that starts the client. size: bytes that it has to send. asks: for fast open."""

    size: int
    asks: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """starts: by the places of the calls. notes: what is taken for granted, one line each."""

    starts: dict[tree.Position, Start]
    notes: list[str]


@dataclass(slots=True)
class _Socket:
    """at: of the call that connects. waits: with its SYN for data. by_send: it is one that sends.

    wanted: bytes that the application has asked to send at most; written: that the kernel has
    taken. looked: events by which a client has sent all, and how much was written then.
    next: number of the server's next byte; read: of them the application has so many. is_over: the
    server has ended it.
    """

    asks: bool = False
    at: tree.Position | None = None
    waits: bool = False
    by_send: bool = False
    wanted: int = 0
    written: int = 0
    looked: list[tuple[tree.Event, int]] = field(default_factory=list)
    next: int = 1
    read: int = 0
    has_heard: bool = False
    is_over: bool = False

    def hear(self, packet: tree.Packet) -> None:
        """The script's side sends this."""
        if "S" in packet.flags:
            return
        self.has_heard = True
        start, length = packet.range.start, packet.range.length
        if isinstance(start, int) and isinstance(length, int) and start == self.next:
            self.next += length
            self.is_over = self.is_over or "F" in packet.flags
        self.is_over = self.is_over or "R" in packet.flags


def plan_of(script: tree.Script, app: str, *, text: str, name: str) -> Plan:
    """What such a client does in this script. app: one of APPS. text, name: for messages.

    Raises ScriptError at the first line that asks for what it would not do.
    """
    reader = _Reader(app)
    with placed(text, name):
        notes = list(reader.read(script))
    problem = ""
    if not reader.starts:
        problem = "no call of the script connects: it is none for a client"
    elif not any(map(is_looked_at, script.events)):
        problem = "the script expects no packet of the client, and nothing else can be checked"
    if problem:
        raise ScriptError(problem, name=name, text=text, line=1, column=1)
    return Plan(reader.starts, notes)


@dataclass(slots=True)
class _Reader:
    """Goes through a script, and knows at each event what the client has done."""

    app: str
    starts: dict[tree.Position, Start] = field(default_factory=dict)
    _sockets: dict[int, _Socket] = field(default_factory=dict)
    _current: _Socket | None = None
    _all: list[_Socket] = field(default_factory=list)

    def read(self, script: tree.Script) -> Iterator[str]:
        has_code = False
        for event in script.events:
            match event.action:
                case tree.Packet() | tree.Icmp() as packet:
                    self._packet(event, packet)
                case tree.AnyOf(packets):
                    for each in packets:
                        self._packet(event, each)
                case tree.Silence():
                    self._says_all(event)
                case tree.Syscall() as call:
                    yield from self._call(event, call)
                case tree.Code():
                    has_code = True
        for socket in self._all:
            size = max(socket.wanted, socket.written)
            for event, written in socket.looked if self.app == FILE else ():
                if written < size:
                    raise RefusalError(
                        event,
                        f"the client sends {size} bytes before this, as soon as it is connected, "
                        f"of which the script has written {written}",
                    )
            if socket.at is not None:
                self.starts[socket.at] = Start(size, socket.asks)
        if has_code:
            yield "not checked: %{ }%, since a client does not show its tcp_info"

    def _packet(self, event: tree.Event, packet: tree.Packet | tree.Icmp) -> None:
        if packet.ports:
            raise RefusalError(event, "a client chooses its port by itself: leave out the ports")
        if isinstance(packet, tree.Packet) and packet.client > 1:
            raise RefusalError(event, "a client is told of one address only")
        socket = self._current
        if socket is None:
            raise RefusalError(event, "a client speaks first: connect before this")
        socket.waits = False
        if isinstance(packet, tree.Icmp):
            socket.is_over = socket.is_over or not _PASSING & {packet.type, packet.code}
        elif packet.direction is tree.Direction.INBOUND:
            socket.hear(packet)
        elif "S" not in packet.flags and (packet.range.length or "F" in packet.flags):
            self._says_all(event)

    def _says_all(self, event: tree.Event) -> None:
        """A client that has more to send would have sent it by now."""
        socket = self._current
        if socket is not None and not socket.is_over:
            socket.looked.append((event, socket.written))

    def _call(self, event: tree.Event, call: tree.Syscall) -> Iterator[str]:
        if call.name in _NEVER:
            raise RefusalError(event, f"a client does not call {call.name}()")
        result = call.result.value if isinstance(call.result, tree.Number) else -1
        if call.name == "socket":
            self._sockets[result] = socket = _Socket()
            self._current = None
            self._all.append(socket)
            return
        first = call.arguments[0] if call.arguments else None
        descriptor = first.value if isinstance(first, tree.Number) else -1
        socket = self._sockets.get(descriptor, _Socket())
        named = set(names_in(call.arguments))
        if call.name == "connect" or (call.name in SENDS and "MSG_FASTOPEN" in named):
            self._connect(event, call, socket, asks=bool(named & _ASKS))
        if call.name in SENDS:
            self._send(event, call, socket, result)
        elif call.name == "setsockopt" and not result:
            if named & _ASKS and socket.at is None:
                socket.asks = True
            elif self.app == FILE and not named & _HARMLESS:
                raise RefusalError(event, f"the client sets no options of its own: {_OTHER}")
            else:
                yield f"assumed: {show_action(call)}"
        elif call.name in _READS:
            socket.read += max(result, 0)
        elif call.name in ("close", "shutdown") and socket.at is not None:
            if self.app == NONE:
                yield f"assumed: {show_action(call)}"
            elif not socket.is_over or call.name == "shutdown":
                raise RefusalError(
                    event,
                    "a client that reads until the server closes does not close before: " + _OTHER,
                )
            elif socket.read < socket.next - 1:
                raise RefusalError(
                    event, f"the client reads all {socket.next - 1} bytes before it closes"
                )

    def _connect(
        self, event: tree.Event, call: tree.Syscall, socket: _Socket, *, asks: bool
    ) -> None:
        if socket.at is not None:
            return
        if "AF_UNSPEC" in names_in(call.arguments):
            raise RefusalError(event, "a client's address has a family")
        if call.errno is not None and call.errno not in _LATER:
            raise RefusalError(event, f"{call.name}() does not fail in a client's application")
        socket.at = event.at
        socket.by_send = call.name in SENDS
        # With TCP_FASTOPEN_CONNECT and a cookie, connect() sends nothing, and says 0 at once.
        socket.waits = socket.asks and not socket.by_send and call.errno is None
        socket.asks = socket.asks or asks
        self._current = socket

    def _send(self, event: tree.Event, call: tree.Syscall, socket: _Socket, result: int) -> None:
        if socket.waits:
            socket.at, socket.by_send, socket.waits = event.at, True, False
            socket.wanted = _asked(call)
        if self.app == FILE and result > 0:
            if socket.has_heard:
                raise RefusalError(
                    event, "the client sends its whole file at once, before what it hears here"
                )
            is_more = bool(socket.written) or (socket.by_send and socket.at != event.at)
            if is_more and socket.written + result > socket.wanted:
                raise RefusalError(
                    event, "the client sends its whole file at once: write it by one call"
                )
        socket.wanted = max(socket.wanted, _asked(call))
        socket.written += max(result, 0)


def _asked(call: tree.Syscall) -> int:
    """Bytes that a call gives the kernel to send."""
    if call.name in ("sendmsg", "writev"):
        return sum(_lengths(call.arguments[1:]))
    length = call.arguments[2] if len(call.arguments) > 2 else None
    return length.value if isinstance(length, tree.Number) else 0


def _lengths(values: tuple[tree.Expression | tree.Field, ...]) -> Iterator[int]:
    """Of the pieces of an iovec, `{..., 100}`."""
    for value in values:
        match value:
            case tree.Field("msg_iov", inner) | tree.Field("msg_iov", inner, _):
                yield from _lengths((inner,))
            case tree.Struct((tree.Anything() | tree.Text(), tree.Number(length))):
                yield length
            case tree.Array(items) | tree.Struct(items):
                yield from _lengths(items)

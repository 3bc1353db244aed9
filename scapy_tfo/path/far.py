"""The far end: the reference server, and a record of what its interface saw.

It is a stack known to be right, and not a kernel, so that effects of the path can be told from
those of the host.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from ipaddress import ip_address

from scapy_tfo.cookie import KeyRing
from scapy_tfo.lab.hooks import ListenerOptions, Session
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.lab.sessions import Record as SessionRecord
from scapy_tfo.lab.sessions import SessionLog
from scapy_tfo.option import FastOpen, Form
from scapy_tfo.path.observation import Heard, Sighting
from scapy_tfo.reference.server import Decision, Listener
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Segment
from scapy_tfo.wire import ip_header

MIRROR, CONTROL = 1, 2
"""Ports, counted from the first: of a listener whose SYN-ACKs all bring a cookie; the agent's."""

_ASKED = FastOpen(Form.IANA, b"")
_KEPT = 20_000
_SETTINGS = Settings(data_retries=5)


_MOST_CONNECTIONS = 4096
_MOST_SESSIONS = 2048


class _Log(SessionLog):
    """Whoever comes may write: 32 MiB are kept at most. It knows when each connection began, for
    a client may come back by the same port in another run."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(sessions=_MOST_SESSIONS, received=16384)
        self._clock = clock
        self._opened: deque[float] = deque(maxlen=_MOST_SESSIONS)

    def open(
        self, peer: tuple[str, int], abort: Callable[[], None] = lambda: None
    ) -> SessionRecord:
        self._opened.append(self._clock())
        return super().open(peer, abort)

    def since(self, when: float) -> list[Session]:
        """Those that were accepted since, in seconds on the clock."""
        both = zip(self._opened, self.sessions(), strict=True)
        return [session for at, session in both if at >= when]


class FarListener(Listener):
    """Fast open as the RFC has it; on the mirror's port a cookie for whoever comes, so that what
    happens to SYN-ACKs can be seen where SYNs lose their option."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if len(self.stack.connections) < _MOST_CONNECTIONS:
            super().syn_arrives(segment, now)

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        if isinstance(self.stack, FarStack) and self.port == self.stack.mirror:
            return Decision(answer=self.grant(segment, option or _ASKED))
        return super().decide(segment, option, now)


class FarStack(Stack):
    """mirror: the port, 0 for none. It answers for any address that packets come for."""

    listener_class = FarListener
    mirror = 0

    def is_sound(self, segment: Segment) -> bool:
        return segment.checksum is None and segment.data_offset is None


class Far:
    """See the module. emit: called with each packet to send. key: of the cookies."""

    def __init__(
        self,
        emit: Callable[[bytes], None],
        clock: Callable[[], float],
        *,
        keys: Sequence[bytes],
        seed: int,
    ) -> None:
        self._emit = emit
        self._clock = clock
        self._seen: deque[Sighting] = deque(maxlen=_KEPT)
        self.stack = FarStack((), _SETTINGS, cookies=KeyRing(keys), seed=seed)
        self._logs: list[_Log] = []
        self.host = ReferenceHost(self.stack, self._send, self._make_log)
        self.ports: tuple[int, ...] = ()

    async def listen(self, port: int, *, mirror: int = 0) -> None:
        """Open the port of the echo with fast open, and the mirror's."""
        self.stack.mirror = mirror
        for each in filter(None, (port, mirror)):
            await self.host.listen(ListenerOptions("echo", queue=1024), each)
        self.ports = (port, mirror) if mirror else (port,)

    def receive(self, packet: bytes) -> None:
        """Take a packet off the interface."""
        self.receive_at(packet, self._clock())

    def receive_at(self, packet: bytes, when: float) -> None:
        """Likewise, where the interface says when it came, on this end's clock."""
        self._seen.append(Sighting(when, False, packet))
        self.host.receive(packet)

    def _send(self, packet: bytes) -> None:
        self._seen.append(Sighting(self._clock(), True, packet))
        self._emit(packet)

    def sightings(self, since: float = 0.0, address: bytes | None = None) -> list[Sighting]:
        """What passed, in order. since: seconds on this end's clock. address: packed, the one of
        ours that it came to or from; None for all."""
        return [
            each
            for each in self._seen
            if each.when >= since and address in (None, _own(each.packet, sent=each.sent))
        ]

    def heard(self, seen: Sequence[Sighting]) -> list[Heard]:
        """What applications read on the connections of these sightings."""
        peers = {_peer(each.packet) for each in seen if not each.sent}
        since = min((each.when for each in seen), default=0.0)
        return [
            Heard(each.peer, each.received)
            for log in self._logs
            for each in log.since(since)
            if (ip_address(each.peer[0]).packed, each.peer[1]) in peers
        ]

    def _make_log(self) -> _Log:
        self._logs.append(_Log(self._clock))
        return self._logs[-1]

    def close(self) -> None:
        self.host.close()


def _own(packet: bytes, *, sent: bool) -> bytes:
    return ip_header.source(packet) if sent else ip_header.destination(packet)


def _peer(packet: bytes) -> tuple[bytes, int]:
    """Packed address and port that a TCP packet comes from."""
    head = (packet[0] & 15) * 4 if packet[0] >> 4 == 4 else 40
    return ip_header.source(packet), int.from_bytes(packet[head : head + 2], "big")

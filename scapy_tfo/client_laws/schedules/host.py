"""The server of a schedule: the reference's stack and an application, behind a path with faults.

Its address is one of the suite's, so that the client's packets are captured and held against the
rules where the client is, before anything on the path befalls them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from scapy_tfo import seq
from scapy_tfo.client_laws.schedules.application import ServerApplication
from scapy_tfo.client_laws.schedules.context import cookie_size_of, dress_of, settings_of
from scapy_tfo.client_laws.schedules.path import Path
from scapy_tfo.client_laws.schedules.schedule import Fault, Schedule
from scapy_tfo.clients.connection import Incoming
from scapy_tfo.clients.server import Server
from scapy_tfo.cookie import KEY_SIZE, AesCookie, KeyRing
from scapy_tfo.explore.conversation.path import corrupted
from scapy_tfo.explore.conversation.schedule import CORRUPTED
from scapy_tfo.explore.ends.dressing import dressed
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.option import FastOpen
from scapy_tfo.oracle.conduct.conduct import Conduct
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Segment
from scapy_tfo.suite.switchboard import Watch

_PENDING = 128


class Carried(Incoming):
    """A connection that a stack leads, and no case. granted: cookies that came with its SYN-ACKs.
    was_refused: a RST was delivered to the client."""

    def __init__(self, carry: Callable[[Segment], str], *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.granted: list[bytes] = []
        self.was_refused = False
        self._carry = carry

    def hear(self, segment: Segment, number: int) -> None:
        super().hear(segment, number)
        fate = self._carry(segment)
        if fate:
            self.lost.append(segment)
            self._board.note((number,), f"{fate} on the way")

    @property
    def now(self) -> float:
        """By the link's clock."""
        return self._board.link.now()

    def deliver(self, segment: Segment, packet: bytes, fate: str) -> None:
        """Send the client what its server sent, as it comes off the path."""
        if fate != CORRUPTED:
            self.conduct.sent(segment, self._board.leaves_at)
            self.proof.expose(segment, self.snd_nxt, self.rcv_nxt)
            if segment.is_syn_ack:
                self.granted += _cookies(segment)
                self.isn, self.has_answered = segment.seq, True
                self.take(seq.distance(self.first.seq, segment.ack) - 1)
                self.snd_nxt = segment.end
            elif seq.before(self.snd_nxt, segment.end):
                self.snd_nxt = segment.end
            self.was_refused |= segment.is_rst
        self.numbers.append(self._board.send(packet, self.owner, fate))


def _cookies(segment: Segment) -> list[bytes]:
    found = [each for each in segment.fast_open if isinstance(each, FastOpen)]
    return [each.cookie for each in found if each.cookie]


class Host:
    """The server of a schedule. watch: the rules of TCP, held against what the server itself sends.
    path: between it and the client. applications: one for each connection that it took."""

    def __init__(self, server: Server, schedule: Schedule) -> None:
        self.server = server
        self.settings = settings_of(schedule.context)
        self._dress = dress_of(schedule.context)
        self._keys = KeyRing([self._key()], AesCookie(cookie_size_of(schedule.context)))
        stack = Stack(
            [server.address],
            self.settings,
            cookies=self._keys,
            seed=server.random.getrandbits(32),
        )
        self._host = ReferenceHost(stack, self._leaves)
        self.path = Path(self._at_server, self._at_client)
        self.watch = Watch()
        self.watch.ordered = True
        self._conducts: dict[Incoming, Conduct] = {}
        self._name = schedule.server
        self.applications: list[ServerApplication] = []
        self._host.serve(server.port, self._accept, fast_open=_PENDING)
        server.takes = functools.partial(Carried, self._comes)

    def _key(self) -> bytes:
        return self.server.random.randbytes(KEY_SIZE)

    def answers(self, name: str, faults: Sequence[Fault] = ()) -> None:
        """From now on, with that application, and with these faults of the packets to come."""
        self._name = name
        self.path.spoil(faults)

    def gives_up_its_key(self) -> None:
        """Cookies that were granted are not good any more."""
        self._keys.rotate(self._key(), keep=0)

    def switches_off(self) -> None:
        """No fast open from now on."""
        self._host.stack.listeners[self.server.port].pending.limit = 0

    def _accept(self) -> ServerApplication:
        made = ServerApplication(self._name, self.server.text, self.server.dialogue)
        self.applications.append(made)
        return made

    # The client's packets

    def _comes(self, segment: Segment) -> str:
        return self.path.carry(segment.to_bytes(), from_client=True)

    def _at_server(self, packet: bytes, fate: str) -> None:
        if fate == CORRUPTED:
            self._host.receive(corrupted(packet))
            return
        found = self._flow(Segment.read_back(packet), to_client=False)
        if found is not None:
            flow, conduct, segment = found
            conduct.sent(segment, flow.now)
        self._host.receive(packet)

    # The server's

    def _leaves(self, packet: bytes) -> None:
        found = self._flow(Segment.read_back(packet), to_client=True)
        if found is not None:
            flow, conduct, segment = found
            self.watch.came(flow, conduct, segment, 0, flow.now)
            if self.path.carry(packet, from_client=False):
                flow.lost.append(segment)

    def _at_client(self, packet: bytes, fate: str) -> None:
        found = self._flow(Segment.read_back(packet), to_client=True)
        if found is not None:
            flow, _, segment = found
            whole = dressed(packet, self._dress) if self._dress else packet
            flow.deliver(segment, corrupted(whole) if fate == CORRUPTED else whole, fate)

    def _flow(
        self, segment: Segment, *, to_client: bool
    ) -> tuple[Carried, Conduct, Segment] | None:
        """Whose packet it is."""
        far = segment.dst, segment.dport
        if not to_client:
            far = segment.src, segment.sport
        for each in reversed(self.server.connections):
            if isinstance(each, Carried) and (each.target, each.dport) == far:
                key = (each.target, each.dport, each.source, each.sport)
                if each not in self._conducts:
                    self._conducts[each] = self.watch.begin(key)
                return each, self._conducts[each], segment
        return None

    def close(self) -> None:
        """Nothing is carried any more, and no timer of the server's is set."""
        self.path.close()
        self._host.close()

"""What becomes of connections that wait until the application accepts them.

A walk, drawn by chance: clients connect, with fast open and without, and write, while the
application accepts one now and then, all, or none, and the queue has room for few. At the end it
accepts all, or its listener closes, alone or beside another one of its port, which may accept by
then. No standard says what a stack does without room: it may drop a SYN or an ACK, fall back, or
reset. But text that it acknowledged is the application's, unless it resets the connection
(RFC 9293 section 3.8); and as soon as there is room, who goes on trying is served.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.world import BACKLOG, ROOM, TARGETS, World
from scapy_tfo.explore.ends.context import USUAL
from scapy_tfo.explore.walk import Mistaken, Walk
from scapy_tfo.oracle.parts.profile import MANY
from scapy_tfo.reference.server import Listener
from scapy_tfo.reference.states import Accepted, Event, Received
from scapy_tfo.segment import ACK, PSH, RST, SYN, Segment

RULES = ("waiting-text-lost", "waiting-text-wrong", "waits-for-ever")
"""Names of what is found here."""

_PORT = 9101
_WALKS, _STEPS, _ROUNDS = 24, 60, 8
_CLIENTS = 24
"""Clients of one walk at most."""
_PIECE, _MOST = 20, 200
"""Bytes that a client writes at a time, and in all."""
_PAUSES = (0.05, 0.3, 1.5, 4.0)
_APART = 0.1
"""Seconds between two clients that try again."""
_AGAIN = 4.0
"""Seconds after which a client sends again what was not acknowledged, and within which an
acknowledgement has come that may wait."""
_ISN = 0x7000


@dataclass(slots=True, eq=False)
class _Client:
    """syn: as it is sent each time. text: all that it has written so far. acked: bytes of it that
    the target acknowledged. got: what the application was handed. answer: the SYN-ACK. gone: it was
    reset, or gave up itself."""

    syn: Segment
    text: bytes
    acked: int = 0
    got: bytearray = field(default_factory=bytearray)
    answer: Segment | None = None
    is_accepted: bool = False
    gone: bool = False

    def hear(self, segment: Segment) -> None:
        """Take what the target sent."""
        if segment.is_rst:
            self.gone = True
            return
        if segment.is_syn_ack:
            self.answer = segment
        acked = seq.distance(self.syn.seq, segment.ack) - 1
        if 0 <= acked <= len(self.text):
            self.acked = max(self.acked, acked)

    def next_segment(self) -> Segment:
        """What it sends now: the SYN until that is answered, then what is not acknowledged."""
        if self.answer is None:
            return self.syn
        rest = self.text[self.acked :]
        return replace(
            self.syn,
            seq=seq.add(self.syn.seq, 1 + self.acked),
            ack=seq.add(self.answer.seq, 1),
            flags=ACK | (PSH if rest else 0),
            options=b"",
            payload=rest,
        )


class Accepting(Walk):
    """One walk. shared: listeners of the port."""

    def __init__(self, world: World, dice: random.Random, *, shared: int) -> None:
        super().__init__(world, dice)
        self._clients: list[_Client] = []
        self._cookie = world.cookie(USUAL.client, world.port_of("echo"), anew=True)
        self._listeners: list[Listener] = [
            world.stack.listen(
                _PORT,
                fast_open=ROOM,
                backlog=BACKLOG,
                accept_queue=dice.choice((1, 2, 3, None)),
                share=shared > 1,
            )
            for _ in range(shared)
        ]
        for each in self._listeners:
            each.pause()

    def problem(self) -> Problem | None:
        """What is wrong first, if anything is."""
        for _ in range(_STEPS):
            self._step()
        if self._dice.random() < 0.5:
            closing = self._dice.choice(self._listeners)
            if self._dice.random() < 0.5:
                self._resume(each for each in self._listeners if each is not closing)
            self._close(closing)
        self._resume(self._listeners)
        self.told()
        for _ in range(_ROUNDS):
            for client in self._clients:
                self._goes_on(client)
                # Some applications take a while for each.
                self.wait(_APART)
            self.wait(_AGAIN)
        found = filter(None, (self._wrong(each) for each in self._clients))
        return next(iter(found), None)

    def _step(self) -> None:
        dice, kind = self._dice, self._dice.random()
        if not self._clients or (kind < 0.3 and len(self._clients) < _CLIENTS):
            self._begin()
        elif kind < 0.5:
            client = dice.choice(self._clients)
            if len(client.text) < _MOST:
                client.text += self._piece(client)
            self._goes_on(client)
        elif kind < 0.6:
            self._goes_on(dice.choice(self._clients))
        elif kind < 0.8:
            dice.choice(self._listeners).accept_one(self._world.now)
            self.told()
        elif kind < 0.85:
            chosen = dice.choice(self._listeners)
            chosen.resume(self._world.now)
            self.told()
            chosen.pause()
        elif kind < 0.9:
            self._give_up(dice.choice(self._clients))
        else:
            self.wait(dice.choice(_PAUSES))

    # What clients do

    def _begin(self) -> None:
        fast = bool(self._cookie) and self._dice.random() < 0.6
        options = [opt.mss(1460), *([opt.fast_open(self._cookie)] if fast else [])]
        syn = Segment(
            src=USUAL.client,
            dst=TARGETS[4],
            sport=self._world.free_port(),
            dport=_PORT,
            seq=_ISN,
            flags=SYN,
            options=opt.padded(opt.push_options(options)),
        )
        client = _Client(syn, b"")
        client.text = self._piece(client)
        if fast:
            client.syn = replace(syn, payload=client.text)
        self._clients.append(client)
        self._goes_on(client)

    def _piece(self, client: _Client) -> bytes:
        """What a client writes next; no two write the same."""
        start = len(client.text)
        return bytes((client.syn.sport * 7 + at) % 251 for at in range(start, start + _PIECE))

    def _goes_on(self, client: _Client) -> None:
        """Send what comes next, and answer a SYN-ACK, at once or when it is this one's turn."""
        if client.gone:
            return
        was_answered = client.answer is not None
        self.send(client.next_segment())
        is_answered = client.answer is not None and not was_answered
        if is_answered and not client.gone and self._dice.random() < 0.7:
            self.send(client.next_segment())

    def _give_up(self, client: _Client) -> None:
        if client.answer is not None and not client.gone:
            self.send(replace(client.next_segment(), flags=RST | ACK, payload=b""))
            client.gone = True

    # What the target does

    def _resume(self, listeners: Iterable[Listener]) -> None:
        for each in listeners:
            each.resume(self._world.now)

    def _close(self, listener: Listener) -> None:
        listener.close(self._world.now)
        self._listeners.remove(listener)
        self.told()

    def told(self) -> list[Segment]:
        came = super().told()
        by_port = {each.syn.sport: each for each in self._clients}
        for segment in came:
            client = by_port.get(segment.dport)
            if client is not None and not client.gone:
                client.hear(segment)
        return came

    def happened(self, event: Event) -> None:
        client = next(
            (each for each in self._clients if each.syn.sport == event.connection.remote[1]), None
        )
        if client is None:
            return
        if isinstance(event, Accepted):
            client.is_accepted = True
        elif isinstance(event, Received):
            client.got += event.data

    # What is wrong

    def _wrong(self, client: _Client) -> Problem | None:
        got = bytes(client.got)
        if got != client.text[: len(got)]:
            return Problem(RULES[1], -1, client.text.hex(), got.hex())
        if client.gone:
            return None
        if len(got) < client.acked:
            wanted = f"{client.acked} bytes, which were acknowledged, and no reset"
            how = "accepted" if client.is_accepted else "never accepted"
            return Problem(RULES[0], -1, wanted, f"{len(got)} bytes, {how}")
        if self._listeners and not client.is_accepted:
            answered = "a SYN-ACK" if client.answer is not None else "silence"
            wanted = "accepted, or reset: there is room, and the client goes on"
            return Problem(RULES[2], -1, wanted, f"{answered}, and nothing more")
        return None


def unaccepted(make: Callable[[int], World]) -> Mistaken | None:
    """What a target does wrong with connections that wait to be accepted, if anything. make: a
    world, by a number."""
    for number in range(_WALKS):
        world = make(number)
        if world.profile.connections < MANY:
            return None
        walk = Accepting(world, random.Random(number), shared=1 + number % 2)
        found = walk.problem()
        if found is not None:
            return Mistaken(found, walk.packets)
    return None

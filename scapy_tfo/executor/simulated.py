"""A bench in memory, on virtual time, for the reference stack or one that is wrong on purpose.

Each program meets a stack that knows nothing of the others, so a verdict is a function of the
program alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Protocol

from scapy_tfo.address import known_address
from scapy_tfo.cookie import KeyRing
from scapy_tfo.executor.conduct import Counts
from scapy_tfo.executor.play import Play
from scapy_tfo.executor.profiling import acquaint
from scapy_tfo.executor.verdict import TracedPacket, Verdict
from scapy_tfo.executor.watched import PATIENCE, WatchedPlay
from scapy_tfo.option import FastOpen, find_fast_open
from scapy_tfo.oracle.parts.profile import Patience, Profile
from scapy_tfo.packet import Ends, Reply, build, key_of, read
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.program import SMALL, Program
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import Accepted, EndOfStream, Endpoint, Event, Received
from scapy_tfo.variants.registry import UPTIME, AnyStack, named

TARGETS = {4: ip_address("192.0.2.1").packed, 6: ip_address("fd00:7413::1").packed}
CLIENTS = {
    4: tuple(ip_address(f"192.0.2.{last}").packed for last in (10, 11)),
    6: tuple(ip_address(f"fd00:7413::{last:x}").packed for last in (0x10, 0x11)),
}
PORTS = {"main": 10001, "second": 10002, "plain": 10003, "small": 10004, "closed": 10009}
_LARGE = 8192
_ROOMS = {"main": _LARGE, "second": _LARGE, "plain": 0, "small": SMALL}
"""Fast opens that may pend at each listener."""
_FIRST_PORT = 40000
_BEFORE = 100
"""By how much the ports of requests for cookies are lower."""
_PATIENCE = 3.0
"""Seconds for which the answer to a request for a cookie is waited for."""
_EVENTS = 10_000
"""Of one program at most: a stack that never comes to rest is a finding, not a hang."""


class Driven(Protocol):
    """What a world asks of its stack. Times are in seconds."""

    settings: Settings

    def receive(self, packet: bytes, now: float) -> None: ...

    def take_packets(self) -> list[bytes]: ...

    def take_events(self) -> list[Event]: ...

    def deadline(self) -> float | None: ...

    def on_timer(self, now: float) -> None: ...


def listen(stack: Stack, ports: Mapping[str, int]) -> None:
    """Have a stack listen as programs expect it. ports: by role."""
    for role, room in _ROOMS.items():
        stack.listen(ports[role], fast_open=room)


class World:
    """A stack with an echo on every listener, and its clock.

    stack: listens already, see `listen`. ports: of it, by role. clients: our addresses, by family.
    now: seconds. first_port: ours of a program's first flow; the others have those behind it, and
    requests for cookies those before it.
    log: what it got and sent, in its own order: an answer is right behind what it answers.
    """

    def __init__(
        self,
        stack: Driven,
        ports: Mapping[str, int] = PORTS,
        clients: Mapping[int, Sequence[bytes]] = CLIENTS,
        *,
        now: float = 0.0,
        first_port: int = _FIRST_PORT,
    ) -> None:
        self.stack = stack
        self.ports = ports
        self.clients = clients
        self.now = now
        self.first_port = first_port
        self.log: list[TracedPacket] = []
        self._accepted: dict[Endpoint, None] = {}
        self._closing: set[Endpoint] = set()

    def give(self, packet: bytes) -> list[bytes]:
        """Hand a packet in, and take what comes at once."""
        self.stack.receive(packet, self.now)
        self.log.append(TracedPacket(self.now, True, packet))
        return self._noted(self._echo())

    def wait_until(self, when: float) -> list[bytes]:
        """Let time pass up to `when` or the stack's next timer, and take what comes."""
        self.now = when
        self.stack.on_timer(when)
        return self._noted(self._echo())

    def leave(self, seconds: float) -> None:
        """For so long the application aborts whatever it has or gets; nobody hears of it."""
        end, left = self.now + seconds, _EVENTS
        while left > 0:
            while self._accepted:
                self._accepted.popitem()[0].abort(self.now)
                self._echo()
            due = self.stack.deadline()
            if due is None or due > end:
                break
            self.wait_until(max(due, self.now))
            left -= 1
        self.now = max(self.now, end)

    def _noted(self, packets: list[bytes]) -> list[bytes]:
        self.log += [TracedPacket(self.now, False, each) for each in packets]
        return packets

    def _echo(self) -> list[bytes]:
        out = self.stack.take_packets()
        while events := self.stack.take_events():
            for event in events:
                if isinstance(event, Accepted):
                    self._accepted[event.connection] = None
                elif not isinstance(event, Received | EndOfStream):
                    continue
                elif event.connection not in self._accepted:
                    # What was never handed over cannot be read.
                    continue
                elif isinstance(event, Received):
                    if event.connection not in self._closing:
                        event.connection.write(event.data, self.now)
                else:
                    self._closing.add(event.connection)
                    event.connection.close(self.now)
            out += self.stack.take_packets()
        # No interface takes more, however wrong the stack is.
        return [each for each in out if len(each) <= self.stack.settings.mtu]


class SimulatedBench:
    """`sim:NAME`, for one process: nothing waits, so programs run one after another.

    first_port: our port of a program's first flow; the others have those behind it.
    Raises SetupError where there is no such stack, TargetError where it is not to be judged.
    """

    families: tuple[int, ...] = (4, 6)

    def __init__(self, name: str, *, patience: Patience | None = None) -> None:
        self.name = name
        self.first_port = _FIRST_PORT
        self._stack = named(name.removeprefix("sim:"))
        self._patience = patience or Patience()
        self.play_of: Callable[..., Play] = Play
        self.profile = Profile(fresh=True)
        self.counts = Counts(every=0)
        self.profile = acquaint(self._once, virtual=True)
        self.counts = Counts()

    def watch(self) -> None:
        """From now on, tell what came in the form by which targets are compared."""
        self.play_of, self._patience = WatchedPlay, PATIENCE

    def run(self, programs: Iterable[tuple[int, Program]]) -> Iterator[tuple[int, Verdict]]:
        for number, program in programs:
            yield number, self._play(program, number).verdict()

    def trace(self, program: Program) -> tuple[Verdict, Sequence[TracedPacket]]:
        play = self._play(program, keep=True)
        return play.verdict(), play.trace

    def rehearse(self, program: Program) -> tuple[Sequence[TracedPacket], Jar]:
        """The packets of a run in the stack's order, and the cookies that the clients held."""
        world, jar = self._new_world(), Jar()
        self._play(program, world=world, jar=jar)
        return world.log, jar

    def alive(self) -> str:
        return ""

    def counters(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        """Nothing to give back."""

    def _once(self, program: Program, profile: Profile) -> Play:
        self.profile = profile
        return self._play(program, keep=True)

    def _new_world(self) -> World:
        return World(new_stack(self._stack), now=UPTIME, first_port=self.first_port)

    def _play(
        self,
        program: Program,
        number: int = 0,
        *,
        keep: bool = False,
        world: World | None = None,
        jar: Jar | None = None,
    ) -> Play:
        world = world or self._new_world()
        jar = Jar() if jar is None else jar
        ends = introduced(world, program, jar)
        play = self.play_of(
            program,
            ends,
            jar,
            self.profile,
            self._patience,
            keep=keep,
            watch=self.counts.model,
            log=self.counts.log(number, program.origin, ordered=True, whole=True, timed=True),
            edges=self.counts.edges,
        )
        drive(world, play, ends)
        return play


def new_stack(mutant: AnyStack, seed: int = 0) -> Stack:
    """A stack that knows of nobody, and listens."""
    dice = random.Random(seed + (1 << 32))
    stack: Stack = mutant.stack(
        [known_address(each) for each in TARGETS.values()],
        mutant.settings,
        cookies=KeyRing([dice.randbytes(16)]),
        seed=seed,
    )
    listen(stack, PORTS)
    return stack


def introduced(world: World, program: Program, jar: Jar) -> list[Ends]:
    """The ends of a program's flows, once its clients hold the cookies that they are to hold."""
    _introduce(world, program, jar)
    world.log.clear()
    sports: list[int] = []
    for index, flow in enumerate(program.flows):
        shared = flow.sport_of
        sports.append(world.first_port + index if shared is None else sports[shared])
    return [
        Ends(
            world.clients[flow.family][flow.client],
            TARGETS[flow.family],
            sports[index],
            world.ports[flow.port],
        )
        for index, flow in enumerate(program.flows)
    ]


def drive(world: World, play: Play, ends: Sequence[Ends]) -> None:
    """Play a program to its end."""
    flows = {(each.client, each.sport, each.dport): index for index, each in enumerate(ends)}
    inbox: list[bytes] = []
    left = _EVENTS
    play.begin(world.now)
    while left > 0:
        for packet in play.take_packets():
            inbox += world.give(packet)
        if inbox:
            came, inbox = inbox, []
            left -= len(came)
            for packet in came:
                key = key_of(packet)
                index = flows.get(key) if key is not None else None
                if index is not None:
                    play.arrive(index, packet, world.now)
            continue
        deadline = play.deadline
        if play.done or deadline is None:
            return
        timer = world.stack.deadline()
        if timer is not None and timer <= deadline:
            inbox = world.wait_until(max(timer, world.now))
        else:
            world.now = max(deadline, world.now)
            play.on_timer(world.now)
        left -= 1


def _introduce(world: World, program: Program, jar: Jar) -> None:
    """Ask for the cookies that the program's clients are taken to hold."""
    wanted = {
        (flow.family, client)
        for flow in program.flows
        for client in ((0, 1) if _wants_other(program) else (flow.client,))
    }
    for family, client in sorted(wanted):
        cookie = _ask(world, family, client)
        if cookie is not None:
            jar.grant((family, client), cookie, world.now)


def _wants_other(program: Program) -> bool:
    return any(
        option.cookie is not None and option.cookie.of == "other"
        for step in program.steps
        for option in getattr(step, "options", None) or ()
    )


def _ask(world: World, family: int, client: int) -> bytes | None:
    sport = world.first_port - _BEFORE + client
    ends = Ends(world.clients[family][client], TARGETS[family], sport, world.ports["main"])
    request = build(ends, 77, 0, 2, options=b"\x02\x04\x05\xb4\x22\x02\x00\x00")
    for reply in _answers(world, request):
        world.give(build(ends, 78, 0, 4))
        for each in find_fast_open(reply.options):
            if isinstance(each, FastOpen) and each.cookie:
                return each.cookie
    return None


def _answers(world: World, syn: bytes) -> list[Reply]:
    """What comes in answer to a SYN, which some stacks answer later than at once."""
    came = world.give(syn)
    until = world.now + _PATIENCE
    for _ in range(_EVENTS):
        replies = [read(packet) for packet in came if key_of(packet) is not None]
        timer = world.stack.deadline()
        if replies or timer is None or timer > until:
            return replies
        came = world.wait_until(max(timer, world.now))
    return []

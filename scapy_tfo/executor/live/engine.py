"""Runs many programs at once over one link, and matches replies to them by address and port."""

from __future__ import annotations

import heapq
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from scapy_tfo.executor.live.addresses import Range, Throttle
from scapy_tfo.executor.live.earlier import DISTURBED, Earlier, answers
from scapy_tfo.executor.live.ports import FOREIGN_REST, REST, Ports
from scapy_tfo.executor.play import Play
from scapy_tfo.oracle.counters import Balance
from scapy_tfo.packet import Ends, build, key_of, read
from scapy_tfo.program.cookies import Client
from scapy_tfo.program.options import offer_of
from scapy_tfo.program.program import Program
from scapy_tfo.segment import ACK, RST, Address

LONG_REST = 30.0
"""Seconds for a port whose connection may live on at the target."""

SWEEP_AFTER = 10.0
"""Seconds after which such a connection is looked for: what it answers to an ACK of nothing tells
the number that a RST must have."""

_IPV4, _IPV6 = 0x45, 0x60
_TIMES = struct.Struct("!III")
_TIMES_HEAD = 0x0101080A
"""Two NOPs, kind and length of timestamps."""
_TCP = 6
_LONGEST_WAIT = 0.5
_SWEPT_AT_ONCE = 16

_STRAYS_ANSWERED = 64
"""At most, in one turn: a target that floods us is not flooded in return."""

_SHARED_TRIES = 8
"""Ports of one source tried in one turn, until one is found that another has, too."""

_SLEEP = 0.5
"""Seconds of waiting that make a play one that needs nothing of the target for now."""


@dataclass(slots=True)
class Running:
    """A play that is under way. due: the deadline that the heap has for it. asked_at: when it last
    sent something. asleep: it has nothing to do for a while."""

    number: int
    program: Program
    play: Play
    keys: list[bytes]
    taken: list[tuple[Ports, int]]
    due: float | None = None
    asked_at: float = 0.0
    asleep: bool = False


@dataclass(slots=True)
class Flow:
    """Where a packet belongs: a flow of a play. earlier: the numbers of another connection that its
    4-tuple had."""

    running: Running
    index: int
    earlier: tuple[int, int] | None


@dataclass(slots=True)
class Pulse:
    """How quickly the target answers. lag: seconds from the last packet of a play to the next
    answer, smoothed. strays: packets that came for no play."""

    lag: float = 0.0
    strays: int = 0
    heard: int = 0


class Engine:
    """Runs plays: `place` gives a program's flows their ends, `start` begins, `turn` goes on.

    ports: of each source. pulse: how the target does. balance: of what it must have counted.
    ours: a target of our own. seen: tells what the target has executed since it was called last,
    None where that cannot be seen; it belongs to the plays that have sent or heard something since.
    """

    def __init__(self, at: Range, throttle: Throttle, *, ours: bool = True) -> None:
        self.at = at
        self._ours = ours
        self.seen: Callable[[], frozenset[str]] | None = None
        self._senders: list[Play] = []
        self._rest = REST if ours else FOREIGN_REST
        # The way to a target of our own takes any size.
        self._mtu = 1 << 17 if ours else at.batch.mtu
        self.pulse = Pulse()
        self.balance = Balance()
        self._throttle = throttle
        sources = [*at.sources.values(), *at.spare.values()]
        self.ports = {source: Ports(at.batch, source) for source in sources}
        self._flows: dict[bytes, Flow] = {}
        self._earlier = Earlier()
        self._running: dict[int, Running] = {}
        self._due: list[tuple[float, int, Running]] = []
        self._serial = 0
        self._answerable = _STRAYS_ANSWERED
        self._asleep = 0
        self._out: list[bytes] = []
        self._over: list[Running] = []
        self._left: deque[tuple[float, Ends]] = deque()
        self._farewells: deque[tuple[float, list[bytes]]] = deque()

    def __len__(self) -> int:
        """Plays under way."""
        return len(self._running)

    @property
    def awake(self) -> int:
        """Plays under way that do not just wait."""
        return len(self._running) - self._asleep

    def place(
        self, program: Program, sources: Mapping[Client, Address], now: float
    ) -> tuple[list[Ends], list[tuple[Ports, int]]]:
        """The ends of its flows, and the ports taken for them: none where they run short."""
        shares = any(flow.sport_of is not None for flow in program.flows)
        spent: list[tuple[Ports, int]] = []
        for _ in range(_SHARED_TRIES if shares else 1):
            taken: dict[tuple[Address, int], Ports] = {}
            ends = self._ends(program, sources, now, taken)
            held = [(ports, sport) for (_, sport), ports in taken.items()]
            if ends:
                break
            # Kept until the end of the search, so that the next try is with another one.
            spent += held
            held = []
        self._give(spent, now, 0.0)
        return ends, held

    def _ends(
        self,
        program: Program,
        sources: Mapping[Client, Address],
        now: float,
        taken: dict[tuple[Address, int], Ports],
    ) -> list[Ends]:
        """The ends of a program's flows, none where a port cannot be had. taken: the ports of each
        source that were taken for it, also for a part of them."""
        ends: list[Ends] = []
        for flow in program.flows:
            source = sources[flow.family, flow.client]
            ports = self.ports[source]
            if flow.sport_of is not None and flow.sport_of < len(ends):
                sport = ends[flow.sport_of].sport
                # The host itself answers, with RST, for a port that is held at another address.
                if (source, sport) not in taken and not ports.take_this(sport, now):
                    return []
            else:
                found = ports.take(1, now)
                if not found:
                    return []
                sport = found[0]
            taken[source, sport] = ports
            target = self.at.addresses[flow.family]
            ends.append(Ends(source.packed, target.packed, sport, self.at.ports[flow.port]))
        return ends

    def start(
        self,
        number: int,
        program: Program,
        play: Play,
        taken: list[tuple[Ports, int]],
        now: float,
    ) -> None:
        """Begin a play whose ends `place` gave."""
        self._serial += 1
        keys = [_key(each) for each in play.ends]
        running = Running(number, program, play, keys, taken)
        for index, key in enumerate(keys):
            self._flows[key] = Flow(running, index, self._earlier.numbers(key))
        self._running[id(running)] = running
        play.begin(now)
        self._follow(running, now)
        if play.done:
            self._over.append(running)

    def turn(self, most: float) -> Iterator[tuple[int, Program, Play]]:
        """Send what is to be sent, hand in what came, ring what is due; yields what is done.

        most: seconds to wait for something to happen, where nothing is to be done at once.
        Raises TargetError.
        """
        self._sweep(time.monotonic())
        out, self._out = self._out, []
        if out:
            self._throttle.note(len(out))
            came = self.at.batch.exchange(out)
        else:
            now = time.monotonic()
            wait = min(self._due[0][0] - now, most) if self._due else most
            if self._over:
                wait = 0.0
            came = self.at.batch.wait(min(max(wait, 0.0), _LONGEST_WAIT))
        now = time.monotonic()
        # What was due before these packets came rings after them.
        ringing = self._ringing(now)
        self._answerable = _STRAYS_ANSWERED
        touched = self._hand_in(came, now) if came else {}
        if self.seen is not None:
            self._look(self.seen(), touched)
        for running in ringing:
            if not running.play.done and running.play.deadline is not None:
                if running.play.deadline <= now:
                    running.play.on_timer(now)
                touched[id(running)] = running
        # Some wait for nothing.
        for running in self._over:
            touched[id(running)] = running
        self._over.clear()
        for running in touched.values():
            self._follow(running, now)
            if running.play.done:
                self._end(running, now)
                yield running.number, running.program, running.play

    def _look(self, executed: frozenset[str], touched: dict[int, Running]) -> None:
        """Add to plays what the target has executed."""
        for play in (*self._senders, *(each.play for each in touched.values())):
            play.executed |= executed
        self._senders.clear()

    def drop_all(self) -> None:
        """Forget what is under way; its ports rest for long."""
        now = time.monotonic()
        for running in list(self._running.values()):
            self._end(running, now, LONG_REST)
        self._out.clear()
        self._over.clear()

    def flush(self) -> None:
        """Send what is still to be sent. Raises TargetError."""
        out, self._out = self._out, []
        if out:
            self._hand_in(self.at.batch.exchange(out), time.monotonic())

    def _hand_in(self, came: list[bytes], now: float) -> dict[int, Running]:
        flows, touched, pulse = self._flows, {}, self.pulse
        pulse.heard += len(came)
        for packet in came:
            # Both addresses' and ports' places are fixed, but for options and extension headers.
            first = packet[0]
            if first == _IPV4 and packet[9] == _TCP:
                flow = flows.get(packet[16:24])
            elif first & 0xF0 == _IPV6 and packet[6] == _TCP:
                flow = flows.get(packet[24:44])
            else:
                continue
            if flow is None:
                self._stray(packet)
                continue
            running = flow.running
            if flow.earlier is not None:
                link = running.play.links[flow.index]
                if answers(packet, flow.earlier, link):
                    self._stray(packet)
                    running.play.give_up(DISTURBED)
                    touched[id(running)] = running
                    continue
            running.play.arrive(flow.index, packet, now)
            if id(running) not in touched:
                touched[id(running)] = running
                pulse.lag += (now - running.asked_at - pulse.lag) / 64
        return touched

    def _follow(self, running: Running, now: float) -> None:
        """Take a play's packets, and its deadline."""
        packets = running.play.take_packets()
        if packets:
            running.asked_at = now
            if self.seen is not None:
                self._senders.append(running.play)
            if max(map(len, packets)) > self._mtu:
                # It cannot leave here, and its silence says nothing of the target.
                running.play.give_up(f"a packet of it is over the MTU of {self._mtu} bytes")
                packets = [*packets, *running.play.take_packets()]
                packets = [each for each in packets if len(each) <= self._mtu]
            self._out += packets
        due = running.play.deadline
        if due is not None and due != running.due:
            running.due = due
            asleep = due - now > _SLEEP
            if asleep is not running.asleep:
                running.asleep = asleep
                self._asleep += 1 if asleep else -1
            self._serial += 1
            heapq.heappush(self._due, (due, self._serial, running))

    def _ringing(self, now: float) -> list[Running]:
        due, found = self._due, []
        while due and due[0][0] <= now:
            when, _, running = heapq.heappop(due)
            if running.due == when:
                running.due = None
                found.append(running)
        return found

    def _end(self, running: Running, now: float, rest: float = 0.0) -> None:
        rest = rest or self._rest
        del self._running[id(running)]
        self._asleep -= running.asleep
        for key in running.keys:
            self._flows.pop(key, None)
        links = running.play.links
        self.balance.opening += running.play.opening
        self._earlier.remember(running.keys, links)
        for link in links:
            self.balance.note(link)
        if running.program.end == "leave" or not all(each.is_known for each in links):
            rest = LONG_REST
        if running.program.end == "leave" and not self._ours:
            self._farewells.append((now + SWEEP_AFTER, running.play.parting()))
        if rest == LONG_REST:
            self._left += [(now + SWEEP_AFTER, each) for each in running.play.ends]
        running.due = None
        self._give(running.taken, now, rest)

    def _give(self, taken: list[tuple[Ports, int]], now: float, rest: float) -> None:
        for ports, sport in taken:
            ports.give([sport], now, rest)

    def _sweep(self, now: float) -> None:
        """Ask what may be left of flows whose end the target was not told."""
        left = self._left
        for _ in range(min(len(left), _SWEPT_AT_ONCE)):
            if left[0][0] > now:
                break
            self._out.append(build(left.popleft()[1], 0, 0, ACK))
        # Not every stack answers that while a connection is half open, and holds it for minutes.
        while self._farewells and self._farewells[0][0] <= now:
            self._out += self._farewells.popleft()[1]

    def _stray(self, packet: bytes) -> None:
        """A segment for nobody is answered as any host does (RFC 9293 section 3.10.7.1), so that
        what a program left behind does not stay."""
        self.pulse.strays += 1
        if not self._answerable:
            return
        key = key_of(packet)
        if key is None:
            return
        reply = read(packet)
        if reply.flags & (ACK | RST) == ACK:
            target = packet[12:16] if packet[0] == _IPV4 else packet[8:24]
            client, sport, dport = key
            self._answerable -= 1
            ends = Ends(client, target, sport, dport)
            self._out.append(build(ends, reply.ack, 0, RST, options=_times_for(reply.options)))


def _times_for(options: bytes) -> bytes:
    """Timestamps that answer those of a segment, nothing where it has none: without them some take
    no RST where they were agreed on (RFC 7323 section 3.2 asks for them)."""
    times = offer_of(options).times
    return b"" if times is None else _TIMES.pack(_TIMES_HEAD, times[1], times[0])


def _key(ends: Ends) -> bytes:
    """Destination address and both ports as they stand in what comes for a flow."""
    return ends.client + ends.dport.to_bytes(2, "big") + ends.sport.to_bytes(2, "big")

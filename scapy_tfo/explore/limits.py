"""What a listener answers while as many fast opens pend as it allows, and what a closed port does.

RFC 7413 section 5.1: over the limit, SYNs are served by the three-way handshake, as without fast
open; one that was reset may count until its timer has run out. So a fast open has to be taken while
fewer than the limit can count, and must not be taken while as many pend for sure: chance draws what
becomes of each. RFC 9293 section 3.10.7.1: a port where nobody listens answers a SYN by RST.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.world import BACKLOG, ROOM, TARGETS, World
from scapy_tfo.explore.ends.context import USUAL
from scapy_tfo.icmp import unreachable
from scapy_tfo.option import RawOption
from scapy_tfo.oracle.parts.profile import MANY
from scapy_tfo.segment import ACK, RST, SYN, Segment

RULES = ("at-the-limit", "closed-port", "pending-miscounted", "over-the-pending-limit")
"""Names of what is found here."""

MOST = ROOM + 8
"""Fast opens that are begun at a time: where all of them are taken, the limit is not known."""
_ISN = 0x7000
_TEXT = bytes(range(40))
_NOBODY, _CLOSED = 9, 9999
"""Ports: one where nobody ever listened, and one whose listener has closed."""
_APART = 1.5
"""Seconds between two requests for a cookie."""
COUNTED = ("echo", "late-accept:2000")
"""Applications of the target whose listeners are told to count: one that takes its connections at
once, and one that does not."""
_WALKS, _STEPS = 10, 240
_FEWEST = 3
"""Fast opens that a listener has to let pend for this to be worth while."""
_OPEN = 6
"""Connections at most whose handshake is over: an application may accept none of them."""
_SURE = 0.9
"""Seconds for which a fast open pends for sure: until its SYN-ACK may come again."""
_PENDS = 800.0
"""Seconds after which it pends no more: see `audits.REST`."""
_SLACK = 1.25
"""By how much longer than one reset the last of several may count."""
_OFF, _NEVER_SENT = 30, 1 << 24
_FRESH, _GOOD, _GOOD_FOR_MINUTES = 10.0, 25.0, 140.0
"""Seconds after which another cookie is asked for, and for which one is good at any target, and at
one whose cookies last for longer than a minute."""
_PAUSES = (0.1, 0.5, 30.0, 45.0, 45.0)


def fast_open(world: World, port: int, cookie: bytes) -> Segment:
    """A SYN with text. cookie: in its Fast Open option."""
    return _syn(world, port, [opt.mss(1460), opt.fast_open(cookie)], _TEXT)


def _syn(world: World, port: int, options: Sequence[RawOption], text: bytes = b"") -> Segment:
    return Segment(
        src=USUAL.client,
        dst=TARGETS[4],
        sport=world.free_port(),
        dport=port,
        seq=_ISN,
        flags=SYN,
        options=opt.padded(opt.push_options(options)),
        payload=text,
    )


def answer_to(world: World, syn: Segment) -> Segment | None:
    """What a target sends at once for a SYN."""
    ours = (each for each in world.exchange(syn) if each.dport == syn.sport)
    return next(ours, None)


def reset(world: World, syn: Segment, taken: int) -> None:
    """End a connection that was begun. taken: the numbers of its SYN that were acknowledged."""
    number = seq.add(syn.seq, max(taken, 1))
    world.exchange(replace(syn, seq=number, flags=RST, options=b"", payload=b""))


def room(world: World, port: int) -> tuple[int, tuple[Problem, ...]]:
    """How many fast opens pend at a port before one is refused, and what is wrong then."""
    cookie = world.cookie(USUAL.client, port, anew=True)
    if not cookie:
        return 0, ()
    begun: list[tuple[Segment, int]] = []
    found: list[Problem] = []
    while len(begun) < MOST:
        syn = fast_open(world, port, cookie)
        answer = answer_to(world, syn)
        taken = 0 if answer is None or not answer.is_syn_ack else seq.distance(_ISN, answer.ack)
        if taken <= 1:
            if world.profile.connections >= MANY and begun:
                found = [*_answered("a fast open", answer), *_at_the_limit(world, port)]
            reset(world, syn, taken)
            break
        begun.append((syn, taken))
    for syn, taken in begun:
        reset(world, syn, taken)
    return len(begun), tuple(found)


def backlog(world: World, port: int) -> int:
    """How many SYNs are answered by SYN-ACK while none of the handshakes ends."""
    begun: list[Segment] = []
    while len(begun) < BACKLOG + 4:
        syn = _syn(world, port, [opt.mss(1460)])
        answer = answer_to(world, syn)
        if answer is None or not answer.is_syn_ack:
            break
        begun.append(syn)
    for syn in begun:
        reset(world, syn, 1)
    return len(begun)


def _at_the_limit(world: World, port: int) -> Iterator[Problem]:
    """What becomes of others than fast opens."""
    plain = _syn(world, port, [opt.mss(1460)])
    yield from _answered("a plain SYN", answer_to(world, plain))
    reset(world, plain, 1)
    world.pass_time(_APART)
    asks = _syn(world, port, [opt.mss(1460), opt.fast_open()])
    yield from _answered("a request for a cookie", answer_to(world, asks))
    reset(world, asks, 1)


def _answered(what: str, answer: Segment | None) -> Iterator[Problem]:
    if answer is None or not answer.is_syn_ack:
        told = "silence" if answer is None else str(answer)
        yield Problem(RULES[0], -1, f"SYN-ACK for {what} at the limit", told)


def closed(world: World) -> Iterator[Problem]:
    """A fast open to a port where nobody listens, with a cookie that was good."""
    world.stack.listen(_CLOSED, fast_open=ROOM)
    cookie = world.cookie(USUAL.client, _CLOSED, anew=True)
    world.stack.listeners[_CLOSED].close(world.now)
    for port in (_NOBODY, _CLOSED):
        syn = fast_open(world, port, cookie or bytes(8))
        answer = answer_to(world, syn)
        wanted = 0, seq.add(syn.seq, syn.length), RST | ACK
        if answer is None or (answer.seq, answer.ack, answer.flags) != wanted:
            told = "silence" if answer is None else str(answer)
            yield Problem(RULES[1], -1, "RST and ACK that acknowledge SYN and text", told)


@dataclass(slots=True)
class _Begun:
    """syn: of a fast open. iss: of the target. taken: numbers that it acknowledged. at: when the
    SYN came, in seconds."""

    syn: Segment
    iss: int
    taken: int
    at: float


class Accounts:
    """One listener. port: of it. limit: fast opens that it lets pend at once."""

    def __init__(self, world: World, port: int, limit: int, dice: random.Random) -> None:
        self._world, self._port, self._limit, self._dice = world, port, limit, dice
        self._pending: list[_Begun] = []
        self._open: list[_Begun] = []
        self._resets: list[float] = []
        self._cookie, self._asked_at = b"", -math.inf
        self._disturbances = (
            self._acknowledge_too_much,
            self._send_without_ack,
            self._tell_of_an_error,
            self._write,
        )

    def problems(self) -> Iterator[Problem]:
        """What is wrong first, if anything is. What was begun is reset behind it."""
        found = None
        for _ in range(_STEPS):
            found = self._step()
            if found is not None:
                yield found
                break
        for each in (*self._pending, *self._open):
            self._reset(each)

    def _step(self) -> Problem | None:
        dice = self._dice
        kind = dice.random()
        if kind < 0.3 or not self._pending:
            return self._begin()
        if kind < 0.34:
            return self._fill()
        chosen = dice.choice(self._pending)
        if kind < 0.6:
            self._pending.remove(chosen)
            self._acknowledge(chosen)
        elif kind < 0.75:
            self._pending.remove(chosen)
            self._reset(chosen)
            self._resets.append(self._world.now)
        elif kind < 0.79:
            if self._is_sure(chosen):
                # Later it might open another connection.
                self._world.exchange(chosen.syn)
        elif kind < 0.83:
            self._almost_reset(chosen)
        elif kind < 0.91:
            if self._is_sure(chosen):
                dice.choice(self._disturbances)(chosen)
                # Some end a handshake for it: what still challenges a RST is there, and pends.
                self._almost_reset(chosen)
        else:
            last = self._world.profile.resets_last
            self._world.pass_time(dice.choice((*_PAUSES, last * _SLACK + 1.0)))
            if dice.random() < 0.5:
                return self._fill()
        return None

    def _fill(self) -> Problem | None:
        """As many as there is room for, and one more."""
        for _ in range(self._limit + 1):
            before = len(self._pending)
            found = self._begin()
            if found is not None or len(self._pending) == before:
                return found
        return None

    def _begin(self) -> Problem | None:
        world = self._world
        cookie = self._good_cookie()
        if not cookie:
            return None
        sure, most = sum(map(self._is_sure, self._pending)), self._most()
        syn = fast_open(world, self._port, cookie)
        answer = answer_to(world, syn)
        taken = 0 if answer is None or not answer.is_syn_ack else seq.distance(syn.seq, answer.ack)
        if answer is None or taken <= 1:
            reset(world, syn, taken)
            # Some let one more pend than they count.
            if most < self._limit - world.profile.slack:
                return Problem(
                    RULES[2],
                    -1,
                    f"its text taken: at most {most} of {self._limit} fast opens count",
                    "silence" if answer is None else str(answer),
                )
            return None
        self._pending.append(_Begun(syn, answer.seq, taken, world.now))
        if sure >= self._limit:
            expected = f"its text refused: {sure} fast opens pend, as many as may"
            return Problem(RULES[3], -1, expected, str(answer))
        return None

    def _most(self) -> int:
        """How many may count."""
        now, counted = self._world.now, self._world.profile.resets_last * _SLACK
        self._pending = [each for each in self._pending if now - each.at < _PENDS]
        self._resets = [each for each in self._resets if now - each <= counted]
        return len(self._pending) + len(self._resets)

    def _good_cookie(self) -> bytes:
        """A cookie of late, b"" where there is none: at its limit a listener need not grant any."""
        if self._world.now - self._asked_at > _FRESH and self._most() < self._limit - 1:
            self._cookie = self._world.cookie(USUAL.client, self._port, anew=True)
            self._asked_at = self._world.now
        good = _GOOD_FOR_MINUTES if self._world.profile.cookies_last else _GOOD
        is_good = self._world.now - self._asked_at <= good
        return self._cookie if is_good else b""

    def _is_sure(self, begun: _Begun) -> bool:
        """Whether a fast open pends for sure."""
        return self._world.now - begun.at <= _SURE

    def _acknowledge(self, begun: _Begun) -> None:
        """The handshake ends: it pends no more."""
        self._send(begun, ACK)
        self._open.append(begun)
        if len(self._open) > _OPEN:
            self._reset(self._open.pop(0))

    def _reset(self, begun: _Begun) -> None:
        self._send(begun, RST)

    def _almost_reset(self, begun: _Begun) -> None:
        """A RST in the window, and not at its edge, is challenged (RFC 5961 section 3.2). Who does
        not do that may take it for one that counts."""
        replies = self._send(begun, RST, _OFF)
        challenged = any(each.dport == begun.syn.sport and each.flags == ACK for each in replies)
        if not challenged:
            begun.at -= 2 * _SURE
            self._resets.append(self._world.now)

    # What leaves a fast open pending

    def _acknowledge_too_much(self, begun: _Begun) -> None:
        """An ACK of what was never sent is answered by RST (RFC 9293 section 3.10.7.4)."""
        self._send(begun, ACK, acked=_NEVER_SENT)

    def _send_without_ack(self, begun: _Begun) -> None:
        number = seq.add(begun.syn.seq, begun.taken)
        self._world.exchange(replace(begun.syn, seq=number, flags=0, options=b""))

    def _tell_of_an_error(self, begun: _Begun) -> None:
        """An ICMP error about a number that was never sent, which to ignore is advice (RFC 5927
        section 4.1)."""
        syn = begun.syn
        quoted = Segment(
            src=syn.dst,
            dst=syn.src,
            sport=syn.dport,
            dport=syn.sport,
            seq=seq.add(begun.iss, _NEVER_SENT),
            flags=SYN | ACK,
        )
        self._world.exchange(unreachable(quoted.to_bytes(), code=1))

    def _write(self, begun: _Begun) -> None:
        """The application answers, where it takes its connections at once."""
        syn = begun.syn
        stack = self._world.stack
        connection = stack.connections.get((syn.dst, syn.dport, syn.src, syn.sport))
        if connection is not None and stack.listeners[self._port].queue.waiting is None:
            connection.write(_TEXT, self._world.now)
            stack.take_packets()

    def _send(self, begun: _Begun, flags: int, off: int = 0, *, acked: int = 1) -> list[Segment]:
        """off: by how much its number is too large. acked: numbers of the target, from its ISS."""
        syn = begun.syn
        return self._world.exchange(
            replace(
                syn,
                seq=seq.add(syn.seq, begun.taken + off),
                ack=seq.add(begun.iss, acked) if flags & ACK else 0,
                flags=flags & ~SYN,
                options=b"",
                payload=b"",
            )
        )


def accounts(world: World, port: int, limit: int) -> tuple[Problem, ...]:
    """What is wrong with how a listener counts, if anything is. limit: fast opens that it lets pend
    at once."""
    profile = world.profile
    is_known = _FEWEST <= limit < MOST and world.answers_at_once()
    if not is_known or profile.cookies_once or profile.connections < MANY:
        return ()
    # Fast opens that are reset together may count for longer than the target is known to count one.
    world.pass_time(_PENDS)
    room(world, port)
    world.pass_time(profile.resets_last * _SLACK)
    if room(world, port)[0] < limit:
        return ()
    for seed in range(_WALKS):
        world.pass_time(_PENDS)
        found = tuple(Accounts(world, port, limit, random.Random(seed)).problems())
        if found:
            return found
    return ()

"""What a listener answers while as many fast opens pend as it allows, and what a closed port does.

RFC 7413 section 5.1: over the limit, SYNs are served by the three-way handshake, as without fast
open. RFC 9293 section 3.10.7.1: a port where nobody listens answers a SYN by RST.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.world import ROOM, TARGETS, World
from scapy_tfo.explore.ends.context import USUAL
from scapy_tfo.option import RawOption
from scapy_tfo.oracle.parts.profile import MANY
from scapy_tfo.segment import ACK, RST, SYN, Segment

RULES = ("at-the-limit", "closed-port")
"""Names of what is found here."""

_ISN = 0x7000
_TEXT = bytes(range(40))
_NOBODY, _CLOSED = 9, 9999
"""Ports: one where nobody ever listened, and one whose listener has closed."""
_APART = 1.5
"""Seconds between two requests for a cookie."""


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
    while len(begun) < ROOM + 8:
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

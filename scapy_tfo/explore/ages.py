"""What makes a target old: thousands of connections of one sort, new keys, and time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import ip_address

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.address import known_address
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.conversation.world import ROOM, TARGETS, World
from scapy_tfo.explore.ends.context import USUAL
from scapy_tfo.segment import ACK, FIN, RST, SYN, Address, Segment

LISTENER = "echo"
"""The application that grows old."""

_TEXT = bytes(range(40))
_ISN = 0x7000
_PENDING = 800.0
"""Seconds after which nothing of a connection counts any more."""
_BACKLOG = 32
"""Handshakes that are left open, after which there is a rest."""
_BYTE, _WORD, _DAY = 256, 65_536, 86_400.0


@dataclass(frozen=True, slots=True)
class Age:
    """says: what happens, in the plural. counts: how often in all, at each audit. step: lets it
    happen once; it gets the number of the step, from 0 on."""

    says: str
    counts: tuple[int, ...]
    step: Callable[[World, int], None]


def _syn(world: World, client: Address, options: list[opt.RawOption], text: bytes) -> Segment:
    return Segment(
        src=client,
        dst=TARGETS[4],
        sport=world.free_port(),
        dport=world.port_of(LISTENER),
        seq=_ISN,
        flags=SYN,
        options=opt.padded(opt.push_options([opt.mss(1460), *options])),
        payload=text,
    )


def _opens(world: World, syn: Segment, *, acks: bool) -> None:
    """A handshake, its last ACK perhaps left out, and a RST that ends the connection."""
    for each in world.exchange(syn):
        if each.dport != syn.sport or not each.is_syn_ack:
            continue
        bare = replace(syn, seq=each.ack, options=b"", payload=b"")
        if acks:
            world.exchange(replace(bare, flags=ACK, ack=seq.add(each.seq, 1)))
        world.exchange(replace(bare, flags=RST))
        return


def _fast_open(world: World, number: int, *, acks: bool) -> None:
    cookie = world.cookie(USUAL.client, world.port_of(LISTENER))
    options = [opt.fast_open(cookie)] if cookie else []
    _opens(world, _syn(world, USUAL.client, options, _TEXT), acks=acks)
    if not acks and number % ROOM == ROOM - 1:
        # Each holds its place for as long as it might have pended (RFC 7413 section 5.1).
        world.pass_time(_PENDING)


def _refused(world: World, number: int) -> None:
    cookie = number.to_bytes(8, "big")
    _opens(world, _syn(world, USUAL.client, [opt.fast_open(cookie)], _TEXT), acks=True)


def _request(world: World, number: int) -> None:
    client = known_address(ip_address(0xC6120000 + number).packed)
    syn = _syn(world, client, [opt.fast_open()], b"")
    _opens(world, syn, acks=True)


def _left_open(world: World, number: int) -> None:
    world.exchange(_syn(world, USUAL.client, [], b""))
    if number % _BACKLOG == _BACKLOG - 1:
        world.pass_time(_PENDING)


def _stray(world: World, number: int) -> None:
    bare = _syn(world, USUAL.client, [], b"")
    flags = (ACK, FIN | ACK, RST, SYN | ACK)[number % 4]
    world.exchange(replace(bare, options=b"", ack=1, flags=flags))


def _conversation(world: World, number: int, *, opening: str, client: str) -> None:
    Play(world, Schedule(opening, LISTENER, client)).play()
    if number % _BACKLOG == _BACKLOG - 1:
        world.pass_time(_PENDING)


def _new_key(world: World, number: int) -> None:  # noqa: ARG001 - all steps are alike
    world.rotate_keys()
    world.cookie(USUAL.client, world.port_of(LISTENER))


def _day(world: World, number: int) -> None:  # noqa: ARG001 - likewise
    world.pass_time(_DAY)


_FEW = (1, 16, _BYTE)


def _ended(opening: str, client: str) -> Callable[[World, int], None]:
    return partial(_conversation, opening=opening, client=client)


AGES: tuple[Age, ...] = (
    Age("fast opens that end in order", _FEW, _ended("good", "write-end:100")),
    Age("plain connections that end in order", _FEW, _ended("plain", "write-end:100")),
    Age("fast opens that the client aborts", _FEW, _ended("good", "write-abort:100")),
    Age("fast opens that are reset while pending", _FEW, partial(_fast_open, acks=False)),
    Age("cookies that are not good", _FEW, _refused),
    Age("requests of other clients", _FEW, _request),
    Age("handshakes that are left open", _FEW, _left_open),
    Age("segments of no connection", _FEW, _stray),
    Age("new keys", _FEW, _new_key),
    Age("days", (1, 25, 50), _day),
    Age("fast opens", (4096, _WORD), partial(_fast_open, acks=True)),
)
"""In their order, in one world."""

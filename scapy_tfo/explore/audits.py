"""What must hold of a target after many schedules: it serves as at first, and nothing is left."""

from __future__ import annotations

from dataclasses import dataclass

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.explore.conversation.context import USUAL
from scapy_tfo.explore.conversation.judge import advice, judged
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.conversation.world import ROOM, TARGETS, World
from scapy_tfo.segment import RST, SYN, Segment

AUDITED = ("serves no more", "pending-limit-moved")
"""How the names of its rules begin."""

REST = 400.0
"""Seconds after which nothing of a conversation counts any more."""
_TEXT = bytes(range(40))


@dataclass(frozen=True, slots=True)
class Served:
    """What a listener does for who asks properly. room: fast opens that may pend at once. plain,
    fast: problems of a conversation without fast open, and with it."""

    room: int
    plain: tuple[str, ...]
    fast: tuple[str, ...]


def served(world: World, application: str) -> Served:
    """Try a listener out, and leave it as it was."""
    world.pass_time(REST)
    found = []
    for opening in ("plain", "good"):
        run = Play(world, Schedule(opening, application, "write-end:100")).play()
        rules = (each.rule for each in judged(run))
        found.append(tuple(rule for rule in rules if rule not in advice()))
    room = _room(world, application)
    world.pass_time(REST)
    return Served(room, *found)


def _room(world: World, application: str) -> int:
    """How many fast opens pend before one is refused."""
    port, client = world.port_of(application), USUAL.client
    cookie = world.cookie(client, port, anew=True)
    if not cookie:
        return 0
    opened, resets = 0, []
    options = opt.padded(opt.push_options([opt.mss(1460), opt.fast_open(cookie)]))
    for _ in range(ROOM + 8):
        syn = Segment(
            src=client,
            dst=TARGETS[4],
            sport=world.free_port(),
            dport=port,
            seq=0x7000,
            flags=SYN,
            options=options,
            payload=_TEXT,
        )
        taken = 0
        for reply in world.exchange(syn):
            if reply.dport == syn.sport and reply.is_syn_ack:
                taken = seq.distance(syn.seq, reply.ack)
        resets.append((syn, taken))
        if taken <= 1:
            break
        opened += 1
    for syn, taken in resets:
        reset = Segment(
            src=client,
            dst=TARGETS[4],
            sport=syn.sport,
            dport=port,
            seq=seq.add(syn.seq, max(taken, 1)),
            flags=RST,
        )
        world.exchange(reset)
    return opened


def compared(before: Served, after: Served) -> list[Problem]:
    """What a listener did at first and does no more."""
    found = []
    for what, one, two in (
        ("plain connections", before.plain, after.plain),
        ("fast opens", before.fast, after.fast),
    ):
        if one != two:
            found.append(
                Problem(
                    f"serves no more {what}",
                    -1,
                    f"{what} as at first ({', '.join(one) or 'right'})",
                    ", ".join(two) or "right",
                )
            )
    if before.room != after.room:
        found.append(
            Problem(
                "pending-limit-moved",
                -1,
                f"{before.room} fast opens pending at once, as at first",
                f"{after.room}",
            )
        )
    return found

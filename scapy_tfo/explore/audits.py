"""What must hold of a target after many schedules: it serves as at first, and nothing is left."""

from __future__ import annotations

from dataclasses import dataclass

from scapy_tfo.explore import accepting, keys, signatures
from scapy_tfo.explore.conversation.judge import advice, judged
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.limits import RULES, backlog, room

WALKED = (*keys.RULES, *accepting.RULES, *signatures.RULES)
"""Names of rules that walks break, which are no part of a schedule."""
AUDITED = ("serves no more", "pending-limit-moved", "backlog-moved", *RULES, *WALKED)
"""How the names of its rules begin."""

REST = 800.0
"""Seconds after which nothing of a conversation counts any more: a SYN-ACK that is sent again seven
times, for the first time after three seconds, pends for 765."""


@dataclass(frozen=True, slots=True)
class Served:
    """What a listener does for who asks properly. room: fast opens that may pend at once. plain,
    fast: problems of a conversation without fast open, and with it. wrong: what it did at its
    limit, which is as wrong in a new world. backlog: handshakes that may be half open at once."""

    room: int
    plain: tuple[str, ...]
    fast: tuple[str, ...]
    wrong: tuple[Problem, ...] = ()
    backlog: int = 0


def served(world: World, application: str) -> Served:
    """Try a listener out, and leave it as it was."""
    world.pass_time(REST)
    found = []
    for opening in ("plain", "good"):
        run = Play(world, Schedule(opening, application, "write-end:100")).play()
        rules = (each.rule for each in judged(run))
        found.append(tuple(rule for rule in rules if rule not in advice()))
    held, wrong = room(world, world.port_of(application))
    world.pass_time(REST)
    half_open = backlog(world, world.port_of(application))
    world.pass_time(REST)
    return Served(held, found[0], found[1], wrong, half_open)


def compared(before: Served, after: Served) -> list[Problem]:
    """What a listener did at first and does no more. One that was wrong at first and is right now
    has lost nothing."""
    found = []
    for what, one, two in (
        ("plain connections", before.plain, after.plain),
        ("fast opens", before.fast, after.fast),
    ):
        if set(two) - set(one):
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
    if before.backlog != after.backlog:
        expected = f"{before.backlog} handshakes half open at once, as at first"
        found.append(Problem("backlog-moved", -1, expected, f"{after.backlog}"))
    return found

"""What must hold of a target after an exploration: each listener serves as one that is new."""

from __future__ import annotations

from collections.abc import Iterator

from scapy_tfo.explore.audits import Served, compared
from scapy_tfo.explore.conversation.judge import advice, judged
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.live.engine import FEW, Engine
from scapy_tfo.explore.live.play import Patience

_CLIENT = "write-end:100"
_PATIENCE = Patience(quiet=2.0, linger=0.5, grace=1.0)
_OPENINGS = ("plain", "good")


def served(engine: Engine) -> dict[str, Served]:
    """What each listener does for who asks properly, by application."""
    site = engine.site
    openings = _OPENINGS if site.profile.fast_open else _OPENINGS[:1]
    asked = [Schedule(each, server, _CLIENT) for server in site.ports for each in openings]
    found = {(each.server, each.opening): tuple[str, ...]() for each in asked}
    for play in engine.run(asked, _PATIENCE, most=FEW):
        rules = (each.rule for each in judged(play.run))
        schedule = play.schedule
        found[schedule.server, schedule.opening] = tuple(
            rule for rule in rules if rule not in advice()
        )
    return {
        server: Served(0, found[server, "plain"], found.get((server, "good"), ()))
        for server in site.ports
    }


def differences(
    before: dict[str, Served], after: dict[str, Served]
) -> Iterator[tuple[str, Problem]]:
    """What a listener did at first and does no more, with its application."""
    for server, first in before.items():
        for problem in compared(first, after[server]):
            yield server, problem

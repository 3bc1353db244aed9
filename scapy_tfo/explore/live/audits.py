"""What must hold of a target after an exploration: each listener serves as one that is new."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from scapy_tfo.explore.audits import Served, compared
from scapy_tfo.explore.conversation.judge import advice, judged
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.live.engine import FEW, Engine
from scapy_tfo.explore.live.play import Patience

_CLIENT = "write-end:100"
_PATIENCE = Patience(quiet=3.0, linger=0.5, grace=1.0)
"""An application may accept after two seconds."""
_OPENINGS = ("plain", "good")
_ASKED = 2
"""Times, before a listener is blamed."""


def served(engine: Engine, servers: Collection[str]) -> dict[str, Served]:
    """What the listeners of these applications do for who asks properly, by application."""
    openings = _OPENINGS if engine.site.profile.fast_open else _OPENINGS[:1]
    asked = [Schedule(each, server, _CLIENT) for server in servers for each in openings]
    found = {(each.server, each.opening): tuple[str, ...]() for each in asked}
    for play in engine.run(asked, _PATIENCE, most=FEW):
        rules = (each.rule for each in judged(play.run))
        schedule = play.schedule
        found[schedule.server, schedule.opening] = tuple(
            rule for rule in rules if rule not in advice()
        )
    return {
        server: Served(0, found[server, "plain"], found.get((server, "good"), ()))
        for server in servers
    }


def lost(engine: Engine, before: dict[str, Served]) -> Iterator[tuple[str, Problem]]:
    """What listeners did at first and do no more, with the application of each. They are asked
    twice where something is: a target that was slow for a moment has lost nothing."""
    wanting: Collection[str] = before
    for _ in range(_ASKED):
        after = served(engine, wanting)
        wanting = [each for each in wanting if compared(before[each], after[each])]
    for server in wanting:
        for problem in compared(before[server], after[server]):
            yield server, problem

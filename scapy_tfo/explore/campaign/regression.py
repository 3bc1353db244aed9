"""What tests exported from findings call."""

from __future__ import annotations

import json

from scapy_tfo.explore.conversation.schedule import from_json
from scapy_tfo.explore.explorer import Explorer
from scapy_tfo.explore.live.run import replayed_live
from scapy_tfo.stacks.file import is_target_file
from scapy_tfo.targets.reached import Reach

_SIMULATED, _LAB = "sim:", "lab:"


def broken_by(schedule: str, rule: str, target: str) -> list[str]:
    """How a target breaks a rule in a schedule (JSON), in words.

    Raises SetupError, and TargetError where the target cannot be judged.
    """
    played = from_json(json.loads(schedule))
    if target.startswith(_SIMULATED):
        _, problems = Explorer(target.removeprefix(_SIMULATED)).replay(played, ())
    else:
        has_app = target.startswith(_LAB) or is_target_file(target)
        reach = Reach(target=target, app=None if has_app else "echo")
        _, problems = replayed_live(reach, played, 0)
    return [
        f"{each.rule}: expected {each.expected}; got {each.actual}"
        for each in problems
        if each.rule == rule
    ]

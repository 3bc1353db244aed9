"""Runs scripts on this host's kernel, for tests."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.local.pool import Answer, run_all
from scapy_tfo.pkt.local.run import Task
from scapy_tfo.pkt.play.outcome import Outcome

PATIENCE = 60.0
"""Seconds in which what was killed must have ended."""

SOCKET = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
LISTEN = SOCKET + "+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n"
OPEN = LISTEN + (
    "+0 < S 0:0(0) win 1000 <mss 1000>\n"
    "+0 > S. 0:0(0) ack 1 <mss 1460>\n"
    "+0 < . 1:1(0) ack 1 win 1000\n"
    "+0 accept(3, ..., ...) = 4\n"
)
"""Seven lines; the next is the eighth."""


def task(text: str, directory: Path = Path("/"), **settings: Any) -> Task:
    return Task("a.pkt", text, directory, Settings(**settings))


def answers(*tasks: Task, jobs: int = 4, longest: float = 60.0) -> list[Answer]:
    """In the order of the tasks; skips where the host allows no namespaces."""
    found: Mapping[int, Answer] = dict(run_all(tasks, jobs=jobs, longest=longest))
    for each in found.values():
        if isinstance(each, SetupError) and re.search(
            "namespace|/dev/net/tun|TUN device", str(each)
        ):
            pytest.skip(str(each))
    return [found[number] for number in range(len(tasks))]


def outcome(text: str, **settings: Any) -> Outcome:
    """Of one script that can be run."""
    (answer,) = answers(task(text, **settings))
    assert isinstance(answer, Outcome), answer
    return answer


def told(text: str, **settings: Any) -> list[str]:
    """What was not as the script says."""
    return [f"{each.line}: {each.problem}" for each in outcome(text, **settings).failures]


def soon(condition: Callable[[], object]) -> bool:
    """Whether it comes true; the kernel takes its time over ending what was killed."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True

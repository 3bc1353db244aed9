"""Runs scripts against simulated targets, for tests: no privilege, no waiting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.lab.memory.target import ReferenceLab
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.library import find_scripts, own_directory, task_of
from scapy_tfo.pkt.local.pool import Answer
from scapy_tfo.pkt.local.run import Task
from scapy_tfo.pkt.play.flows import Flows
from scapy_tfo.pkt.play.outcome import Outcome
from scapy_tfo.pkt.remote.actions import Assumed
from scapy_tfo.pkt.remote.player import RemotePlayer
from scapy_tfo.pkt.remote.run import run_remote
from scapy_tfo.pkt.remote.wire import RemoteWire
from scapy_tfo.runner.clock import VirtualLoop

LISTENER = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 setsockopt(3, SOL_TCP, TCP_FASTOPEN, [5], 4) = 0
+0 bind(3, ..., ...) = 0
+0 listen(3, 5) = 0
"""
"""Lines 1 to 4 of a script."""

OWN = own_directory() / "remote"


def own_tasks(version: str = "ipv4") -> list[Task]:
    """This project's scripts for any target."""
    return [task_of(each, version, Settings(), {}) for each in find_scripts([str(OWN)])]


def run_text(
    text: str, target: str = "sim:reference", *, app: str = "echo", settings: Settings | None = None
) -> Answer:
    """What becomes of one script, given as text."""
    task = Task("it.pkt", text, Path(), settings or Settings())
    [(_, answer)] = run_remote([task], target, app=app)
    return answer


@dataclass
class Simulated:
    """A reference stack in memory, on virtual time, and the wire to it."""

    lab: ReferenceLab
    wire: RemoteWire

    def play(self, text: str, rtt: int = 0) -> Outcome:
        """Play a script. rtt: what is known of the path, ns."""
        source, target = self.lab.link.sources[0], self.lab.addresses[4]
        settings = Settings(local=target, remote=source, tolerance=250_000_000 + rtt)
        flows = Flows(target, source, self.lab.ports["echo"], self.wire.new_port, self.wire.on_wire)
        player = RemotePlayer(parse(text, "it.pkt"), self.wire, settings, flows, rtt=rtt)
        outcome = player.play(Assumed(player))
        player.end_connections()
        # What was sent last arrives.
        self.wire.receive(self.wire.now())
        return outcome


@contextmanager
def simulated(impairment: Impairment | None = None) -> Iterator[Simulated]:
    """One, which is gone at the end."""
    loop = VirtualLoop()

    async def start() -> ReferenceLab:
        return await ReferenceLab.start(impairment=impairment)

    lab = loop.run_until_complete(start())
    try:
        yield Simulated(
            lab, RemoteWire(lab.link, loop, lab.link.sources[:2], {8080: lab.ports["echo"]})
        )
    finally:
        lab.close()
        loop.close()

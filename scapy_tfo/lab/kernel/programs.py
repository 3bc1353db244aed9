"""Runs programs of this host as clients, in a namespace whose packets come to the suite."""

from __future__ import annotations

import shutil
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel.target import Counters, NamespaceLab, start_agent
from scapy_tfo.lab.process.control import Agent


@dataclass(frozen=True, slots=True)
class Finished:
    """What a program left behind. status: its exit status, or minus the signal that ended it."""

    status: int
    output: bytes
    errors: str


class ProgramLab(NamespaceLab):
    """A namespace of the running kernel in which programs can be run.

    They reach the link's sources, where nobody answers until a stack is put on the link, from
    the lab's `addresses`. It has no listeners. hooks: the kernel's counters.
    """

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent)
        self.hooks = Counters(agent)

    @classmethod
    async def start(cls, *, sysctls: Mapping[str, str] | None = None) -> ProgramLab:
        """Make the namespace. Raises as `LinuxLab.start`."""
        return cls(await start_agent(sysctls))

    async def run(self, *argv: str) -> Finished:
        """Run a program to its end, without a standard input.

        Raises SetupError where it is not installed, TargetError where the lab is gone.
        """
        if shutil.which(argv[0]) is None:
            raise SetupError(f"{argv[0]} is not installed: apt-get install {argv[0]}")
        done = await self._agent.ask("run", list(argv))
        return Finished(done["status"], b64decode(done["output"]), done["errors"])

"""The interface through which a player makes a script's calls and runs its commands and code."""

from __future__ import annotations

from scapy_tfo.pkt.language import tree


class Program:
    """What a script does besides packets; this one does nothing, and assumes that it is done."""

    def begin(self, started: int) -> None:
        """The first event happens now, ns since the epoch."""

    def call(self, event: tree.Event, call: tree.Syscall) -> None:
        """Make a system call."""

    def shell(self, event: tree.Event, command: tree.Shell) -> None:
        """Run a command."""

    def code(self, event: tree.Event, code: tree.Code) -> None:
        """Run a piece of code."""

    def finish(self) -> None:
        """The last event has been: wait for what has not returned."""

"""Runs one script on this host's kernel, in a namespace that this process has entered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.checks.lint import refuse_nonsense, refuse_unknown_symbols
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.settings import Settings, with_options
from scapy_tfo.pkt.local.actions import LocalProgram
from scapy_tfo.pkt.local.scheduling import undisturbed
from scapy_tfo.pkt.local.wire import LocalWire, control_wanted, namespace_control
from scapy_tfo.pkt.play.flows import clients
from scapy_tfo.pkt.play.outcome import Failure, Outcome
from scapy_tfo.pkt.play.player import Player


@dataclass(frozen=True, slots=True)
class Task:
    """A script to run. name: for messages. directory: where its commands run."""

    name: str
    text: str
    directory: Path
    settings: Settings


def run_script(task: Task, wire: LocalWire) -> Outcome:
    """Run it on a wire that no script has used before.

    Raises ScriptError where it is not in the language, SetupError where its addresses cannot
    be, or a program is missing that it needs.
    """
    script = parse(task.text, task.name)
    refuse_nonsense(script, task.text, task.name)
    if not script.events:
        raise ScriptError(
            "the script has no events", name=task.name, text=task.text, line=1, column=1
        )
    settings = with_options(task.settings, script.options, task.text, task.name)
    refuse_unknown_symbols(script, settings.symbols, task.text, task.name)
    if settings.piece is not None:
        raise SetupError("--mss hands packets over in pieces, which only packetdrill can do")
    wire.configure(settings, clients(script))
    player = Player(script, wire, settings)
    program = LocalProgram(player, task.directory)
    before, after = commands_around(script)
    control = namespace_control()
    for command in before:
        _run(command, program, player)
    program.control = control_wanted(control)
    if not player.outcome.failures:
        with undisturbed():
            player.play(program)
    program.close()
    for command in after:
        _run(command, program, player)
    player.outcome.failures.sort(key=lambda failure: failure.line)
    return player.outcome


def commands_around(script: tree.Script) -> tuple[list[tree.Command], list[tree.Command]]:
    """Those before the first event, and those behind it."""
    first = script.events[0].at.line if script.events else 0
    before = [each for each in script.commands if each.at.line <= first]
    return before, [each for each in script.commands if each not in before]


def _run(command: tree.Command, program: LocalProgram, player: Player) -> None:
    for problem in program.run_command(command.shell):
        player.outcome.failures.append(Failure(line=command.at.line, problem=problem))

"""`scapy-tfo completion`: prints what makes a shell complete the commands and their options.

The script is made by shtab, of the extra `completion`, from the parsers of the command line; the
shell then needs neither shtab nor Python to complete a word.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scapy_tfo.commands.arguments import described
from scapy_tfo.errors import SetupError

SHELLS = ("bash", "zsh", "fish", "tcsh")

SUMMARY = "print a script that makes a shell complete commands and options"
_DESCRIPTION = """Print a script that makes a shell complete commands, options, files, and the
ids of --only and --exclude. It needs the extra 'completion' (shtab):

  pip install 'scapy-tfo[completion]'

For bash, put the script where bash-completion looks for it, and start a new shell:

  mkdir -p ~/.local/share/bash-completion/completions
  scapy-tfo completion bash > ~/.local/share/bash-completion/completions/scapy-tfo

For zsh, put it into a directory of $fpath as _scapy-tfo. Print it again after an
update of scapy-tfo."""

_SELECTION = ("--only", "--exclude")


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    whole: Callable[[], argparse.ArgumentParser],
) -> None:
    """`completion`. whole: makes the parser of the command line."""
    parser = described(commands, "completion", SUMMARY, _DESCRIPTION)
    parser.set_defaults(command=lambda chosen: _print(whole(), chosen.shell))
    parser.add_argument("shell", choices=SHELLS, help="the shell to print it for")


def _print(whole: argparse.ArgumentParser, shell: str) -> int:
    try:
        import shtab
    except ImportError:
        raise SetupError(
            "'scapy-tfo completion' needs shtab: install it with"
            " pip install 'scapy-tfo[completion]'"
        ) from None
    ids = _selectable()
    for action in _actions(whole):
        if action.type is Path:
            _set(action, shtab.FILE)
        elif _SELECTION[0] in action.option_strings or _SELECTION[1] in action.option_strings:
            _set(action, ids)
    print(shtab.complete(whole, shell))
    return 0


def _set(action: argparse.Action, how: Any) -> None:
    """shtab reads this attribute, which argparse does not declare."""
    action.__dict__["complete"] = how


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All arguments of a parser and of the commands below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in dict.fromkeys(action.choices.values()):
                yield from _actions(below)


def _selectable() -> dict[str, Any]:
    """Ids of cases and requirements, as shtab wants words to choose from."""
    from scapy_tfo.clients.registry import all_cases as client_cases
    from scapy_tfo.suite.registry import all_cases

    cases = [*all_cases(), *client_cases()]
    words = [each.id for each in cases]
    words += dict.fromkeys(name for each in cases for name in each.requirements)
    listed = " ".join(words)
    function = f'_scapy_tfo_ids() {{\n  compgen -W "{listed}" -- "$1"\n}}'
    return {"bash": "_scapy_tfo_ids", "zsh": f"({listed})", "preamble": {"bash": function}}

"""Parsers of arguments that several commands share; argparse reports what they refuse."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn

from scapy_tfo.errors import did_you_mean
from scapy_tfo.units import seconds_of, shown

_LONGEST = 864_000.0


class Parser(argparse.ArgumentParser):
    """A parser that says what may have been meant, where a command, a choice or an option is
    misspelt. Options that it does not know are told with its own usage, not the main command's.

    behind: where the words behind `--` go; "" where they are arguments like the others.
    """

    behind = ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            hint = did_you_mean(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{hint}") from None

    def error(self, message: str) -> NoReturn:
        """End with what is wrong in the last line, below no more than where help is."""
        prog = self.prog
        self.exit(2, f"usage: {prog} ... ('{prog} --help' lists it)\n{prog}: error: {message}\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        words = None
        if self.behind and "--" in (args or ()):
            at = args.index("--")
            args, words = args[:at], args[at + 1 :]
        chosen, left = super().parse_known_args(args, namespace)
        if words is not None:
            setattr(chosen, self.behind, words)
        if left:
            given = next((each for each in left if each.startswith("-")), "").partition("=")[0]
            options = (name for action in self._actions for name in action.option_strings)
            hint = did_you_mean(given, options, alike=0.7) if given else ""
            self.error(f"unrecognized arguments: {' '.join(left)}{hint}")
        return chosen, left


def limit(text: str) -> int:
    """A number from 0 on. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not valid: give a whole number, 0 or more")
    return int(text)


def port(text: str) -> int:
    """A port from 1 on. Raises ArgumentTypeError."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 0 < number < 65536:
        raise argparse.ArgumentTypeError(f"'{text}' is not a port: give 1 to 65535")
    return number


def app_port(text: str) -> tuple[str, int]:
    """`APP=N`, an application of stacks.file.is_app and a port. Raises ArgumentTypeError."""
    from scapy_tfo.stacks.file import is_app

    app, _, number = text.rpartition("=")
    if not is_app(app):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not valid: give APP=N, where APP is echo, http, mute, close, abort, "
            "never-reads, send:SIZE, send-close:SIZE, send-abort:SIZE, two-sends:SIZE or "
            "half-close:SIZE"
        )
    return app, port(number)


def listed(text: str) -> list[str]:
    """`A,B`, one entry at least. Raises ArgumentTypeError."""
    parts = [part for part in text.split(",") if part]
    if not parts:
        raise argparse.ArgumentTypeError("no id given")
    return parts


def duration(text: str) -> float:
    """A time above 0, with or without its unit, in seconds. Raises ArgumentTypeError."""
    try:
        value = seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not 0 < value <= _LONGEST:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not valid: give a time above 0, and at most {shown(_LONGEST)}"
        )
    return value


def count(text: str) -> int:
    """A number from 1 on. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"'{text}' is not valid: give a whole number, 1 or more")
    return int(text)


def add_color(parser: argparse._ActionsContainer) -> None:
    """`--color`."""
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colour the output (default: auto)",
    )


def add_selection(parser: argparse.ArgumentParser) -> None:
    """`--only` and `--exclude`: lists of words that `suite.registry.select` takes."""
    group = parser.add_argument_group("which cases")
    for flag, what in (("--only", "take only"), ("--exclude", "leave out")):
        group.add_argument(
            flag,
            action="extend",
            type=listed,
            default=[],
            metavar="ID",
            help=f"{what} these: a case id, a requirement (ACC-2), a group (OPT) or a pattern; "
            "separate several by commas, or repeat the option",
        )
    group.add_argument(
        "--cases",
        dest="case_files",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="also take the cases, mutants and variants that this Python file registers; it is run "
        "(docs/library.md); repeatable",
    )


def add_standing(group: argparse._ActionsContainer) -> None:
    """`--small-port` and `--app-port`: listeners that are there, for cases that need such."""
    group.add_argument(
        "--small-port",
        type=port,
        metavar="N",
        help="another port of the target: an echo with a limit of 4 pending fast opens",
    )
    group.add_argument(
        "--app-port",
        type=app_port,
        action="append",
        default=[],
        metavar="APP=N",
        help="another port of the target, fast open on, with this application "
        "(docs/hooks.md), such as send-close:5000=7001; repeatable",
    )


def add_families(parser: argparse._ActionsContainer) -> None:
    """`-4` and `-6`: a tuple of one, or None."""
    group = parser.add_mutually_exclusive_group()
    for family in (4, 6):
        group.add_argument(
            f"-{family}",
            f"--ipv{family}",
            action="store_const",
            const=(family,),
            dest="families",
            help=f"judge over IPv{family} only",
        )


def described(
    below: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    description: str,
) -> argparse.ArgumentParser:
    """A command whose description stands as it is written, and whose options are spelled out."""
    return below.add_parser(
        name,
        help=summary,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )

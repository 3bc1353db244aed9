"""The command line: reads the arguments and runs the command that they name."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import os
import select
import signal
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, TextIO

from scapy_tfo import __version__
from scapy_tfo.commands import soak
from scapy_tfo.commands.arguments import Parser, add_color, add_selection
from scapy_tfo.commands.crash import STATUS as CRASHED
from scapy_tfo.commands.crash import tell_crash
from scapy_tfo.commands.output import fitted
from scapy_tfo.commands.test import EXIT_STATUS
from scapy_tfo.errors import SetupError, TargetError

if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NOBODY_READS = 128 + signal.SIGPIPE


@fitted
def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status. Raises SystemExit as argparse does."""
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, _interrupted)
    given = _spelled_out(list(sys.argv[1:] if arguments is None else arguments))
    try:
        chosen = _parser(_COMMANDS.keys() & given[:1] or _COMMANDS.keys()).parse_args(given)
    except SystemExit as ended:
        _flushed(0)
        raise ended from None
    except BrokenPipeError:
        # Python 3.11.2 does not expect this where it prints help.
        return _flushed(_NOBODY_READS)
    return _flushed(_run(chosen, given))


def _spelled_out(given: list[str]) -> list[str]:
    """The command line with the command that `fuzz TARGET` and `explore TARGET` leave out."""
    if given[:1] == ["fuzz"]:
        from scapy_tfo.commands.fuzz.group import spelled_out

        return spelled_out(given)
    if given[:1] == ["explore"]:
        from scapy_tfo.commands.explore.group import spelled_out as with_explore

        return with_explore(given)
    return given


def _run(chosen: argparse.Namespace, given: Sequence[str]) -> int:
    command: Callable[[argparse.Namespace], int] = chosen.command
    try:
        if hasattr(chosen, "case_files"):
            from scapy_tfo.commands.shell.extending import extend

            extend(chosen)
        return command(chosen)
    except SetupError as error:
        return _complain(error, 2)
    except TargetError as error:
        return _complain(error, 3)
    except KeyboardInterrupt as error:
        return _complain(str(error) or "interrupted; nothing is left behind", 130)
    except SystemExit:
        raise
    except BaseException as error:
        is_read = all(map(_has_reader, (sys.stdout, sys.stderr)))
        if isinstance(error, BrokenPipeError) and not is_read:
            return _NOBODY_READS
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            where = f" {error.filename}" if error.filename else ""
            return _complain(f"cannot write{where}: {error.strerror}", 2)
        out = getattr(chosen, "out", None)
        with contextlib.suppress(BrokenPipeError):
            tell_crash(error, given, out if isinstance(out, Path) else None)
        return CRASHED


def _interrupted(number: int, frame: FrameType | None) -> None:
    """End as Ctrl-C does: an event loop that runs takes it as a request to stop."""
    on_interrupt = signal.getsignal(signal.SIGINT)
    if callable(on_interrupt):
        on_interrupt(number, frame)
    else:
        raise KeyboardInterrupt


def _complain(error: object, status: int) -> int:
    with contextlib.suppress(BrokenPipeError):
        print(f"scapy-tfo: {error}", file=sys.stderr)
    return status


def _has_reader(stream: TextIO | None) -> bool:
    """Whether what is written can still be read; True where that cannot be told."""
    watch = select.poll()
    try:
        if stream is not None:
            watch.register(stream, 0)
    except (OSError, ValueError):
        return True
    return not watch.poll(0)


def _flushed(status: int) -> int:
    """Write what is left of the output, or the interpreter fails at its exit, with its own status.

    A reader that has gone changes nothing: the command had ended.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except BrokenPipeError:
            _forget(stream)
        except OSError as error:
            _forget(stream)
            status = _complain(f"cannot write the output: {error.strerror}", status or 2)
    return status


def _forget(stream: TextIO | None) -> None:
    """Let what is in the buffer of a stream go nowhere."""
    with contextlib.suppress(OSError, ValueError):
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def parser_of_all() -> argparse.ArgumentParser:
    """The parser of the command line, with those of all commands below it."""
    return _parser(_COMMANDS.keys())


def _parser(names: Collection[str]) -> argparse.ArgumentParser:
    """names: of the commands that it knows. To load all takes longer than to run a script."""
    parser: argparse.ArgumentParser = Parser(
        prog="scapy-tfo",
        description="Conformance suite for TCP Fast Open (RFC 7413).",
        epilog="Start with 'scapy-tfo test lab:linux'.\n\n" + EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"scapy-tfo {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, add in _COMMANDS.items():
        if name in names:
            add(commands)
    return parser


def _command(
    commands: _Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    summary: str,
    description: str | None = None,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=summary,
        description=description or summary,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=run)
    return parser


def _add_soak(commands: _Commands) -> None:
    parser = _command(
        commands, "soak", soak.command, summary=soak.SUMMARY, description=soak.DESCRIPTION
    )
    add_selection(parser)
    soak.add_arguments(parser)


def _add_demo(commands: _Commands) -> None:
    parser = _command(
        commands,
        "demo",
        _demo,
        summary="judge this machine's kernel and the reference implementation",
    )
    add_color(parser)


def _add_list(commands: _Commands) -> None:
    parser = _command(
        commands, "list", _list, summary="print the cases, without touching the network"
    )
    add_selection(parser)
    parser.add_argument("--json", action="store_true", help="print them as JSON")


def _add_spec(commands: _Commands) -> None:
    parser = _command(
        commands, "spec", _spec, summary="print the requirements and the cases that check each"
    )
    add_selection(parser)
    parser.add_argument(
        "--rules",
        action="store_true",
        help="print the oracle's rules of plain TCP instead; --only and "
        "--exclude take ids (TCP-RST-2) and topics (RST)",
    )
    group = parser.add_argument_group("the matrix")
    add = group.add_argument
    add(
        "--matrix",
        action="store_true",
        help="run every case against every mutant, and print which case catches which mutant "
        "(takes minutes)",
    )
    add("--write", type=Path, metavar="FILE", help="write the matrix, or the rules, to this file")
    add("--kills", type=Path, metavar="FILE", help="write as JSON which cases catch each mutant")
    add("--jobs", type=int, metavar="N", help="mutants at a time (default: one for each processor)")


def _add_mutants(commands: _Commands) -> None:
    _command(commands, "mutants", _mutants, summary="print the mutants: stacks wrong on purpose")


def _add_variants(commands: _Commands) -> None:
    _command(
        commands,
        "variants",
        _variants,
        summary="print the variants: legal stacks that differ from the reference",
    )


def _demo(chosen: argparse.Namespace) -> int:
    from scapy_tfo.commands.terminal import demonstrate

    return demonstrate(color=chosen.color)


def _mutants(_chosen: argparse.Namespace) -> int:
    from scapy_tfo.commands.listing import print_mutants

    print_mutants()
    return 0


def _variants(_chosen: argparse.Namespace) -> int:
    from scapy_tfo.commands.listing import print_variants

    print_variants()
    return 0


def _list(chosen: argparse.Namespace) -> int:
    from scapy_tfo.commands.listing import print_cases, print_cases_as_json

    show = print_cases_as_json if chosen.json else print_cases
    show(chosen.only, chosen.exclude)
    return 0


def _spec(chosen: argparse.Namespace) -> int:
    if chosen.matrix:
        from scapy_tfo.commands.matrix import show_matrix

        return show_matrix(write=chosen.write, kills=chosen.kills, processes=chosen.jobs)
    from scapy_tfo.commands.listing import print_requirements, print_rules, write_rules

    if chosen.rules and chosen.write is not None:
        write_rules(chosen.write)
    elif chosen.rules:
        print_rules(chosen.only, chosen.exclude)
    else:
        print_requirements(chosen.only, chosen.exclude)
    return 0


def _loaded(module: str, name: str = "add_command") -> Callable[[_Commands], None]:
    """What adds a command, out of a module that is loaded only then."""

    def add(commands: _Commands) -> None:
        getattr(importlib.import_module(f"scapy_tfo.commands.{module}"), name)(commands)

    return add


def _add_completion(commands: _Commands) -> None:
    from scapy_tfo.commands.shell.completion import add_command

    add_command(commands, parser_of_all)


_COMMANDS: Mapping[str, Callable[[_Commands], None]] = MappingProxyType(
    {
        "test": _loaded("test"),
        "diff": _loaded("results.diff"),
        "matrix": _loaded("results.matrix"),
        "badge": _loaded("results.badge"),
        "summary": _loaded("results.summary"),
        "soak": _add_soak,
        "demo": _add_demo,
        "list": _add_list,
        "spec": _add_spec,
        "mutants": _add_mutants,
        "variants": _add_variants,
        "lab": _loaded("serve"),
        "fuzz": _loaded("fuzz.group", "add_commands"),
        "explore": _loaded("explore.group", "add_commands"),
        "pkt": _loaded("pkt.group", "add_commands"),
        "capture": _loaded("captures.group", "add_commands"),
        "dissector": _loaded("dissector", "add_commands"),
        "client": _loaded("client"),
        "path": _loaded("path", "add_path"),
        "gain": _loaded("gain.group"),
        "completion": _add_completion,
    }
)
"""By the name that each adds, in the order of the help."""


if __name__ == "__main__":
    sys.exit(main())

"""The command line: reads the arguments and runs the command that they name."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import TextIO

from scapy_tfo import __version__
from scapy_tfo.commands import soak
from scapy_tfo.commands.arguments import Parser, add_color, add_selection, limit, port
from scapy_tfo.commands.captures.group import add_commands as add_capture
from scapy_tfo.commands.client import add_command as add_client
from scapy_tfo.commands.crash import STATUS as CRASHED
from scapy_tfo.commands.crash import tell_crash
from scapy_tfo.commands.dissector import add_commands as add_dissector
from scapy_tfo.commands.explore.group import add_commands as add_explore
from scapy_tfo.commands.explore.group import spelled_out as with_explore
from scapy_tfo.commands.fuzz.group import add_commands as add_fuzz
from scapy_tfo.commands.fuzz.group import spelled_out
from scapy_tfo.commands.gain.group import add_command as add_gain
from scapy_tfo.commands.output import fitted
from scapy_tfo.commands.path import add_path
from scapy_tfo.commands.pkt.group import add_commands as add_pkt
from scapy_tfo.commands.results.badge import add_command as add_badge
from scapy_tfo.commands.results.diff import add_command as add_diff
from scapy_tfo.commands.results.matrix import add_command as add_matrix
from scapy_tfo.commands.results.summary import add_command as add_summary
from scapy_tfo.commands.shell.completion import add_command as add_completion
from scapy_tfo.commands.shell.extending import extend
from scapy_tfo.commands.test import EXIT_STATUS
from scapy_tfo.commands.test import add_command as add_test
from scapy_tfo.errors import SetupError, TargetError

_LAB_SERVE = """Run the reference server for curl, for this suite or for any other client.

The server is reached through a TUN device in the current network namespace;
making the device needs CAP_NET_ADMIN. The device, its addresses and its routes
disappear when the command ends. Networks that are in use here are refused."""


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NOBODY_READS = 128 + signal.SIGPIPE


@fitted
def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status. Raises SystemExit as argparse does."""
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, _interrupted)
    given = with_explore(spelled_out(arguments))
    try:
        chosen = parser_of_all().parse_args(given)
    except SystemExit as ended:
        _flushed(0)
        raise ended from None
    return _flushed(_run(chosen, given))


def _run(chosen: argparse.Namespace, given: Sequence[str]) -> int:
    command: Callable[[argparse.Namespace], int] = chosen.command
    try:
        if hasattr(chosen, "case_files"):
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
    parser: argparse.ArgumentParser = Parser(
        prog="scapy-tfo",
        description="Conformance suite for TCP Fast Open (RFC 7413).",
        epilog="Start with 'scapy-tfo test lab:linux'.\n\n" + EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"scapy-tfo {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    add_test(commands)
    add_diff(commands)
    add_matrix(commands)
    add_badge(commands)
    add_summary(commands)
    _add_soak(commands)
    _add_demo(commands)
    _add_list(commands)
    _add_spec(commands)
    _add_mutants(commands)
    _add_variants(commands)
    _add_lab(commands)
    add_fuzz(commands)
    add_explore(commands)
    add_pkt(commands)
    add_capture(commands)
    add_dissector(commands)
    add_client(commands)
    add_path(commands)
    add_gain(commands)
    add_completion(commands, parser_of_all)
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
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


def _add_soak(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands, "soak", soak.command, summary=soak.SUMMARY, description=soak.DESCRIPTION
    )
    add_selection(parser)
    soak.add_arguments(parser)


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "demo",
        _demo,
        summary="judge this machine's kernel and the reference implementation",
    )
    add_color(parser)


def _add_list(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands, "list", _list, summary="print the cases, without touching the network"
    )
    add_selection(parser)
    parser.add_argument("--json", action="store_true", help="print them as JSON")


def _add_spec(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands, "spec", _spec, summary="print the requirements and the cases that check each"
    )
    add_selection(parser)
    parser.add_argument(
        "--rules",
        action="store_true",
        help="print the rules of plain TCP instead, which the oracle is made of; --only and "
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


def _add_mutants(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    _command(commands, "mutants", _mutants, summary="print the mutants: stacks wrong on purpose")


def _add_variants(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    _command(
        commands,
        "variants",
        _variants,
        summary="print the variants: legal stacks that differ from the reference",
    )


def _add_lab(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    group = commands.add_parser(
        "lab", help="run this suite's own targets, for other tools", allow_abbrev=False
    ).add_subparsers(metavar="COMMAND", required=True)
    parser = _command(
        group, "serve", _lab_serve, summary="run the reference server", description=_LAB_SERVE
    )
    add = parser.add_argument
    add(
        "--address",
        action="append",
        metavar="ADDRESS[/PREFIX]",
        help="address of the server, at most one of each family (default: 198.51.100.2/24 and "
        "fd00:7413:1::2/64); the kernel gets the first two other addresses of the network",
    )
    add(
        "--app",
        default="http",
        help="application of the server: http (default), echo, mute, close, abort, send:N, "
        "send-close:N, send-abort:N, two-sends:N, half-close:N (N bytes); never-reads; think:N, "
        "slow-reader:N, late-close:N (N milliseconds)",
    )
    add(
        "--mutant",
        default="reference",
        metavar="NAME",
        help="run this mutant or variant instead ('scapy-tfo mutants' and 'scapy-tfo variants' "
        "list them)",
    )
    add("--port", type=port, default=80, metavar="N", help="port to listen on (default: 80)")
    add("--second-port", type=port, metavar="N", help="also listen here, with fast open on")
    add("--plain-port", type=port, metavar="N", help="also listen here, with fast open off")
    add(
        "--small-port",
        type=port,
        metavar="N",
        help="also listen here, with a limit of 4 pending fast opens",
    )
    add(
        "--queue",
        type=limit,
        default=8192,
        metavar="N",
        help="limit of pending fast opens (default: 8192; 0: fast open off)",
    )
    add(
        "--hooks",
        type=Path,
        metavar="PATH",
        help="offer the server's hooks on this Unix socket, for a target file (docs/hooks.md)",
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


def _lab_serve(chosen: argparse.Namespace) -> int:
    from scapy_tfo.commands.lab import ADDRESSES, Service, serve

    service = Service(
        addresses=chosen.address or ADDRESSES,
        app=chosen.app,
        port=chosen.port,
        second_port=chosen.second_port,
        plain_port=chosen.plain_port,
        small_port=chosen.small_port,
        queue=chosen.queue,
        hooks=chosen.hooks,
        mutant=chosen.mutant,
    )
    return serve(service)


if __name__ == "__main__":
    sys.exit(main())

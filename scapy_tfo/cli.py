"""The command line: `scapy-tfo test`, `soak`, `list`, `demo`, `pkt`, `fuzz`, `capture`, ..."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from scapy_tfo import __version__, fuzz_command, pkt_command, soak_command
from scapy_tfo.arguments import limit, listed, port
from scapy_tfo.capture_command import add_commands as add_capture
from scapy_tfo.client_command import add_command as add_client
from scapy_tfo.dissector_command import add_commands as add_dissector
from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.gain_command import add_command as add_gain
from scapy_tfo.path_command import add_path

EXIT_STATUS = """exit status:
  0  nothing failed
  1  a requirement failed (MUST, step or robust; SHOULD with --strict)
  2  wrong usage or set-up
  3  the target could not be judged: no control handshake succeeds"""

_TEST = f"""Judge a target, clause by clause.

TARGET is one of
  HOST[:PORT]     any address or name; an IPv6 address with a port as [2001:db8::7]:80
  lab:linux       this machine's kernel in a network namespace of its own
  lab:reference   the reference implementation, in real time, without any privilege
  lab:nginx       nginx in a namespace, fast open on; lab:haproxy likewise
  sim:reference   the reference implementation on virtual time
  lab:NAME, sim:NAME   a stack that is wrong on purpose ('scapy-tfo mutants' lists them), likewise

Traffic goes to the target alone. Cases that fill queues or use a second address run only with
--intrusive, or against a target of our own.

{EXIT_STATUS}"""

_LAB_SERVE = """Run the reference server, for curl, for this suite, for whatever client you like.

It lives behind a TUN device in the current network namespace, for which CAP_NET_ADMIN is needed,
and so do the addresses and routes to it; all is gone when the command ends. It refuses networks
that are in use here."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status."""
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, _interrupted)
    try:
        chosen = _parser().parse_args(fuzz_command.spelled_out(arguments))
        command: Callable[[argparse.Namespace], int] = chosen.command
        return command(chosen)
    except SetupError as error:
        return _complain(error, 2)
    except TargetError as error:
        return _complain(error, 3)
    except BrokenPipeError:
        # Whoever read our output has gone; what is left in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except KeyboardInterrupt:
        return _complain("interrupted; nothing is left behind", 130)


def _interrupted(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _complain(error: object, status: int) -> int:
    print(f"scapy-tfo: {error}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scapy-tfo",
        description="Conformance suite for TCP Fast Open (RFC 7413).",
        epilog="Begin with 'scapy-tfo test lab:linux'. " + EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"scapy-tfo {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_test(commands)
    _add_soak(commands)
    _add_demo(commands)
    _add_list(commands)
    _add_spec(commands)
    _add_mutants(commands)
    _add_lab(commands)
    fuzz_command.add_commands(commands)
    pkt_command.add_commands(commands)
    add_capture(commands)
    add_dissector(commands)
    add_client(commands)
    add_path(commands)
    add_gain(commands)
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


def _add_selection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which cases")
    for flag, what in (("--only", "run only"), ("--exclude", "leave out")):
        group.add_argument(
            flag,
            action="extend",
            type=listed,
            default=[],
            metavar="ID",
            help=f"{what} this: a case id, a requirement (ACC-2), a group (OPT), or a pattern; "
            "may be repeated, or a list with commas",
        )


def _add_test(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands, "test", _test, summary="judge a target, clause by clause", description=_TEST
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to judge: see above")
    parser.add_argument(
        "--app",
        choices=("echo", "http", "none"),
        help="what listens there (default: none, which judges the handshake only)",
    )
    _add_selection(parser)
    group = parser.add_argument_group("which cases (more)")
    group.add_argument("--slow", action="store_true", help="also cases that wait for long timers")
    group.add_argument(
        "--intrusive", action="store_true", help="also cases that fill queues or use --source twice"
    )
    family = group.add_mutually_exclusive_group()
    family.add_argument("-4", "--ipv4", action="store_const", const=(4,), dest="families")
    family.add_argument("-6", "--ipv6", action="store_const", const=(6,), dest="families")
    group = parser.add_argument_group("verdicts and reports")
    group.add_argument("--strict", action="store_true", help="a failed SHOULD fails the run")
    group.add_argument(
        "--known", type=Path, metavar="FILE", help="TOML list of failures expected, with reasons"
    )
    group.add_argument("--json", type=Path, metavar="FILE", help="also write the results as JSON")
    group.add_argument("--junit", type=Path, metavar="FILE", help="also write them as JUnit XML")
    group.add_argument(
        "--out", type=Path, metavar="DIR", help="reports go here (default tfo-results/<UTC time>)"
    )
    group.add_argument("--quiet", action="store_true", help="no progress, only the summary")
    group.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="default: auto"
    )
    group = parser.add_argument_group("how to reach the target")
    group.add_argument(
        "--source",
        nargs="+",
        action="extend",
        default=[],
        metavar="ADDRESS",
        help="send from these addresses; two of a family let cookies be tried from another client",
    )
    group.add_argument(
        "--iface",
        metavar="NAME",
        help="send on this interface, also where the host has no address on it: ARP and "
        "neighbour solicitations for the sources are then answered by the suite",
    )
    group.add_argument("--impair", metavar="SPEC", help=soak_command.IMPAIR_HELP)
    group.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="of all that is random, for targets in memory (lab:reference, lab:NAME, sim:NAME)",
    )
    group.add_argument(
        "--connections",
        type=limit,
        metavar="N",
        help="cookies to ask for, to count the servers "
        "with keys of their own (default 16 for HOST, else none)",
    )
    group.add_argument("--plain-port", type=port, metavar="N", help="a port with fast open off")
    group.add_argument("--second-port", type=port, metavar="N", help="another port with it on")
    group.add_argument(
        "--sysctl",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set in the namespace of a lab target, e.g. net.ipv4.tcp_fastopen=1",
    )


def _add_soak(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "soak",
        soak_command.command,
        summary=soak_command.SUMMARY,
        description=soak_command.DESCRIPTION,
    )
    _add_selection(parser)
    soak_command.add_arguments(parser)


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "demo",
        _demo,
        summary="judge this machine's kernel and the reference implementation",
    )
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")


def _add_list(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    _add_selection(
        _command(commands, "list", _list, summary="print the cases, without touching the network")
    )


def _add_spec(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands, "spec", _spec, summary="print the requirements and the cases that check each"
    )
    _add_selection(parser)
    group = parser.add_argument_group("the matrix")
    group.add_argument(
        "--matrix",
        action="store_true",
        help="run every case against every mutant, and print what catches what (takes minutes)",
    )
    group.add_argument("--write", type=Path, metavar="FILE", help="write the matrix there")
    group.add_argument("--kills", type=Path, metavar="FILE", help="write there, in JSON, each kill")
    group.add_argument("--jobs", type=int, metavar="N", help="mutants at a time")


def _add_mutants(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    _command(commands, "mutants", _mutants, summary="print the stacks that are wrong on purpose")


def _add_lab(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    group = commands.add_parser(
        "lab", help="targets of our own for other tools", allow_abbrev=False
    ).add_subparsers(metavar="COMMAND", required=True)
    parser = _command(
        group, "serve", _lab_serve, summary="run the reference server", description=_LAB_SERVE
    )
    parser.add_argument(
        "--address",
        action="append",
        metavar="ADDRESS[/PREFIX]",
        help="of the server, one of each family at most (default 198.51.100.2/24 and "
        "fd00:7413:1::2/64); the kernel takes the first two others of the network",
    )
    parser.add_argument(
        "--app",
        default="http",
        help="what answers: http (default), echo, mute, close, abort, send:N, send-close:N, "
        "send-abort:N, two-sends:N",
    )
    parser.add_argument(
        "--mutant",
        default="reference",
        metavar="NAME",
        help="serve a stack that is wrong on purpose ('scapy-tfo mutants' lists them)",
    )
    parser.add_argument("--port", type=port, default=80, metavar="N", help="default: 80")
    parser.add_argument("--second-port", type=port, metavar="N", help="the same on another port")
    parser.add_argument("--plain-port", type=port, metavar="N", help="one with fast open off")
    parser.add_argument(
        "--queue",
        type=limit,
        default=8192,
        metavar="N",
        help="fast opens that may be pending at a time (default: 8192; 0: fast open off)",
    )


def _test(chosen: argparse.Namespace) -> int:
    from scapy_tfo.front import judge_and_report
    from scapy_tfo.suite.holders import REQUESTS
    from scapy_tfo.suite.runner import Options
    from scapy_tfo.suite.session import Request

    target, sources = chosen.target, list(chosen.source)
    if target is None and len(sources) > 1:
        target = sources.pop()
    if target is None:
        raise SetupError("no target: give HOST[:PORT], lab:linux, ... ('scapy-tfo test --help')")
    sysctls = {}
    for entry in chosen.sysctl:
        name, mark, value = entry.partition("=")
        if not mark or not name:
            raise SetupError(f"--sysctl '{entry}': write NAME=VALUE")
        sysctls[name] = value
    requests = chosen.connections
    if requests is None:
        requests = 0 if target.startswith(("lab:", "sim:")) or chosen.only else REQUESTS
    request = Request(
        target=target,
        app=chosen.app,
        only=chosen.only,
        exclude=chosen.exclude,
        known=chosen.known,
        sources=sources,
        iface=chosen.iface,
        plain_port=chosen.plain_port,
        second_port=chosen.second_port,
        sysctls=sysctls,
        options=Options(
            slow=chosen.slow,
            intrusive=chosen.intrusive,
            families=chosen.families,
            seed=chosen.seed or 0,
            impairment=soak_command.impairment(chosen.impair),
            requests=requests,
        ),
    )
    if chosen.seed is not None and not request.is_in_memory:
        raise SetupError(
            "--seed is for targets in memory (sim:, lab:reference): others do not repeat"
        )
    return judge_and_report(
        request,
        strict=chosen.strict,
        json=chosen.json,
        junit=chosen.junit,
        out=chosen.out,
        quiet=chosen.quiet,
        color=chosen.color,
    )


def _demo(chosen: argparse.Namespace) -> int:
    from scapy_tfo.front import demonstrate

    return demonstrate(color=chosen.color)


def _mutants(_chosen: argparse.Namespace) -> int:
    from scapy_tfo.listing import print_mutants

    print_mutants()
    return 0


def _list(chosen: argparse.Namespace) -> int:
    from scapy_tfo.listing import print_cases

    print_cases(chosen.only, chosen.exclude)
    return 0


def _spec(chosen: argparse.Namespace) -> int:
    if chosen.matrix:
        from scapy_tfo.matrix_command import show_matrix

        return show_matrix(write=chosen.write, kills=chosen.kills, processes=chosen.jobs)
    from scapy_tfo.listing import print_requirements

    print_requirements(chosen.only, chosen.exclude)
    return 0


def _lab_serve(chosen: argparse.Namespace) -> int:
    from scapy_tfo.lab_command import ADDRESSES, Service, serve

    service = Service(
        addresses=chosen.address or ADDRESSES,
        app=chosen.app,
        port=chosen.port,
        second_port=chosen.second_port,
        plain_port=chosen.plain_port,
        queue=chosen.queue,
        mutant=chosen.mutant,
    )
    return serve(service)


if __name__ == "__main__":
    sys.exit(main())

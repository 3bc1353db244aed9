"""`scapy-tfo test`: judges a target, clause by clause."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.commands import soak
from scapy_tfo.commands.arguments import (
    add_color,
    add_families,
    add_selection,
    add_standing,
    described,
    limit,
    port,
)
from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from scapy_tfo.runner.runner import Options
    from scapy_tfo.runner.session import Request
    from scapy_tfo.vary.run import Vary

EXIT_STATUS = """exit status:
  0  nothing failed
  1  a requirement failed (MUST, step or robust; SHOULD with --strict)
  2  wrong usage or set-up
  3  the target could not be judged: no control handshake succeeds, another
     application answers than the one named, or the target went away
  70  an internal error of scapy-tfo, with a file to attach to a bug report; or
      a case broke, and says where
  130 interrupted; the reports contain the cases that were finished
  141 the reader of the output closed it, as in | head"""

_TEST = f"""Judge a target, clause by clause.

TARGET is one of
  HOST[:PORT]     an address or a name; IPv6 with a port: [2001:db8::7]:80
  FILE.toml       a target file, which says how to start and reach a stack and
                  its hooks (docs/hooks.md); its commands are run
  lab:linux       this machine's kernel in its own network namespace
  lab:nginx       nginx in a namespace, with fast open on; lab:haproxy likewise
  lab:reference   the reference implementation in real time; needs no privilege
  sim:reference   the reference implementation in virtual time
  lab:NAME        a mutant, which is a stack that is wrong on purpose
                  ('scapy-tfo mutants' lists them), or a variant, which is legal
                  and differs from the reference ('scapy-tfo variants'), in real
                  time
  sim:NAME        the same in virtual time

--schedules ends the run with the corpus of schedules: three thousand conversations
in which several things happen at once (docs/explore.md). It needs an echo.

--vary repeats each case in many contexts, which together contain every pair of
values of some twenty factors that cases leave open (docs/vary.md): the client's
options, ports, addresses and sequence numbers, IP headers, a slow application,
earlier connections. A failure names the few factors that it needs; --context
repeats the cases in that context.

Packets are sent only to the target. Cases that fill queues or use a second
address run only with --intrusive, or against lab: and sim: targets.

{EXIT_STATUS}"""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`test`."""
    parser = described(commands, "test", "judge a target, clause by clause", _TEST)
    parser.set_defaults(command=_test)
    parser.add_argument("target", nargs="?", metavar="TARGET", help="target to judge (see above)")
    parser.add_argument(
        "--app",
        choices=("echo", "http", "none"),
        help="application on the target (default: none, which judges the handshake only)",
    )
    add_selection(parser)
    group = parser.add_argument_group("which kinds of cases")
    add = group.add_argument
    add(
        "--slow",
        action="store_true",
        help="also run cases that wait for long timers",
    )
    add(
        "--schedules",
        action=argparse.BooleanOptionalAction,
        help="play the corpus of schedules behind the cases, at an echo (default: with --slow, at "
        "lab: and sim: targets)",
    )
    add(
        "--intrusive", action="store_true", help="also run cases that fill queues or need 2 sources"
    )
    add_families(group)
    _add_contexts(parser)
    group = parser.add_argument_group("verdicts and reports")
    add = group.add_argument
    add("--strict", action="store_true", help="a failed SHOULD fails the run")
    add("--known", type=Path, metavar="FILE", help="TOML list of expected failures, with reasons")
    add("--json", type=Path, metavar="FILE", help="also write the results as JSON")
    add("--junit", type=Path, metavar="FILE", help="also write the results as JUnit XML")
    add(
        "--tap",
        type=Path,
        metavar="FILE",
        help="also write the results as TAP 14, which is KTAP, too; - for standard output, where "
        "then nothing else is printed",
    )
    add("--sarif", type=Path, metavar="FILE", help="also write the failures as SARIF 2.1.0")
    add("--label", metavar="TEXT", default="", help="a name for the run, kept in results.json")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="write the reports to this directory (default: tfo-results/<UTC time>)",
    )
    add("--quiet", action="store_true", help="print only the summary, no progress")
    add_color(group)
    _add_reach(parser)


def _add_contexts(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("in which contexts")
    add = group.add_argument
    add("--vary", action="store_true", help="also run each case in many other contexts")
    add(
        "--strength",
        type=int,
        choices=(1, 2, 3),
        default=2,
        help="with --vary: how many factors are combined in every way (default: 2)",
    )
    add(
        "--plan",
        action="store_true",
        help="with --vary: send nothing, and say how many contexts and runs there would be at most",
    )
    add(
        "--context",
        metavar="FACTOR=VALUE,...",
        default="",
        help="run the cases in this context, as a failure under --vary names it",
    )


def _add_reach(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how to reach the target")
    add = group.add_argument
    add(
        "--source",
        nargs="+",
        action="extend",
        default=[],
        metavar="ADDRESS",
        help="send from these addresses; with two of a family, cookies are tried from another "
        "client, too",
    )
    add(
        "--iface",
        metavar="NAME",
        help="send on this interface; if the --source addresses are not this host's own, the "
        "suite answers ARP and neighbour solicitations for them",
    )
    add("--impair", metavar="SPEC", help=soak.IMPAIR_HELP)
    add("--seed", type=int, metavar="N", help="random seed of lab:reference, lab:NAME or sim:NAME")
    add(
        "--connections",
        type=limit,
        metavar="N",
        help="request this many cookies, to count the servers that hold different keys "
        "(default: 16 for HOST, 0 for other targets and with --only)",
    )
    add("--plain-port", type=port, metavar="N", help="another port of the target, fast open off")
    add("--second-port", type=port, metavar="N", help="another port of the target, fast open on")
    add_standing(group)
    add(
        "--sysctl",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set in the namespace of a lab: target, e.g. net.ipv4.tcp_fastopen=1; repeatable",
    )


def _test(chosen: argparse.Namespace) -> int:
    from scapy_tfo.commands.terminal import Reports, judge_and_report
    from scapy_tfo.runner.session import Request
    from scapy_tfo.vary.run import Vary

    target, sources = chosen.target, list(chosen.source)
    if target is None and len(sources) > 1:
        target = sources.pop()
    if target is None:
        raise SetupError(
            "no target: give HOST[:PORT], FILE.toml, lab:linux, ... ('scapy-tfo test --help')"
        )
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
        small_port=chosen.small_port,
        app_ports=dict(chosen.app_port),
        sysctls=_sysctls(chosen.sysctl),
        label=chosen.label,
        options=_options(chosen, target),
    )
    if chosen.seed is not None and not request.is_in_memory:
        raise SetupError(
            "--seed works only with lab:reference, lab:NAME and sim:NAME: others do not repeat"
        )
    vary = Vary(chosen.strength, chosen.seed or 0) if chosen.vary else None
    if chosen.plan:
        return _show_plan(request, vary)
    return judge_and_report(
        request,
        vary=vary,
        schedules=plays_schedules(chosen, request),
        reports=Reports(
            strict=chosen.strict,
            json=chosen.json,
            junit=chosen.junit,
            tap=chosen.tap,
            sarif=chosen.sarif,
            out=chosen.out,
        ),
        quiet=chosen.quiet,
        color=chosen.color,
    )


def plays_schedules(chosen: argparse.Namespace, request: Request) -> bool:
    """Whether the corpus of schedules is played: where that is asked for, and in whole and slow
    runs at targets of ours."""
    if chosen.schedules is not None:
        return bool(chosen.schedules)
    options = request.options
    is_part = bool(chosen.only or chosen.exclude or options.context.values or options.impairment)
    return chosen.slow and request.is_ours and not is_part


def _options(chosen: argparse.Namespace, target: str) -> Options:
    """How to judge. Raises SetupError for a context that there is not."""
    from scapy_tfo.runner.runner import Options
    from scapy_tfo.runner.shared_keys import REQUESTS
    from scapy_tfo.suite.context.context import Context

    context = Context.parse(chosen.context)
    if context.values and chosen.vary:
        raise SetupError("give --vary or --context, not both")
    requests = chosen.connections
    if requests is None:
        requests = 0 if target.startswith(("lab:", "sim:")) or chosen.only else REQUESTS
    return Options(
        slow=chosen.slow,
        intrusive=chosen.intrusive,
        families=chosen.families or ((6,) if context["family"] == "6" else None),
        context=context,
        seed=chosen.seed or 0,
        impairment=soak.impairment(chosen.impair),
        requests=requests,
    )


def _sysctls(entries: Sequence[str]) -> dict[str, str]:
    """The values by their names. Raises SetupError for an entry that is not NAME=VALUE."""
    sysctls = {}
    for entry in entries:
        name, mark, value = entry.partition("=")
        if not mark or not name:
            raise SetupError(f"cannot read --sysctl '{entry}': write NAME=VALUE")
        sysctls[name] = value
    return sysctls


def _show_plan(request: Request, vary: Vary | None) -> int:
    """Print what `--vary` would run, where the target shows all that can be varied."""
    from scapy_tfo.runner.session import chosen_cases
    from scapy_tfo.vary.plan import planned, whole

    if vary is None:
        raise SetupError("--plan goes with --vary")
    print(planned(whole(), chosen_cases(request), vary.strength, vary.seed).told())
    return 0

"""`scapy-tfo pkt run`: packetdrill scripts against this kernel, another target, another engine."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from scapy_tfo.pkt.judging import Judged
    from scapy_tfo.pkt.library import ScriptFile
    from scapy_tfo.pkt.local_run import Task
    from scapy_tfo.pkt.pool import Answer
    from scapy_tfo.pkt.settings import Settings

SUMMARY = "run scripts on this kernel, against a target, or with packetdrill itself"
DESCRIPTION = """Run packetdrill scripts: files, or all *.pkt in and below directories.

Without --target the kernel of this machine is the one under test: each script has a network
namespace and a TUN device of its own, and many run at a time. What came is compared with what the
script says by the kernel's own time stamps; all that differs is told, not only the first.

With --target the packets go to a target, named as for 'scapy-tfo test'; its application is assumed
to make the script's system calls, and a script whose calls it would not make is refused.

--engine packetdrill runs packetdrill itself, where it is on PATH (Fedora, EPEL, openSUSE, nixpkgs
and FreeBSD have a package), script after script; --engine both compares the two.

Scripts are run for IPv4, or for what their name (*v6.pkt) or their --ip_version says. Symbols stand
in symbols.toml beside the scripts or above them; -D wins.

exit status: 0 all is as the scripts say, 1 something is not, or the engines disagree, 2 a script
cannot be run, or wrong usage"""

LOCAL, PACKETDRILL, BOTH = "local", "packetdrill", "both"
_ALL = "all"
_LONGEST = 1e6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    from scapy_tfo.pkt.settings import VERSIONS

    parser.set_defaults(command=command)
    add = parser.add_argument
    add(
        "files",
        nargs="*",
        metavar="FILE",
        help="a script, or a directory of them (default: this project's own)",
    )
    add(
        "--only",
        action="append",
        default=[],
        metavar="ID",
        help="only scripts that check this requirement (ACC-2); may be repeated",
    )
    add("--slow", action="store_true", help="also those of a directory that wait for long timers")
    add(
        "--engine",
        choices=(LOCAL, PACKETDRILL, BOTH),
        default=LOCAL,
        help="default: local, the one of this project",
    )
    add("--target", metavar="TARGET", help="another target than this kernel: HOST:PORT, lab:NAME")
    add(
        "--assume-app",
        choices=("echo", "http", "none"),
        default="echo",
        help="with --target: what listens there (default: echo)",
    )
    add(
        "--source",
        nargs="+",
        action="extend",
        default=[],
        metavar="ADDRESS",
        help="with --target: send from these addresses",
    )
    add("--iface", metavar="NAME", help="with --target: send on this interface")
    add(
        "--ip-version",
        choices=(*VERSIONS, _ALL),
        action="append",
        metavar="VERSION",
        help=f"{', '.join(VERSIONS)} or {_ALL}; may be repeated",
    )
    add(
        "-D",
        "--define",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what a symbol of the scripts stands for",
    )
    add("--tolerance-usecs", metavar="N", help="how far off a time may be (default: 4000)")
    add("--mtu", metavar="N", help="of the device (default: 1500; 1520 for IPv6)")
    add(
        "--timeout", type=_seconds, default=180.0, metavar="SECONDS", help="for each (default: 180)"
    )
    add("--rounds", type=_count, default=1, metavar="N", help="run everything N times")
    add("--jobs", type=_count, metavar="N", help="scripts at a time")
    add("--json", type=Path, metavar="FILE", help="write the results as JSON, as 'test' does")
    add("--junit", type=Path, metavar="FILE", help="write them as JUnit XML")
    add("--out", type=Path, metavar="DIR", help="write all reports and the capture there")
    add("--quiet", action="store_true", help="only failures and the summary")


def command(chosen: argparse.Namespace) -> int:
    """Run what is asked for; the exit status."""
    from scapy_tfo import spec
    from scapy_tfo.pkt.judging import run_of
    from scapy_tfo.report.json_report import write_json
    from scapy_tfo.report.junit import write_junit
    from scapy_tfo.report.output import check_writable, write_all
    from scapy_tfo.suite.result import Verdict

    if chosen.target is not None and chosen.engine != LOCAL:
        raise SetupError(f"--engine {chosen.engine} has no --target: it tests this kernel only")
    if chosen.target is None and (chosen.source or chosen.iface):
        raise SetupError("--source and --iface say how to reach a --target: give one")
    for path in (chosen.json, chosen.junit):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise SetupError(f"cannot write {path}: it is a directory, or in none")
    if chosen.out is not None:
        check_writable(chosen.out)
    catalogue = spec.load()
    pairs = _tasks(chosen)
    started, clock = time.time(), time.monotonic()
    judged: list[Judged] = []
    for each in _judge(chosen, pairs * chosen.rounds):
        judged.append(each)
        _show(each, quiet=chosen.quiet)
    seconds = time.monotonic() - clock
    run = run_of(
        judged, catalogue, target=chosen.target or "local", started=started, seconds=seconds
    )
    if chosen.json is not None:
        write_json(run, chosen.json)
    if chosen.junit is not None:
        write_junit(run, chosen.junit)
    if chosen.out is not None:
        write_all(run, chosen.out, catalogue=catalogue)
    apart = _disagreements(judged) if chosen.engine == BOTH else []
    for line in apart:
        print(line)
    counts = [sum(each.verdict is verdict for each in judged) for verdict in Verdict]
    told = ", ".join(
        f"{count} {verdict.value}" for count, verdict in zip(counts, Verdict, strict=True) if count
    )
    print(f"{len(judged)} runs in {seconds:.1f} s: {told}")
    if any(each.verdict is Verdict.FAIL for each in judged) or apart:
        return 1
    # Beside our engine, packetdrill may leave out what it does not know.
    needed = [each for each in judged if chosen.engine != BOTH or each.engine == LOCAL]
    return 2 if any(each.verdict is Verdict.SKIPPED for each in needed) else 0


def _tasks(chosen: argparse.Namespace) -> list[tuple[ScriptFile, Task]]:
    from scapy_tfo.pkt.library import chosen_versions, find_scripts, own_directory, task_of
    from scapy_tfo.pkt.settings import VERSIONS

    base, given = _settings(chosen)
    wanted = chosen.ip_version or []
    if _ALL in wanted:
        wanted = list(VERSIONS)
    pairs = []
    home = own_directory()
    ours = home if chosen.target is None else home / "remote"
    scripts = find_scripts(chosen.files or [str(ours)])
    for script in _selected(scripts, chosen):
        versions = chosen_versions(wanted, script) if wanted else script.versions[:1]
        pairs += [(script, task_of(script, version, base, given)) for version in versions]
    if not pairs:
        raise SetupError(f"none of the scripts is for {', '.join(wanted)}")
    return pairs


def _selected(scripts: Sequence[ScriptFile], chosen: argparse.Namespace) -> list[ScriptFile]:
    from scapy_tfo.pkt.library import SLOW

    named = {Path(each) for each in chosen.files}
    wanted = [each.upper() for each in chosen.only]
    found = [
        each
        for each in scripts
        if (chosen.slow or each.path in named or not each.path.name.endswith(SLOW))
        and (not wanted or any(identity in wanted for identity in each.requirements))
    ]
    if not found:
        raise SetupError(
            f"no script checks {', '.join(wanted)}"
            if wanted
            else "all of these scripts wait for long timers: give --slow"
        )
    return found


def _settings(chosen: argparse.Namespace) -> tuple[Settings, dict[str, str]]:
    from scapy_tfo.pkt.settings import SettingError, Settings, with_option

    base = Settings()
    try:
        for name in ("tolerance_usecs", "mtu"):
            if getattr(chosen, name) is not None:
                base = with_option(base, name, getattr(chosen, name))
        for entry in chosen.define:
            base = with_option(base, "define", entry)
    except SettingError as error:
        raise SetupError(str(error)) from None
    return base, dict(base.symbols)


def _judge(
    chosen: argparse.Namespace, pairs: Sequence[tuple[ScriptFile, Task]]
) -> Iterator[Judged]:
    from scapy_tfo.pkt import packetdrill
    from scapy_tfo.pkt.judging import Judged

    binary = "" if chosen.engine == LOCAL else packetdrill.find()
    tasks = [task for _, task in pairs]
    if chosen.engine != PACKETDRILL:
        engine = LOCAL if chosen.engine == BOTH else ""
        for number, answer in _answers(chosen, tasks):
            script, task = pairs[number]
            yield Judged(task, script.requirements, engine, answer)
    if chosen.engine != LOCAL:
        for script, task in pairs:
            answer = packetdrill.run(binary, task, longest=chosen.timeout)
            yield Judged(task, script.requirements, PACKETDRILL, answer)


def _answers(chosen: argparse.Namespace, tasks: Sequence[Task]) -> Iterator[tuple[int, Answer]]:
    if chosen.target is not None:
        from scapy_tfo.pkt.remote_run import run_remote

        return run_remote(
            tasks,
            chosen.target,
            app=chosen.assume_app,
            sources=chosen.source,
            iface=chosen.iface,
        )
    from scapy_tfo.pkt.pool import default_jobs, run_all

    return run_all(tasks, jobs=chosen.jobs or default_jobs(), longest=chosen.timeout)


def _show(judged: Judged, *, quiet: bool) -> None:
    from scapy_tfo.report.escape import visible
    from scapy_tfo.suite.result import Verdict

    version = judged.task.settings.version
    engine = f" ({judged.engine})" if judged.engine else ""
    if judged.verdict is not Verdict.PASS or not quiet:
        print(
            visible(f"{judged.verdict.value:<8} {judged.task.name} [{version}]{engine}"), flush=True
        )
    if judged.verdict is Verdict.SKIPPED:
        shown = getattr(judged.answer, "show", lambda: str(judged.answer))()
        print(visible(shown.expandtabs()), file=sys.stderr)
        return
    notes = getattr(judged.answer, "notes", [])
    for note in notes if judged.failures or not quiet else []:
        print(visible(f"  {note}"))
    for failure in judged.failures:
        place = f"{judged.task.name}:{failure.line}" if failure.line else judged.task.name
        lines = [f"  {place}: {failure.problem}"]
        if failure.expected:
            lines.append(f"    expected  {failure.expected}")
        if failure.actual:
            lines.append(f"    actual    {failure.actual}")
        if len(failure.differences) > 1 or (failure.differences and failure.actual):
            lines += [f"      {each}" for each in failure.differences]
        print(visible("\n".join(lines)))


def _disagreements(judged: Sequence[Judged]) -> list[str]:
    """Scripts that one engine passes and the other does not."""
    by_script: dict[tuple[str, str], dict[str, Judged]] = {}
    for each in judged:
        by_script.setdefault((each.task.name, each.task.settings.version), {})[each.engine] = each
    lines = []
    for (name, version), engines in by_script.items():
        ours, theirs = engines.get(LOCAL), engines.get(PACKETDRILL)
        if ours is None or theirs is None or ours.verdict == theirs.verdict:
            continue
        # What packetdrill does not know is no disagreement.
        if theirs.verdict.value == "skipped":
            continue
        lines.append(
            f"the engines disagree on {name} [{version}]: "
            f"local {ours.verdict.value}, packetdrill {theirs.verdict.value}"
        )
    return lines


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds above 0")
    return seconds


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 up")
    return int(text)

"""`scapy-tfo pkt run`: run packetdrill scripts on this kernel, a target or another engine."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.commands.pkt.run_options import (
    BOTH,
    EVERY_VERSION,
    LOCAL,
    PACKETDRILL,
    client_words,
    is_direct,
)
from scapy_tfo.errors import SetupError, none_of
from scapy_tfo.units import plural

if TYPE_CHECKING:
    from scapy_tfo.pkt.language.settings import Settings
    from scapy_tfo.pkt.library import ScriptFile
    from scapy_tfo.pkt.local.pool import Answer
    from scapy_tfo.pkt.local.run import Task
    from scapy_tfo.pkt.results import Judged
    from scapy_tfo.report.journal import Journal
    from scapy_tfo.spec import Requirement
    from scapy_tfo.suite.result import Run


def command(chosen: argparse.Namespace) -> int:
    """Run what is asked for; the exit status."""
    from scapy_tfo import spec
    from scapy_tfo.pkt.results import run_of
    from scapy_tfo.suite.result import INTERRUPTED

    _check(chosen)
    catalogue = spec.load()
    pairs = _tasks(chosen) * chosen.rounds
    journal = _journal(chosen)
    started, clock = time.time(), time.monotonic()
    judged: list[Judged] = []
    is_whole = _judge_all(chosen, pairs, catalogue, judged, journal)
    seconds = time.monotonic() - clock
    wanted = len(pairs) * (2 if chosen.engine == BOTH else 1)
    if not is_whole and not judged:
        raise none_of(wanted, "scripts was run")
    apart = _disagreements(judged) if chosen.engine == BOTH else []
    target = chosen.target or " ".join(client_words(chosen)) or "local"
    run = run_of(judged, catalogue, target=target, started=started, seconds=seconds)
    if chosen.watch:
        # What judges takes longer to load than a script to run.
        from scapy_tfo import tcp_rules
        from scapy_tfo.runner.judging.verdicts import with_breaches

        run = with_breaches(run, tcp_rules.load())
    missing = ""
    if not is_whole:
        missing = f"interrupted: {wanted - len(judged)} of {wanted} scripts were not run"
        run = replace(run, interrupted=True, notes=(*run.notes, missing))
    try:
        for line in apart:
            print(line)
        print(_counted(judged, seconds), flush=True)
        if missing:
            print(f"scapy-tfo: {missing}", file=sys.stderr)
    finally:
        # Also where nobody reads what is told.
        _write(chosen, run, catalogue)
        if journal is not None:
            journal.close(drop=True)
    if not is_whole:
        return INTERRUPTED
    broken = any(each.level.fails_run for each in run.results[len(judged) :])
    return 1 if broken else _status(chosen, judged, apart)


def _check(chosen: argparse.Namespace) -> None:
    from scapy_tfo.commands.output import check_out

    _check_client(chosen)
    if (chosen.target, chosen.client) != (None, None) and chosen.engine != LOCAL:
        raise SetupError(
            f"--engine {chosen.engine} does not go with --target or --client: it tests this kernel"
        )
    if chosen.watch and chosen.engine == PACKETDRILL:
        raise SetupError("--watch needs this project's own engine: packetdrill keeps no packets")
    if chosen.target is None and (chosen.source or chosen.iface or _ports(chosen)):
        raise SetupError(
            "--source, --iface, --plain-port, --second-port and --small-port need --target: they"
            " say how to reach it"
        )
    for path in (chosen.json, chosen.junit):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise SetupError(
                f"cannot write {path}: it is a directory, or there is no {path.parent}"
            )
    if chosen.out is not None:
        check_out(chosen.out)


def _check_client(chosen: argparse.Namespace) -> None:
    if chosen.client is None:
        if chosen.ssh or chosen.address:
            raise SetupError("--ssh and --address need --client")
        if chosen.words:
            raise SetupError("a command after -- needs --client")
    elif chosen.target is not None:
        raise SetupError("--client and --target are alternatives: a target is a server")
    elif chosen.client and chosen.words:
        raise SetupError(f"--client {chosen.client} and a command after -- are alternatives")


def _journal(chosen: argparse.Namespace) -> Journal | None:
    """Of the results, in --out; without that, what is printed has to do, and reports, which take as
    long to load as a script to run, are left alone."""
    if chosen.out is None:
        return None
    from scapy_tfo.report.journal import Journal
    from scapy_tfo.report.output import begin

    return Journal(lambda: begin(chosen.out, time.time()))


def _judge_all(
    chosen: argparse.Namespace,
    pairs: Sequence[tuple[ScriptFile, Task]],
    catalogue: Mapping[str, Requirement],
    judged: list[Judged],
    journal: Journal | None,
) -> bool:
    """Run the scripts, show and keep each outcome as it comes; False where Ctrl-C ends that."""
    try:
        with closing(_judge(chosen, pairs)) as outcomes:
            for each in outcomes:
                if chosen.watch:
                    each = _watched(chosen, each)
                judged.append(each)
                if journal is not None:
                    _keep(each, catalogue, journal)
                _show(each, quiet=chosen.quiet)
                _show_breaches(each)
    except KeyboardInterrupt:
        return False
    return True


def _keep(judged: Judged, catalogue: Mapping[str, Requirement], journal: Journal) -> None:
    from scapy_tfo.pkt.results import run_of
    from scapy_tfo.report.json_report import record_of

    alone = run_of([judged], catalogue, target="", started=0.0, seconds=0.0)
    # The capture that packets are numbered in is not there yet.
    journal.add(record_of(replace(alone.results[0], packets=())))


def _watched(chosen: argparse.Namespace, judged: Judged) -> Judged:
    from scapy_tfo.pkt.play.outcome import Outcome
    from scapy_tfo.pkt.watching import Setting, watched

    answer = judged.answer
    if not isinstance(answer, Outcome):
        return judged
    setting = Setting(direct=is_direct(chosen), whole=not answer.is_flooded)
    owner = f"{judged.case} [ipv{judged.task.settings.family}]"
    found, held = watched(answer, setting, owner)
    return replace(judged, breaches=found, watched=held)


def _show_breaches(judged: Judged) -> None:
    if not judged.breaches:
        return
    from scapy_tfo import tcp_rules
    from scapy_tfo.report.escape import visible

    known = {name: rule for rule in tcp_rules.load().values() for name in rule.rule}
    for each in judged.breaches:
        rule = known[each.rule]
        lines = [
            f"  breaks {rule.id} {each.rule} ({rule.level.value}, {rule.source}): {rule.statement}",
            f"    expected  {each.expected}",
            f"    actual    {each.actual} (packet {each.packet} of the script, {each.flow})",
        ]
        print(visible("\n".join(lines)), flush=True)


def _counted(judged: Sequence[Judged], seconds: float) -> str:
    from scapy_tfo.suite.result import Verdict

    counts = [sum(each.verdict is verdict for each in judged) for verdict in Verdict]
    told = ", ".join(
        f"{count} {verdict.value}" for count, verdict in zip(counts, Verdict, strict=True) if count
    )
    broken = sum(bool(each.breaches) for each in judged)
    more = f"; rules of TCP are broken in {broken}" if broken else ""
    return f"{plural(len(judged), 'run')} in {seconds:.1f} s: {told}{more}"


def _write(chosen: argparse.Namespace, run: Run, catalogue: Mapping[str, Requirement]) -> None:
    if chosen.json is not None:
        from scapy_tfo.report.json_report import write_json

        write_json(run, chosen.json)
    if chosen.junit is not None:
        from scapy_tfo.report.junit import write_junit

        write_junit(run, chosen.junit)
    if chosen.out is not None:
        from scapy_tfo.report.output import write_all

        write_all(run, chosen.out, catalogue=catalogue)


def _status(chosen: argparse.Namespace, judged: Sequence[Judged], apart: Sequence[str]) -> int:
    from scapy_tfo.suite.result import Verdict

    if any(each.verdict is Verdict.FAIL for each in judged) or apart:
        return 1
    # Beside our engine, packetdrill may leave out what it does not know.
    needed = [each for each in judged if chosen.engine != BOTH or each.engine == LOCAL]
    return 2 if any(each.verdict is Verdict.SKIPPED for each in needed) else 0


def _tasks(chosen: argparse.Namespace) -> list[tuple[ScriptFile, Task]]:
    from scapy_tfo.pkt.language.settings import VERSIONS
    from scapy_tfo.pkt.library import chosen_versions, find_scripts, own_directory, task_of

    base, given = _settings(chosen)
    wanted = chosen.ip_version or []
    if EVERY_VERSION in wanted:
        wanted = list(VERSIONS)
    pairs = []
    home = own_directory()
    ours = home if chosen.target is None else home / "remote"
    if chosen.client is not None:
        ours = home / "any-client"
    scripts = find_scripts(chosen.files or [str(ours)])
    for script in _selected(scripts, chosen):
        versions = chosen_versions(wanted, script) if wanted else script.versions[:1]
        pairs += [(script, task_of(script, version, base, given)) for version in versions]
    if not pairs:
        raise SetupError(f"none of the scripts runs over {', '.join(wanted)}")
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
    from scapy_tfo.pkt.language.settings import SettingError, Settings, with_option

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
) -> Generator[Judged, None, None]:
    from scapy_tfo.pkt.local import packetdrill
    from scapy_tfo.pkt.results import Judged

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
    if chosen.client is not None:
        from scapy_tfo.pkt.client.run import JudgedClient, run_client

        client = JudgedClient(
            client_words(chosen), tuple(chosen.address), chosen.ssh, chosen.assume_app or ""
        )
        return run_client(tasks, client)
    if chosen.target is not None:
        from scapy_tfo.pkt.remote.run import run_remote

        return run_remote(
            tasks,
            chosen.target,
            app=chosen.assume_app or "echo",
            sources=chosen.source,
            iface=chosen.iface,
            ports=_ports(chosen),
        )
    from scapy_tfo.pkt.local.pool import default_jobs, run_all

    return run_all(tasks, jobs=chosen.jobs or default_jobs(), longest=chosen.timeout)


def _ports(chosen: argparse.Namespace) -> dict[str, int]:
    """Where the target listens besides, by role."""
    given = {each: getattr(chosen, f"{each}_port") for each in ("plain", "second", "small")}
    return {role: port for role, port in given.items() if port is not None}


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

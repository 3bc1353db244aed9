"""`scapy-tfo fuzz list`, `show`, `replay`, `export` and `merge`: use what a campaign has kept."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scapy_tfo.errors import SetupError, TargetError

if TYPE_CHECKING:
    from scapy_tfo.executor.bench import Bench
    from scapy_tfo.executor.verdict import TracedPacket, Verdict
    from scapy_tfo.fuzz.findings.finding import Finding
    from scapy_tfo.fuzz.findings.store import Store
    from scapy_tfo.program.program import Program

NAMES = ("list", "show", "replay", "export", "merge")
"""Of the commands; any other word after `fuzz` is a target."""

FORMATS = ("json", "pcapng", "pkt", "pytest")
_TIMES = 3
_ALL = "all"


def add_commands(group: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The commands below `fuzz` that send nothing, and `replay`."""
    listed = _command(group, "list", _list, "print a campaign's findings")
    _add_store(listed)
    _add_known(listed)
    listed.add_argument("--markdown", action="store_true", help="print them as Markdown")
    _add_json(listed)
    shown = _command(group, "show", _show, "print one finding, with its packets")
    shown.add_argument("id", metavar="ID", help="id of the finding")
    _add_store(shown)
    replayed = _command(
        group,
        "replay",
        _replay,
        "run a finding again, or the program in a JSON file",
        "\n\nexit status: 0 the target did nothing wrong, 1 it did, 2 wrong usage or set-up,"
        "\n3 the target could not be judged",
    )
    replayed.add_argument("what", metavar="ID|FILE", help="id of a finding, or a JSON file")
    replayed.add_argument(
        "--target",
        metavar="TARGET",
        help="run it at this target (default: where it was found, "
        "if that is a sim:, lab: or loopback target)",
    )
    _add_store(replayed)
    _add_json(replayed)
    exported = _command(group, "export", _export, "write a finding to a file")
    exported.add_argument("id", metavar="ID|all", help="id of a finding, or all of them")
    exported.add_argument(
        "--format", choices=FORMATS, help="default: json for one finding, all formats for all"
    )
    exported.add_argument(
        "--output",
        type=Path,
        metavar="FILE|DIR",
        help="write there (default: the current directory, files named after the findings)",
    )
    _add_store(exported)
    merged = _command(
        group,
        "merge",
        _merge,
        "join the stores of the shards of one campaign",
        "\n\nexit status: 0 nothing new, 1 a finding that --known does not list,"
        "\n2 the stores cannot be joined",
    )
    merged.add_argument("out", type=Path, metavar="OUT", help="the new store")
    merged.add_argument("stores", type=Path, nargs="+", metavar="STORE", help="a shard's store")
    _add_known(merged)
    _add_json(merged)


def _command(
    group: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
    more: str = "",
) -> argparse.ArgumentParser:
    parser = group.add_parser(
        name,
        help=summary,
        description=summary + more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=run)
    return parser


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store", type=Path, metavar="FILE", help="the store (default: the latest campaign's)"
    )


def _add_known(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--known", type=Path, metavar="FILE", help="TOML list of known findings")


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result as JSON")


def _opened(chosen: argparse.Namespace) -> Store:
    from scapy_tfo.commands.fuzz.run import STORE
    from scapy_tfo.fuzz.findings.store import Store
    from scapy_tfo.report.output import BASE, LATEST

    if chosen.store is not None:
        return Store.open(chosen.store)
    # Other commands keep results there, too.
    kept = [each for each in BASE.glob(f"*/{STORE}") if each.is_file()]
    latest = BASE / LATEST / STORE
    return Store.open(max(kept, key=lambda each: each.stat().st_mtime, default=latest))


def _found(chosen: argparse.Namespace, name: str) -> Finding:
    with closing(_opened(chosen)) as store:
        findings = {each.id: each for each in store.findings()}
        if name not in findings:
            raise SetupError(f"no finding {name} in {store.path}: 'scapy-tfo fuzz list' lists them")
        return findings[name]


def _list(chosen: argparse.Namespace) -> int:
    from scapy_tfo.report.tables.fuzz import markdown

    with closing(_opened(chosen)) as store:
        figures, lines = _told(chosen, store, marks=chosen.known is not None)
    if chosen.markdown:
        print(markdown(figures), end="")
    else:
        print("\n".join(lines))
    return 0


def _told(
    chosen: argparse.Namespace, store: Store, *, marks: bool = True
) -> tuple[dict[str, Any], list[str]]:
    """A campaign as figures, which --json writes, and as lines. marks: say which are new."""
    from scapy_tfo.fuzz.findings.causes import leads
    from scapy_tfo.fuzz.findings.finding import Status
    from scapy_tfo.fuzz.findings.known import load_known, new_ones
    from scapy_tfo.report.fuzz_report import by_weight, figures_of, line_of, summary, write_figures

    known = load_known(chosen.known) if chosen.known is not None else ()
    findings = store.findings()
    new = {each.id for each in new_ones(findings, known)}
    figures = figures_of(store, new=new)
    if chosen.json is not None:
        write_figures(figures, chosen.json)
    lines = [summary(figures)]
    first = leads(findings)
    for each in by_weight(findings):
        is_known = each.status is Status.CONFIRMED and each.id not in new
        mark = "NEW" if each.id in new else "known" if is_known else "flaky"
        lines.append(line_of(each, mark=mark if marks else "", lead=first[each.id]))
    return figures, lines


def _show(chosen: argparse.Namespace) -> int:
    from scapy_tfo.report.fuzz_report import told

    print("\n".join(told(_found(chosen, chosen.id))))
    return 0


def _replay(chosen: argparse.Namespace) -> int:
    from scapy_tfo.report.fuzz_report import draw_packets, write_figures
    from scapy_tfo.targets.benches import open_bench
    from scapy_tfo.targets.kept import kept_target

    program, found_at, name = _program(chosen)
    target = chosen.target or kept_target(found_at, chosen.what, "--target")
    with closing(open_bench(target)) as bench:
        wrong, verdict, packets = _runs(bench, program, name)
    print(draw_packets(packets, [each.packet for each in verdict.violations]))
    if not wrong:
        print(f"{target} did nothing wrong in {_TIMES} runs")
    if chosen.json is not None:
        write_figures({"schema": 1, "target": target, "violations": wrong}, chosen.json)
    return 1 if wrong else 0


def _runs(
    bench: Bench, program: Program, name: tuple[str, str]
) -> tuple[list[dict[str, Any]], Verdict, Sequence[TracedPacket]]:
    """What was wrong in each run, told as it comes; the verdict and the packets of the last one.
    name: rule and requirement of the finding, which programs next to this one named.

    Raises TargetError where the target cannot be judged.
    """
    from scapy_tfo.fuzz.campaign.liveness import rule_of
    from scapy_tfo.fuzz.export.script import statement
    from scapy_tfo.fuzz.findings.finding import ROBUST

    ill = bench.alive()
    if ill:
        raise TargetError(f"{bench.name} cannot be judged: {ill}")
    wrong: list[dict[str, Any]] = []
    named = {name[0]: name[1]} if statement(name[1]) else {}
    for number in range(1, _TIMES + 1):
        verdict, packets = bench.trace(program)
        if verdict.unjudged:
            raise TargetError(f"{bench.name} cannot be judged by this program: {verdict.unjudged}")
        found = [
            (
                named.get(each.rule, each.requirement),
                each.rule,
                f"expected {each.expected}; got {each.actual}",
            )
            for each in verdict.violations
        ]
        ill = bench.alive()
        if ill:
            found.append((ROBUST, rule_of(ill), ill))
        for requirement, rule, told in found:
            print(f"run {number}: {requirement} {rule}: {told}")
            wrong.append({"run": number, "requirement": requirement, "rule": rule})
        if ill:
            break
    return wrong, verdict, packets


def _program(chosen: argparse.Namespace) -> tuple[Program, str | None, tuple[str, str]]:
    """What to run, where it was found, and rule and requirement of what it showed."""
    from scapy_tfo.program.files import read_finding

    path = Path(chosen.what)
    if not path.is_file():
        if path.suffix == ".json":
            raise SetupError(f"cannot read {path}: there is no such file")
        finding = _found(chosen, chosen.what)
        return finding.reduced, finding.target, (finding.rule, finding.requirement)
    return read_finding(path)


def _export(chosen: argparse.Namespace) -> int:
    from scapy_tfo.fuzz.export.export import write, write_to

    if chosen.id == _ALL:
        return _export_all(chosen)
    finding, output, form = _found(chosen, chosen.id), chosen.output, chosen.format or "json"
    if output is None or output.is_dir():
        output = write(finding, form, output or Path())
    else:
        write_to(finding, form, output)
    print(output)
    return 0


def _export_all(chosen: argparse.Namespace) -> int:
    from scapy_tfo.fuzz.export.export import write_all

    directory = chosen.output or Path()
    if chosen.format is not None:
        raise SetupError("'export all' writes every format: leave out --format")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(f"cannot write into {directory}: {error.strerror}") from error
    with closing(_opened(chosen)) as store:
        findings = store.findings()
    problems = [each for finding in findings for each in write_all(finding, directory)]
    print("\n".join([*problems, f"{len(findings)} findings: {directory}"]))
    return 0


def _merge(chosen: argparse.Namespace) -> int:
    from scapy_tfo.fuzz.findings.database import is_empty
    from scapy_tfo.fuzz.findings.merge import merge

    if not is_empty(chosen.out):
        raise SetupError(f"{chosen.out} already exists: give a new file to merge into")
    with closing(merge(chosen.out, chosen.stores)) as store:
        figures, lines = _told(chosen, store)
    print("\n".join(lines))
    return 1 if any(each["new"] for each in figures["findings"]) else 0

"""`scapy-tfo fuzz list`, `show`, `replay`, `export` and `merge`: what a campaign has kept."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from scapy_tfo.fuzz.findings import Finding
    from scapy_tfo.fuzz.program import Program
    from scapy_tfo.fuzz.store import Store

NAMES = ("list", "show", "replay", "export", "merge")
"""Of the commands; any other word behind `fuzz` is a target."""

FORMATS = ("json", "pcapng", "pkt", "pytest")
_TIMES = 3
_ALL = "all"


def add_commands(group: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The commands below `fuzz` that send nothing, and `replay`."""
    listed = _command(group, "list", _list, "print a campaign's findings")
    _add_store(listed)
    _add_known(listed)
    listed.add_argument("--markdown", action="store_true", help="print it as Markdown")
    _add_json(listed)
    shown = _command(group, "show", _show, "print one finding, with its packets")
    shown.add_argument("id", metavar="ID")
    _add_store(shown)
    replayed = _command(
        group,
        "replay",
        _replay,
        "run a finding, or the program in a JSON file, again",
        "\n\nexit status: 0 the target does nothing wrong any more, 1 it does, 2 wrong usage or"
        " set-up,\n3 the target could not be judged",
    )
    replayed.add_argument("what", metavar="ID|FILE")
    replayed.add_argument("--target", metavar="TARGET", help="default: where it was found")
    _add_store(replayed)
    _add_json(replayed)
    exported = _command(group, "export", _export, "make a file of a finding")
    exported.add_argument("id", metavar="ID|all")
    exported.add_argument(
        "--format", choices=FORMATS, help="default: json of one, each of these of all"
    )
    exported.add_argument(
        "--output", type=Path, metavar="FILE|DIR", help="default: files of their names here"
    )
    _add_store(exported)
    merged = _command(
        group,
        "merge",
        _merge,
        "join the stores of the shards of one campaign",
        "\n\nexit status: 0 nothing new, 1 a finding that --known does not list, 2 they cannot be"
        " joined",
    )
    merged.add_argument("out", type=Path, metavar="OUT", help="the store to make")
    merged.add_argument("stores", type=Path, nargs="+", metavar="STORE")
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
        "--store", type=Path, metavar="FILE", help="default: that of the latest campaign"
    )


def _add_known(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--known", type=Path, metavar="FILE", help="findings that are no news")


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write it as JSON")


def _opened(chosen: argparse.Namespace) -> Store:
    from scapy_tfo.fuzz.store import Store
    from scapy_tfo.fuzz_run_command import STORE
    from scapy_tfo.report.output import BASE, LATEST

    return Store.open(chosen.store or BASE / LATEST / STORE)


def _found(chosen: argparse.Namespace, name: str) -> Finding:
    with closing(_opened(chosen)) as store:
        findings = {each.id: each for each in store.findings()}
        if name not in findings:
            raise SetupError(f"no finding {name} in {store.path}: 'scapy-tfo fuzz list' has them")
        return findings[name]


def _list(chosen: argparse.Namespace) -> int:
    from scapy_tfo.report.fuzz_markdown import markdown

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
    from scapy_tfo.fuzz.findings import Status
    from scapy_tfo.fuzz.known import load_known, new_ones
    from scapy_tfo.report.fuzz_report import figures_of, line_of, summary, write_figures

    known = load_known(chosen.known) if chosen.known is not None else ()
    findings = store.findings()
    new = {each.id for each in new_ones(findings, known)}
    figures = figures_of(store, new=new)
    if chosen.json is not None:
        write_figures(figures, chosen.json)
    lines = [summary(figures)]
    for each in findings:
        is_known = each.status is Status.CONFIRMED and each.id not in new
        mark = "NEW" if each.id in new else "known" if is_known else "flaky"
        lines.append(line_of(each, mark=mark if marks else ""))
    return figures, lines


def _show(chosen: argparse.Namespace) -> int:
    from scapy_tfo.report.fuzz_report import told

    print("\n".join(told(_found(chosen, chosen.id))))
    return 0


def _replay(chosen: argparse.Namespace) -> int:
    from scapy_tfo.fuzz.benches import open_bench
    from scapy_tfo.report.fuzz_report import draw_packets, write_figures

    program, found_at = _program(chosen)
    target = chosen.target or found_at
    if target is None:
        raise SetupError(f"{chosen.what} does not say where it was found: give --target")
    wrong: list[dict[str, Any]] = []
    with closing(open_bench(target)) as bench:
        for number in range(1, _TIMES + 1):
            verdict, packets = bench.trace(program)
            for each in verdict.violations:
                line = f"{each.requirement} {each.rule}"
                print(f"run {number}: {line}: expected {each.expected}; got {each.actual}")
                wrong.append({"run": number, "requirement": each.requirement, "rule": each.rule})
    print(draw_packets(packets, [each.packet for each in verdict.violations]))
    if not wrong:
        print(f"{target} did nothing wrong in {_TIMES} runs")
    if chosen.json is not None:
        write_figures({"schema": 1, "target": target, "violations": wrong}, chosen.json)
    return 1 if wrong else 0


def _program(chosen: argparse.Namespace) -> tuple[Program, str | None]:
    """What to run, and where it was found."""
    from scapy_tfo.fuzz.program_files import read_program

    path = Path(chosen.what)
    if not path.is_file():
        if path.suffix == ".json":
            raise SetupError(f"there is no file {path}")
        finding = _found(chosen, chosen.what)
        return finding.reduced, finding.target
    return read_program(path)


def _export(chosen: argparse.Namespace) -> int:
    from scapy_tfo.fuzz.artefacts import write, write_to

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
    from scapy_tfo.fuzz.artefacts import write_all

    directory = chosen.output or Path()
    if chosen.format is not None:
        raise SetupError("'export all' makes files of every format: leave --format out")
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
    from scapy_tfo.fuzz.merge import merge
    from scapy_tfo.fuzz.store_file import is_empty

    if not is_empty(chosen.out):
        raise SetupError(f"{chosen.out} is there already: give a new file to merge into")
    with closing(merge(chosen.out, chosen.stores)) as store:
        figures, lines = _told(chosen, store)
    print("\n".join(lines))
    return 1 if any(each["new"] for each in figures["findings"]) else 0

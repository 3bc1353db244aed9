"""Which branches of the reference all cases, programs and schedules together exercise.

`python scripts/branches.py [--programs N] [--explore SECONDS] [--write FILE]`: the cases of servers
and of clients, the laws of clients, conversations for the rules of TCP, programs of the fuzzer and
what exploring plays, against the reference; and, for what their settings reach, against its
variants and the rows of the covering array of freedoms. What is not reached is named with the
reason that docs/branches.toml gives. Needs the library `coverage`, which `make branches` installs.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import coverage

if TYPE_CHECKING:
    from scapy_tfo.suite.registry import Case

ROOT = Path(__file__).resolve().parent.parent
WATCHED = ROOT / "scapy_tfo" / "reference"
REASONS = ROOT / "docs" / "branches.toml"
PROGRAMS = 2000
CHANCE, SCHEDULES = 48, 4000
"""Conversations that clients meet, drawn by chance, and schedules."""
OF_A_VARIANT, OF_CORPUS = 40, 200
"""Programs, and schedules of the corpus, that each variant meets."""
EXPLORE = 60.0
"""Seconds of CPU."""
OF_A_CONTEXT = 40
"""Cases that each value of each factor of a context meets."""
SHARED = "application=shared:3"
AROUND_VARIANTS = SHARED, "times=small,sack=yes,shift=7"
"""What variants meet, too: several listeners of one port, and the options of today."""
Reason = dict[str, Any]
"""An entry of docs/branches.toml."""
PARTS = "reference", "variants/1", "variants/2"
"""What is measured by a process of its own."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--programs", type=int, default=PROGRAMS, metavar="N")
    parser.add_argument("--explore", type=float, default=EXPLORE, metavar="SECONDS")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th variant only")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page to this file")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.part is not None:
        measure(chosen.part, chosen.data, chosen)
        return 0
    with tempfile.TemporaryDirectory() as place:
        files = measured(Path(place), sys.argv[1:])
        alone = rows_of(joined(files[:1]))
        page = page_of(rows_of(joined(files)), alone, reasons())
    print(page.partition("\n\n## ")[0])
    if chosen.write is not None:
        chosen.write.write_text(page, encoding="utf-8")
    return 0


def measured(place: Path, arguments: Sequence[str]) -> list[Path]:
    """What each part reached, by processes that run at the same time."""
    files = [place / each.replace("/", "-") for each in PARTS]
    own = [sys.executable, __file__, *arguments]

    def run(part: str, data: Path) -> None:
        subprocess.run([*own, "--part", part, "--data", str(data)], check=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, PARTS, files))
    return files


def measure(part: str, data: Path, chosen: argparse.Namespace) -> None:
    """Run one part, and keep what it reached."""
    # What is imported before is not seen.
    seen = coverage.Coverage(
        branch=True, source=[str(WATCHED)], data_file=str(data), config_file=False
    )
    seen.start()
    if part == PARTS[0]:
        with_the_reference(chosen.programs, chosen.explore)
    else:
        with_its_variants(chosen.every, PARTS.index(part) - 1, len(PARTS) - 1)
    seen.stop()
    seen.save()


def joined(files: Sequence[Path]) -> coverage.Coverage:
    """What several parts reached."""
    whole = coverage.Coverage(branch=True, source=[str(WATCHED)], data_file=None, config_file=False)
    whole.combine([str(each) for each in files], keep=True)
    return whole


def with_the_reference(programs: int, seconds: float) -> None:
    """All that there is, at the reference. seconds: of CPU, for the exploration."""
    from scapy_tfo import spec
    from scapy_tfo.client_laws.chance import conversations
    from scapy_tfo.client_laws.registry import all_laws
    from scapy_tfo.client_laws.schedules.runs import Bounds, explore_simulated
    from scapy_tfo.clients.judge import Options as ClientOptions
    from scapy_tfo.clients.registry import all_cases as all_client_cases
    from scapy_tfo.clients.simulated import simulate as simulate_client
    from scapy_tfo.explore.explorer import Explorer
    from scapy_tfo.explore.stages.alone import alone
    from scapy_tfo.explore.stages.single import with_a_deed
    from scapy_tfo.runner.runner import Options
    from scapy_tfo.runner.simulation import simulate
    from scapy_tfo.suite.registry import all_conversations

    options = Options(slow=True, intrusive=True, families=(4, 6), capture=False)
    catalogue = spec.load()
    simulate("sim:reference", all_conversations(), catalogue, options)
    for each in contexts():
        in_context("reference", each)
    fuzzed("reference", programs)
    to_clients = ClientOptions(slow=True, families=(4, 6), capture=False)
    simulate_client("sim:reference", all_client_cases(), catalogue, to_clients)
    simulate_client(
        "sim:reference", (*all_laws(), *conversations(range(CHANCE))), catalogue, to_clients
    )
    explore_simulated("sim:reference", catalogue, to_clients, Bounds(seconds, SCHEDULES))
    until = time.process_time() + seconds
    Explorer("reference", stop=lambda: time.process_time() > until).explore()
    Explorer("reference").explore_these([*alone(), *with_a_deed()])


def with_its_variants(every: int, part: int, of: int) -> None:
    """The cases, and what is quick, at each N-th of the stacks that use freedoms differently: the
    rows, in which all that combine meet, and those that do not."""
    from scapy_tfo import spec
    from scapy_tfo.client_variants.registry import all_client_variants
    from scapy_tfo.clients.judge import Options as ClientOptions
    from scapy_tfo.clients.registry import all_cases as all_client_cases
    from scapy_tfo.clients.simulated import simulate as simulate_client
    from scapy_tfo.explore.explorer import Explorer
    from scapy_tfo.explore.judging.corpus import corpus
    from scapy_tfo.runner.runner import Options
    from scapy_tfo.runner.simulation import simulate
    from scapy_tfo.suite.registry import all_conversations
    from scapy_tfo.trust.legal import all_client_rows, all_rows
    from scapy_tfo.variants.registry import all_variants

    catalogue = spec.load()
    options = Options(slow=True, intrusive=True, families=(4, 6), capture=False)
    servers = [*all_rows(), *(each for each in all_variants() if not each.combines)]
    for each in servers[::every][part::of]:
        simulate(f"sim:{each.name}", all_conversations(), catalogue, options)
        for context in AROUND_VARIANTS:
            in_context(each.name, context)
        fuzzed(each.name, OF_A_VARIANT)
        explorer = Explorer(each.name)
        explorer.try_listeners()
        explorer.explore_these(random.Random(each.name).sample(corpus(), OF_CORPUS))
    to_clients = ClientOptions(families=(4,), capture=False)
    clients = [*all_client_rows(), *(each for each in all_client_variants() if not each.combines)]
    for client in clients[::every][part::of]:
        simulate_client(f"sim:{client.name}", all_client_cases(), catalogue, to_clients)


def contexts() -> list[str]:
    """Each value of a factor by itself."""
    from scapy_tfo.suite.context.factors import FACTORS

    return [f"{each.name}={value}" for each in FACTORS[1:] for value in each.values[1:]]


def in_context(name: str, text: str) -> None:
    """Some cases of servers, in a context: of variants those that close a listener or fill its
    backlog, and some by chance."""
    from scapy_tfo import spec
    from scapy_tfo.runner.runner import Options
    from scapy_tfo.runner.simulation import simulate
    from scapy_tfo.suite.context.context import Context
    from scapy_tfo.suite.registry import all_cases

    every = all_cases()
    cases = [each for each in every if text in AROUND_VARIANTS and touches_listeners(each)]
    cases += random.Random(name + text).sample(every, OF_A_CONTEXT)
    cases = list(dict.fromkeys(cases))
    options = Options(slow=True, intrusive=True, capture=False, context=Context.parse(text))
    simulate(f"sim:{name}", cases, spec.load(), options)


def touches_listeners(case: Case) -> bool:
    """Whether it closes a listener, or fills its backlog."""
    return "close" in case.needs or "LIM-8" in case.requirements


def fuzzed(name: str, count: int) -> None:
    """So many programs."""
    from scapy_tfo.executor.simulated import SimulatedBench
    from scapy_tfo.fuzz.generation.grammar import sent_for

    with closing(SimulatedBench(f"sim:{name}")) as bench:
        for _ in bench.run((seed, sent_for(seed)) for seed in range(count)):
            pass


def rows_of(measure: coverage.Coverage) -> list[Row]:
    """All modules with anything in them."""
    rows = [row_of(measure, each) for each in sorted(WATCHED.rglob("*.py"))]
    return [each for each in rows if each.branches or each.lines]


def reasons() -> list[Reason]:
    """Why branches are not reached: of a module, or of a function or of a line in it."""
    return tomllib.loads(REASONS.read_text("utf-8"))["branch"]


def reason_of(known: list[Reason], module: str, function: str, line: str) -> Reason:
    """The first that fits; an empty one where none does."""
    for each in known:
        fits = each["module"] == module and each.get("function", function) == function
        if fits and each.get("line", line) == line:
            return each
    return {"reason": ""}


class Row:
    """One module: its lines and branches, those that were not reached, and where."""

    def __init__(self, path: Path, lines: int, missing: list[int], branches: int) -> None:
        self.path, self.lines, self.missing, self.branches = path, lines, missing, branches
        self.lost: list[tuple[int, int]] = []

    @property
    def name(self) -> str:
        return str(self.path.relative_to(WATCHED))


def row_of(measure: coverage.Coverage, path: Path) -> Row:
    """What was reached of a module."""
    found = measure._analyze(str(path))  # the public analysis has no branches
    row = Row(path, found.numbers.n_statements, sorted(found.missing), found.numbers.n_branches)
    arcs = found.missing_branch_arcs()
    row.lost = sorted((start, end) for start, ends in arcs.items() for end in ends)
    return row


def page_of(rows: list[Row], alone: list[Row], known: list[Reason]) -> str:
    """The page, in Markdown. alone: of the reference without its variants."""
    branches, lost = sum(each.branches for each in rows), sum(len(each.lost) for each in rows)
    by_one = branches - sum(len(each.lost) for each in alone)
    lines, missing = sum(each.lines for each in rows), sum(len(each.missing) for each in rows)
    told, unnamed, guards = named(rows, known)
    there = branches - lost
    out = [
        "# Branches of the reference",
        "",
        "Made by `make branches`: the cases of servers and clients, the conversations for rules of",
        "TCP, programs of the fuzzer and an exploration, against the reference and its variants.",
        "",
        f"{there:,} of {branches:,} branches ({share(there, branches)}) and "
        f"{lines - missing:,} of {lines:,} lines ({share(lines - missing, lines)}) are exercised;",
        f"{by_one:,} branches ({share(by_one, branches)}) by the reference as it is. The "
        f"{lost} that are not exercised are named below, {lost - unnamed} with a reason.",
        f"{guards} of them are guards: what cannot come about, checks for the type checker, and",
        "mistakes of the program that uses the reference. Without guards",
        f"{share(there, branches - guards)} are exercised.",
        "",
        "| module | branches | at the reference | with its variants | |",
        "|---|--:|--:|--:|--:|",
    ]
    for each, first in zip(rows, alone, strict=True):
        found, before = each.branches - len(each.lost), each.branches - len(first.lost)
        of_all = share(found, each.branches)
        out.append(f"| {each.name} | {each.branches} | {before} | {found} | {of_all} |")
    out += ["", "## What is not reached", "", "| where | the branch | why |", "|---|---|---|"]
    return "\n".join([*out, *told]) + "\n"


def named(rows: Iterable[Row], known: list[Reason]) -> tuple[list[str], int, int]:
    """A line for each branch that is not reached; how many have no reason, and how many guard."""
    out, unnamed, guards = [], 0, 0
    for each in rows:
        names, text = functions(each.path), each.path.read_text(encoding="utf-8").splitlines()
        for start, end in each.lost:
            code, function = text[start - 1].strip(), names.get(start, "module")
            entry = reason_of(known, each.name, function, code)
            why = entry["reason"]
            unnamed += not why
            guards += entry.get("guard", False)
            to = "the end" if end < 0 else f"`{text[end - 1].strip()}`"
            cells = (f"{each.name}, {function}", f"`{code}` to {to}", why)
            out.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return out, unnamed, guards


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def functions(path: Path) -> dict[int, str]:
    """The function of each line."""
    found: dict[int, str] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found[line] = node.name
    return found


if __name__ == "__main__":
    sys.exit(main())

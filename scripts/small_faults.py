"""Changes one operator, condition, constant or statement of the reference at a time, and tells
which of these stacks the cases take for right.

`python scripts/small_faults.py [--every N] [--programs N] [--write FILE] [MODULE ...]`: the faults
are made by a program, so that nobody who knows the cases has thought of them. Only lines are
changed that one run of all cases executes: docs/generated/branches.md has the others. Some faults
change nothing that a peer can see; who reads the list decides. Needs the library `coverage`.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType

from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Result, Verdict

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "scapy_tfo.reference"
FOLDER = ROOT / "scapy_tfo" / "reference"
APART = {"client.py", "cache.py", "settings.py", "__init__.py", "signatures.py"}
"""Not what a server does, or data."""
BATCH = 40
"""Conversations."""
LONGEST = 180.0
"""Seconds of the clock in which a stack is judged: then it hangs."""
SWAPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
NAMES = {"before": "at_most", "at_most": "before", "min": "max", "max": "min"}
SIGNS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}


@dataclass(frozen=True, slots=True)
class Fault:
    """A change of a module. line: of the source. before, after: what stands there."""

    module: str
    line: int
    before: str
    after: str
    source: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it: "cases", "fuzz", "broken" or "missed", and the first that told."""

    told_by: str
    first: str


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th fault only")
    parser.add_argument("--programs", type=int, default=0, metavar="N", help="to fuzz with")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--judge", nargs=2, metavar=("MODULE", "NUMBER"), help=argparse.SUPPRESS)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="of the reference")
    chosen = parser.parse_args()
    if chosen.judge:
        print(json.dumps(judged(chosen.judge[0], int(chosen.judge[1]), chosen.programs)))
        return 0
    executed = lines_executed()
    modules = chosen.modules or [
        ".".join(each.relative_to(FOLDER).with_suffix("").parts)
        for each in sorted(FOLDER.rglob("*.py"))
        if each.name not in APART
    ]
    asked = [
        (fault, number)
        for module in modules
        for number, fault in enumerate(faults_of(module))
        if fault.line in executed.get(module, ())
    ][:: chosen.every]
    judged_so_far: list[tuple[Fault, Outcome]] = []
    with ThreadPoolExecutor(chosen.jobs) as pool:
        outcomes = pool.map(lambda each: outcome_of(*each, chosen.programs), asked)
        for (fault, _), found in zip(asked, outcomes, strict=True):
            judged_so_far.append((fault, found))
            if found.told_by == "missed":
                print(
                    f"missed: {fault.module}, line {fault.line}: {short(fault.after)}", flush=True
                )
    page = page_of(judged_so_far)
    print(page.partition("\n\n| ")[0])
    if chosen.write is not None:
        chosen.write.write_text(page, encoding="utf-8")
    return 0


def batched(everything: Iterable[Case], size: int) -> Iterator[tuple[Case, ...]]:
    every = iter(everything)
    while some := tuple(islice(every, size)):
        yield some


def path_of(module: str) -> Path:
    return FOLDER.joinpath(*module.split(".")).with_suffix(".py")


def faults_of(module: str) -> Iterator[Fault]:
    """Each change of one place, in the order of the source."""
    tree = ast.parse(path_of(module).read_text(encoding="utf-8"))
    places = [
        (function, place)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for place in ast.walk(function)
        if place is not function
    ]
    seen: set[tuple[int, str, str]] = set()
    for function, place in places:
        for other in changed(place):
            before, after = ast.unparse(place), ast.unparse(other)
            key = (getattr(place, "lineno", function.lineno), before, after)
            if before == after or key in seen or isinstance(place, ast.arguments):
                continue
            seen.add(key)
            yield Fault(module, key[0], before, after, with_another(tree, place, other))


def changed(place: ast.AST) -> Iterator[ast.AST]:
    """What may stand in one place instead."""
    match place:
        case ast.Compare(ops=[operator]) if type(operator) in SWAPS:
            yield replaced(place, ops=[SWAPS[type(operator)]()])
        case ast.BoolOp(values=values):
            for number in range(len(values)):
                rest = values[:number] + values[number + 1 :]
                yield rest[0] if len(rest) == 1 else replaced(place, values=rest)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="seq"), attr=name)) if name in NAMES:
            yield replaced(place, func=replaced(place.func, attr=NAMES[name]))
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            yield replaced(place, func=ast.Name(NAMES[name]))
        case ast.BinOp(op=operator) if type(operator) in SIGNS:
            yield replaced(place, op=SIGNS[type(operator)]())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value) if value < 1000:
            yield ast.Constant(value + 1)
        case ast.If():
            yield replaced(place, test=ast.Constant(value=False))
            yield replaced(place, test=ast.Constant(value=True))
        case ast.Assign() | ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield ast.Pass()


def replaced(place: ast.AST, **fields: object) -> ast.AST:
    other = copy.copy(place)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def with_another(tree: ast.Module, place: ast.AST, other: ast.AST) -> str:
    """The source of the module with `other` in that place."""

    class Exchange(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return other if node is place else copied(self, node)

    def copied(visitor: ast.NodeTransformer, node: ast.AST) -> ast.AST:
        twin = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                value = [visitor.visit(e) if isinstance(e, ast.AST) else e for e in value]
            elif isinstance(value, ast.AST):
                value = visitor.visit(value)
            setattr(twin, name, value)
        return twin

    return ast.unparse(ast.fix_missing_locations(Exchange().visit(tree)))


class Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from other source."""

    def __init__(self, fault: Fault) -> None:
        self._name = f"{PACKAGE}.{fault.module}"
        self._fault = fault

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self) if name == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._fault.source, self._name, "exec"), module.__dict__)


def judged(module: str, number: int, programs: int) -> list[str]:
    """Judge the stack with one fault, in a process of its own."""
    fault = next(each for place, each in enumerate(faults_of(module)) if place == number)
    sys.meta_path.insert(0, Instead(fault))
    try:
        first = first_case() or first_program(programs)
    except Exception as broken:
        return ["broken", type(broken).__name__]
    return first or ["missed", ""]


def first_case() -> list[str]:
    """The first case that tells, if any."""
    for result in results():
        if result.verdict is Verdict.FAIL:
            return ["cases", result.case]
    return []


def results() -> Iterator[Result]:
    """Of all conversations, some at a time: most faults show soon."""
    from scapy_tfo import spec, tcp_rules
    from scapy_tfo.runner.judging.verdicts import with_breaches
    from scapy_tfo.runner.runner import Options
    from scapy_tfo.runner.simulation import simulate
    from scapy_tfo.suite.registry import all_conversations

    options = Options(slow=True, intrusive=True, families=(4,), capture=False)
    catalogue, rules = spec.load(), tcp_rules.load()
    for some in batched(all_conversations(), BATCH):
        run = simulate("sim:reference", some, catalogue, options)
        yield from with_breaches(run, rules).results


def first_program(count: int) -> list[str]:
    """The first rule that one of so many programs breaks."""
    from scapy_tfo.executor.simulated import SimulatedBench
    from scapy_tfo.fuzz.generation.grammar import sent_for

    bench = SimulatedBench("sim:reference")
    for _, verdict in bench.run((seed, sent_for(seed)) for seed in range(count)):
        if verdict.violations:
            return ["fuzz", verdict.violations[0].rule]
    return []


def outcome_of(fault: Fault, number: int, programs: int) -> Outcome:
    command = [sys.executable, __file__, "--judge", fault.module, str(number)]
    command += ["--programs", str(programs)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LONGEST, check=False, cwd=ROOT
        )
    except subprocess.TimeoutExpired:
        return Outcome("broken", "hangs")
    if done.returncode:
        return Outcome("broken", done.stderr.strip().rpartition("\n")[2][:80])
    return Outcome(*json.loads(done.stdout))


def lines_executed() -> dict[str, set[int]]:
    """Of each module, the lines that one run of all cases executes, but for those at import."""
    import coverage

    measure = coverage.Coverage(source=[str(FOLDER)], data_file=None, config_file=False)
    measure.start()
    assert list(results())
    measure.stop()
    data = measure.get_data()
    return {
        ".".join(Path(name).relative_to(FOLDER).with_suffix("").parts): set(data.lines(name) or ())
        for name in data.measured_files()
    }


def page_of(found: Sequence[tuple[Fault, Outcome]]) -> str:
    """What was missed, and how much was not."""
    counts = Counter(outcome.told_by for _, outcome in found)
    missed = [fault for fault, outcome in found if outcome.told_by == "missed"]
    rows = "\n".join(
        f"| {each.module} | {each.line} | `{short(each.before)}` | `{short(each.after)}` |"
        for each in missed
    )
    return (
        "# Small faults\n\n"
        f"{len(found)} faults: {counts['cases']} told by cases, {counts['fuzz']} by the fuzzer, "
        f"{counts['broken']} that break the stack, {counts['missed']} missed.\n\n"
        "| module | line | instead of | stands |\n|---|--:|---|---|\n" + rows + "\n"
    )


def short(code: str) -> str:
    """One line of code for a table."""
    line = " ".join(code.split()).replace("|", "\\|")
    return line if len(line) <= 90 else line[:89] + "…"


if __name__ == "__main__":
    sys.exit(main())

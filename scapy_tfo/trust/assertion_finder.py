"""Finds the assertions of the cases in their source, and the ways to weaken each of them."""

from __future__ import annotations

import ast
import enum
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Container, Iterator
from dataclasses import dataclass

_MEANS = frozenset({"expect", "require", "rst", "until"})
"""Methods of these by which an assertion is made, none themselves."""

_FAILURES = frozenset(
    {"Failed", "Missing", "Refused", "WasReset", "failed", "missing", "_was_reset"}
)
"""What makes an ending that can become a FAIL."""

LONGER = 10
"""How many times longer a weakened expectation waits."""


@dataclass(frozen=True, slots=True)
class Exempt:
    """An assertion that no mutant can show to be needed. where, code: see Weakening."""

    where: str
    code: str
    why: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where the cases of a kind are written.

    package: of their modules. shared: modules and their class, in which assertions live that many
    cases share. demands: methods of those that fail the case unless what they ask for holds.
    handshakes: those of them without which no conversation gets on. exempt: what stays though no
    mutant needs it.
    """

    package: str
    shared: tuple[tuple[str, str], ...]
    demands: frozenset[str]
    handshakes: frozenset[str]
    exempt: tuple[Exempt, ...] = ()

    @property
    def modules(self) -> list[str]:
        """Names of the modules of cases."""
        found = importlib.import_module(self.package)
        return [f"{self.package}.{each.name}" for each in pkgutil.iter_modules(found.__path__)]

    def why_exempt(self, where: str, code: str) -> str:
        """Why an assertion stays though it guards nothing, or ""."""
        return next(
            (each.why for each in self.exempt if (each.where, each.code) == (where, code)), ""
        )


SERVER_CASES = Source(
    package="scapy_tfo.cases",
    shared=(
        ("scapy_tfo.suite.receiver", "Receiver"),
        ("scapy_tfo.suite.flow", "Flow"),
        ("scapy_tfo.suite.peer", "Peer"),
    ),
    demands=frozenset(
        {
            *("answered", "copes", "expect", "falls_back", "finish", "goes_on", "granted", "rst"),
            *("must_accept", "must_refuse", "require", "still_serves", "syn_ack", "until"),
        }
    ),
    handshakes=frozenset({"syn_ack"}),
    exempt=(
        Exempt(
            "cases.syn_with_other_flags._with_fin",
            "await flow.answered()",
            "a wait: until then an ACK in front of the FIN would go out, which no right peer sends",
        ),
        Exempt(
            "cases.accepting_syn_data.answer_held_until_the_ack",
            "await flow.finish()",
            "only a stack that holds its answers back gets here, which the reference does not",
        ),
        Exempt(
            "suite.receiver.Receiver.must_accept",
            "raise Refused(reason, expected=expected, actual=actual, **self._here)",
            "the line behind it fails the case as well, and only says less about the cause",
        ),
        Exempt(
            "suite.peer.Peer.fill",
            "flow.must_accept(syn_ack, len(request))",
            "it notes what a legal stack left of the data, which is to be sent again",
        ),
        Exempt(
            "cases.full_accept_queue._goes_on",
            "flow.must_accept(syn_ack, len(flow.opening.payload))",
            "it notes what a legal stack left of the data, which is to be sent again",
        ),
        Exempt(
            "cases.signed_segments.signed_data_arrives_once",
            "flow.must_accept(syn_ack, len(flow.opening.payload))",
            "it notes what a legal stack left of the data, which is to be sent again",
        ),
        Exempt(
            "suite.peer.Peer.falls_back",
            "flow.must_accept(syn_ack, sum(map(len, flow.sent)))",
            "only a stack that needs no cookie gets here, and may leave some of the data",
        ),
    ),
)
"""What `scapy-tfo test` has."""


class How(enum.StrEnum):
    """In what way an assertion is weakened."""

    REMOVED = "removed"
    PART_REMOVED = "part removed"
    BOUND_WIDENED = "bound widened"
    AT_LEAST = "at least, not exactly"
    AT_MOST = "at most, not exactly"
    WAITS_LONGER = f"waits {LONGER} times longer"


class Role(enum.StrEnum):
    """What an assertion does in its conversation besides demanding something."""

    DEMAND = "nothing else"
    WAIT = "waits"
    HANDSHAKE = "without which nothing gets on"


@dataclass(frozen=True, slots=True)
class Weakening:
    """One way to weaken one assertion.

    source: of the cases. module: dotted name. function: its name, or `Class.method`. code: the
    assertion, in one line. file, first, last: the lines through which a failure of the assertion
    passes. node: its place among the nodes of the function, in the order of ast.walk.
    """

    source: Source
    module: str
    function: str
    how: How
    code: str
    role: Role
    file: str
    first: int
    last: int
    node: int

    @property
    def where(self) -> str:
        return f"{self.module.removeprefix('scapy_tfo.')}.{self.function}"


Function = ast.FunctionDef | ast.AsyncFunctionDef


def weakenings(source: Source = SERVER_CASES) -> tuple[Weakening, ...]:
    """All ways to weaken the cases and the assertions that they share, in the order of files."""
    found: list[Weakening] = []
    for name in [*source.modules, *(module for module, _ in source.shared)]:
        for function, tree in functions_of(source, name).items():
            found += _of(source, name, function, tree)
    return tuple(found)


@functools.cache
def functions_of(source: Source, module: str) -> dict[str, Function]:
    """The functions of a module of cases, or the methods of a class of shared assertions."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    wanted = dict(source.shared).get(module)
    body, prefix = tree.body, ""
    if wanted is not None:
        body = next(
            each.body for each in body if isinstance(each, ast.ClassDef) and each.name == wanted
        )
        prefix = f"{wanted}."
    return {
        prefix + each.name: each
        for each in body
        if isinstance(each, Function)
        and not (prefix and each.name in _MEANS)
        and not any(isinstance(d, ast.Name) for d in each.decorator_list)
    }


@functools.cache
def _helpers(source: Source) -> frozenset[str]:
    """Names of the functions in modules of cases that can fail a case."""
    every: dict[str, Function] = {}
    for module in source.modules:
        every |= functions_of(source, module)
    known: set[str] = set()
    while True:
        more = {
            name
            for name, tree in every.items()
            if name not in known and _demands(source, tree, known)
        }
        if not more:
            return frozenset(known)
        known |= more


def _demands(source: Source, tree: Function, helpers: Container[str]) -> list[ast.Call | ast.Raise]:
    """What fails the case, wherever in a function; not inside a `try`, where it is a question."""
    asked = {
        id(node)
        for each in ast.walk(tree)
        if isinstance(each, ast.Try) and each.handlers
        for statement in each.body
        for node in ast.walk(statement)
    }
    return [
        node
        for node in ast.walk(tree)
        if id(node) not in asked
        and (
            (isinstance(node, ast.Raise) and _fails(node))
            or (isinstance(node, ast.Call) and _demanded(source, node.func, helpers))
        )
        if isinstance(node, ast.Call | ast.Raise)
    ]


def _demanded(source: Source, function: ast.expr, helpers: Container[str]) -> bool:
    return _name(function) in (source.demands if isinstance(function, ast.Attribute) else helpers)


def _fails(node: ast.Raise) -> bool:
    return isinstance(node.exc, ast.Call) and _name(node.exc.func) in _FAILURES


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _of(source: Source, module: str, function: str, tree: Function) -> Iterator[Weakening]:
    numbers = {id(node): number for number, node in enumerate(ast.walk(tree))}
    file = inspect.getsourcefile(importlib.import_module(module)) or ""
    inner = {
        id(node)
        for each in ast.walk(tree)
        if isinstance(each, ast.Lambda | ast.FunctionDef) and each is not tree
        for node in ast.walk(each)
    }
    demands = _demands(source, tree, _helpers(source))

    def one(
        how: How, node: ast.AST, code: ast.AST | None = None, *, anywhere: bool = True
    ) -> Weakening:
        lines = tree if anywhere else node
        shown = " ".join(ast.unparse(code or node).split())
        first, last = getattr(lines, "lineno", 0), getattr(lines, "end_lineno", 0)
        role = Role.WAIT if id(node) in inner else _role(source, node)
        if isinstance(code, ast.Call) and _name(code.func) in source.handshakes:
            role = Role.HANDSHAKE
        return Weakening(
            source, module, function, how, shown, role, file, first, last, numbers[id(node)]
        )

    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node in demands:
            yield one(How.REMOVED, node, anywhere=False)
        if isinstance(node, ast.Expr):
            call = node.value.value if isinstance(node.value, ast.Await) else node.value
            if call in demands:
                yield one(How.REMOVED, node, anywhere=False)
    for node in demands:
        for each in node.keywords if isinstance(node, ast.Call) else ():
            if each.arg == "within" and not isinstance(each.value, ast.Name):
                yield one(How.WAITS_LONGER, each, node)
    for condition, holds in conditions(source, tree):
        whole = condition
        for atom, positive in atoms(condition, holds):
            if atom is not whole:
                yield one(How.PART_REMOVED, atom)
            if isinstance(atom, ast.Compare):
                for how in _wider(atom, positive):
                    yield one(how, atom)


def _role(source: Source, node: ast.AST) -> Role:
    awaited = [each.value for each in ast.walk(node) if isinstance(each, ast.Await)]
    names = [_name(each.func) for each in awaited if isinstance(each, ast.Call)]
    if source.handshakes & set(names):
        return Role.HANDSHAKE
    return Role.WAIT if names else Role.DEMAND


def conditions(source: Source, tree: Function) -> Iterator[tuple[ast.expr, bool]]:
    """What must hold (True) or must not (False), wherever in the function it is worked out."""
    named = {
        target.id: each.value
        for each in ast.walk(tree)
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    nested = {
        each.name: each
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef) and each is not tree
    }
    seen: set[int] = set()

    def follow(condition: ast.expr, holds: bool) -> Iterator[tuple[ast.expr, bool]]:
        if id(condition) in seen:
            return
        seen.add(id(condition))
        yield condition, holds
        for atom, positive in atoms(condition, holds):
            if isinstance(atom, ast.Name) and atom.id in named:
                yield from follow(named[atom.id], positive)

    demands = _demands(source, tree, _helpers(source))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and any(each in demands for each in node.body):
            yield from follow(node.test, False)
    for node in demands:
        if isinstance(node, ast.Raise):
            continue
        if _name(node.func) == "require":
            yield from follow(node.args[0], True)
        for argument in node.args:
            if isinstance(argument, ast.Lambda):
                yield from follow(argument.body, True)
            elif isinstance(argument, ast.Name) and argument.id in nested:
                for each in ast.walk(nested[argument.id]):
                    if isinstance(each, ast.Return) and each.value is not None:
                        yield from follow(each.value, True)


def atoms(node: ast.expr, holds: bool) -> Iterator[tuple[ast.expr, bool]]:
    """The parts of a condition, each with whether it must hold or must not."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from atoms(node.operand, not holds)
    elif isinstance(node, ast.BoolOp):
        for each in node.values:
            yield from atoms(each, holds)
    elif isinstance(node, ast.Call) and _name(node.func) in ("all", "any", "bool"):
        for argument in node.args:
            yield from atoms(argument, holds)
    elif isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp):
        parts = [test for each in node.generators for test in each.ifs]
        if isinstance(node.elt, ast.Compare | ast.BoolOp | ast.UnaryOp):
            parts.append(node.elt)
        for part in parts:
            yield from atoms(part, holds)
    else:
        yield node, holds


def _wider(node: ast.Compare, holds: bool) -> Iterator[How]:
    for operator in node.ops:
        if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            yield How.BOUND_WIDENED
            return
    exact = isinstance(node.ops[0], ast.Eq if holds else ast.NotEq)
    if exact and len(node.ops) == 1 and (_is_number(node.left) or _is_number(node.comparators[0])):
        yield How.AT_LEAST
        yield How.AT_MOST


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.Call):
        return _name(node.func) in ("len", "sum", "max", "min", "distance", "acknowledged", "count")
    return isinstance(node, ast.BinOp) and (_is_number(node.left) or _is_number(node.right))

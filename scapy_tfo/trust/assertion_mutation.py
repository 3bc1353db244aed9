"""Weakens the cases: leaves out one assertion, or a part of one, or widens its bound.

This is mutation testing of the cases themselves: an assertion is worth something if some wrong
stack passes without it. It works on the source, so new assertions need no registration.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import copy
import functools
import importlib
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType

from scapy_tfo.trust.assertion_finder import (
    LONGER,
    Function,
    How,
    Source,
    Weakening,
    atoms,
    conditions,
    functions_of,
)

_ENDING = "__import__('scapy_tfo.suite.outcome', fromlist=['Missing'])"
_SWALLOW = f"try: pass\nexcept ({_ENDING}.Failed, {_ENDING}.Missing): pass"


@contextlib.contextmanager
def weakened(weakening: Weakening) -> Iterator[None]:
    """Let the function run weakened, whoever calls it."""
    original = _resolve(weakening)
    code = original.__code__
    original.__code__ = _compiled(weakening, original)
    try:
        yield
    finally:
        original.__code__ = code


def _resolve(weakening: Weakening) -> FunctionType:
    found: object = importlib.import_module(weakening.module)
    for part in weakening.function.split("."):
        found = vars(found)[part] if not isinstance(found, ModuleType) else getattr(found, part)
    assert isinstance(found, FunctionType)
    # What names the symptom of an assertion wraps it.
    plain = inspect.unwrap(found)
    assert isinstance(plain, FunctionType)
    return plain


@functools.lru_cache(maxsize=64)
def _compiled(weakening: Weakening, original: FunctionType) -> CodeType:
    tree = copy.deepcopy(functions_of(weakening.source, weakening.module)[weakening.function])
    target = list(ast.walk(tree))[weakening.node]
    _Weakener(target, weakening.how, _polarity(weakening.source, tree, target)).visit(tree)
    tree.decorator_list = []
    unit = ast.fix_missing_locations(ast.Module([tree], []))
    flags = __future__.annotations.compiler_flag
    space: dict[str, object] = {}
    exec(compile(unit, weakening.file, "exec", flags), dict(original.__globals__), space)
    changed = space[tree.name]
    assert isinstance(changed, FunctionType)
    return changed.__code__


def _polarity(source: Source, tree: Function, target: ast.AST) -> bool:
    return next(
        (
            positive
            for condition, holds in conditions(source, tree)
            for atom, positive in atoms(condition, holds)
            if atom is target
        ),
        True,
    )


class _Weakener(ast.NodeTransformer):
    def __init__(self, target: ast.AST, how: How, holds: bool) -> None:
        self._target, self._how, self._holds = target, how, holds

    def visit(self, node: ast.AST) -> ast.AST:
        return self._changed(node) if node is self._target else self.generic_visit(node)

    def _changed(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Raise):
            return ast.Pass()
        if isinstance(node, ast.Expr):
            swallow = ast.parse(_SWALLOW).body[0]
            assert isinstance(swallow, ast.Try)
            swallow.body = [node]
            return swallow
        if isinstance(node, ast.keyword):
            longer = ast.BinOp(node.value, ast.Mult(), ast.Constant(LONGER))
            return ast.keyword(node.arg, longer)
        if self._how is How.PART_REMOVED:
            return ast.Constant(self._holds)
        assert isinstance(node, ast.Compare)
        return widened(node, self._how, self._holds)


def widened(node: ast.Compare, how: How, holds: bool) -> ast.expr:
    """The comparison, changed in place: what must hold does so more often, what must not less."""
    if how is How.AT_LEAST:
        node.ops = [ast.GtE() if holds else ast.Lt()]
        return node
    if how is How.AT_MOST:
        node.ops = [ast.LtE() if holds else ast.Gt()]
        return node
    sides = [node.left, *node.comparators]
    for at, operator in enumerate(node.ops):
        upward = isinstance(operator, ast.Lt | ast.LtE) == holds
        # A bound in front of its value, as in 1 <= x, moves the other way.
        first = isinstance(sides[at], ast.Constant)
        place = at if first else at + 1
        sides[place] = _moved(sides[place], upward != first)
    node.left, node.comparators = sides[0], sides[1:]
    return node


def _moved(bound: ast.expr, upward: bool) -> ast.expr:
    """Twice the bound, or 1 beside it where it is smaller than that."""
    call = ast.parse("max(1, abs(0))", mode="eval").body
    assert isinstance(call, ast.Call)
    size = call.args[1]
    assert isinstance(size, ast.Call)
    size.args = [copy.deepcopy(bound)]
    return ast.BinOp(bound, ast.Add() if upward else ast.Sub(), call)

"""The parts of what is known of a flow: each is changed by its own methods alone."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from scapy_tfo.oracle.parts.handshake import Handshake, History
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.oracle.parts.state import LISTEN, OPEN, Evidence, Owed
from scapy_tfo.oracle.parts.streams import Inbound, Outbound
from scapy_tfo.oracle.parts.timing import Timers, Timestamps
from tests.oracle import golden
from tests.oracle.conversations import Conversation, full_jar, opened

ROOT = Path(__file__).resolve().parents[2] / "scapy_tfo"
PARTS = {
    "handshake": Handshake,
    "history": History,
    "outbound": Outbound,
    "inbound": Inbound,
    "times": Timestamps,
    "timers": Timers,
    "owed": Owed,
    "evidence": Evidence,
}
"""Of a connection, by the attribute that holds each."""
OTHERS = ("self", "came", "it", "event")
"""Names of what is no part of a connection: `Came` and `Arrival` have fields of the same names."""

SOURCES = sorted(
    path
    for room in ("oracle", "executor")
    for path in (ROOT / room).rglob("*.py")
    if "oracle.parts.state import" in path.read_text(encoding="utf-8")
)
"""Of all modules that have to do with connections."""


def fields_of(part: type) -> set[str]:
    """Names of attributes; those of properties, too, of a compiled class."""
    slots = {name for name, each in vars(part).items() if inspect.isgetsetdescriptor(each)}
    return set(getattr(part, "__slots__", slots))


def fields() -> set[str]:
    """Of all parts, and what a connection itself has that changes."""
    return {name for each in PARTS.values() for name in fields_of(each)} | {"states", "vague"}


def changed(tree: ast.AST) -> Iterator[ast.Attribute]:
    """Attributes that are given another value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_its_own_methods_change_a_part(path: Path) -> None:
    for each in changed(ast.parse(path.read_text(encoding="utf-8"))):
        ours = isinstance(each.value, ast.Name) and each.value.id in OTHERS
        assert ours or each.attr not in fields(), f"line {each.lineno}: {each.attr}"


@pytest.mark.parametrize("source", ["link.outbound.acked = 1", "out.acked += 1", "del link.vague"])
def test_a_change_from_elsewhere_is_seen(source: str) -> None:
    (found,) = changed(ast.parse(source))
    assert found.attr in fields()


def test_a_connection_holds_the_parts() -> None:
    link = opened().link
    assert {name: type(getattr(link, name)) for name in PARTS} == PARTS


@pytest.mark.skipif(
    not hasattr(Handshake, "__slots__"), reason="a compiled class does not list its fields alone"
)
def test_the_digests_hold_every_field() -> None:
    kept = set(golden.KNOWN.values())
    held = {f"{part}.{name}" for part, made in PARTS.items() for name in fields_of(made)}
    apart = {"evidence.violations", "evidence.step", "timers.asked_at", "owed.asked_at"}
    assert held - kept == apart


def test_a_new_incarnation_begins_anew_but_for_what_outlives_it() -> None:
    link = opened().link
    before = {name: getattr(link, name) for name in PARTS}
    link.begin_anew(1000)
    kept = {name for name in PARTS if getattr(link, name) is before[name]}
    assert kept == {"history", "owed", "evidence"}
    assert link.outbound.base == 1000
    assert link.handshake.iss is None


def test_new_text_does_not_end_the_backoff() -> None:
    """What an earlier text waits for is still the doubled timeout (RFC 6298 section 5)."""
    timers = Timers()
    for now in (1.0, 3.0, 7.0):
        timers.hear(now, repeated=True)
    timers.hear(8.0, repeated=False)
    assert timers.repeats == 3
    timers.acknowledge(9.0)
    assert (timers.repeats, timers.heard_at) == (0, 9.0)


@pytest.mark.parametrize(
    ("window", "size", "may_have_left"),
    [(0, 100, True), (30, 100, True), (65535, 100, False), (0, 0, False)],
)
def test_a_target_whose_probes_nobody_answers_leaves(
    window: int, size: int, may_have_left: bool
) -> None:
    """It has text for a window that stays closed, and probes it in vain (RFC 9293 3.8.6.1)."""
    flow = opened(20).echoed(1, 20).send("P.", 21, 21, size, window=window).came(".", 21, 21 + size)
    assert flow.link.states == OPEN
    flow.at(15.0)
    assert flow.link.states == OPEN
    flow.at(60.0)
    assert (flow.link.states == OPEN | LISTEN) is may_have_left
    flow.send("P.", 21 + size, 21, 10, window=window).came("R", 21, 0)
    assert ("reset" in [rule for rule, _ in flow.broken]) is not may_have_left


@pytest.mark.parametrize(("early", "owed"), [(True, None), (False, ("no-text", "ACC-9"))])
def test_a_copy_of_text_that_was_held_pushes_nothing(
    early: bool, owed: tuple[str, str] | None
) -> None:
    """At a stack that hands text over when PSH comes (RFC 9293 section 3.9.1.2)."""
    profile = Profile(fresh=True, pushed_only=True)
    it = Conversation(full_jar(), profile).syn().answered().send(".", 1, 1)
    if early:
        it.send(".", 2, 1, 1)
    it.send(".", 1, 1, 1).send("P.", 2, 1, 1).came(".", 1, 3)
    assert it.owed == owed

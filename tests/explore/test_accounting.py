"""Whether pending fast opens are counted exactly, whatever becomes of them."""

from __future__ import annotations

from collections import deque

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.explore.audits import served
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.explorer import Explorer
from scapy_tfo.explore.limits import RULES, accounts
from scapy_tfo.icmp import IcmpError
from scapy_tfo.mutants.registry import Mutant
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.reference.icmp import quoted_segment
from scapy_tfo.reference.parts.pending import Pending, Ticket
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.variants.registry import named

*_, MISCOUNTED, OVER = RULES


def stack_with(pending: type[Pending]) -> Mutant:
    listener = type("TheListener", (Listener,), {"pending_class": pending})
    stack = type("TheStack", (Stack,), {"pending_class": pending, "listener_class": listener})
    return Mutant(name="", breaks="", description="", stack=stack, settings=Settings())


def counted(stack: Mutant, profile: Profile, application: str = "echo") -> list[str]:
    world = World(stack, profile)
    limit = served(world, application).room
    found: tuple[Problem, ...] = accounts(world, world.port_of(application), limit)
    return [each.rule for each in found]


class OneTimerForAllResets(Pending):
    """Each reset sets the timer of all that were reset before."""

    def reset(self, ticket: Ticket, now: float) -> None:
        super().reset(ticket, now)
        if self._reset:
            self._reset = deque([self._reset[-1]] * len(self._reset))


class ForgetsAll(Pending):
    """A reset gives all places back."""

    def reset(self, ticket: Ticket, now: float) -> None:
        super().reset(ticket, now)
        self._open.clear()
        self._reset.clear()


class KeepsOneInFour(Pending):
    """Every fourth place that is given back by an ACK is lost."""

    released = 0

    def release(self, ticket: Ticket) -> None:
        self.released += 1
        if self.released % 4:
            super().release(ticket)


@pytest.mark.parametrize(
    ("pending", "rule"),
    [(OneTimerForAllResets, MISCOUNTED), (ForgetsAll, OVER), (KeepsOneInFour, MISCOUNTED)],
)
def test_what_is_miscounted_is_found(pending: type[Pending], rule: str) -> None:
    assert counted(stack_with(pending), Profile()) == [rule]


class EndsHandshakesByAnyError(Stack):
    """An ICMP error about a half-open connection ends it, whatever number it quotes (RFC 5461
    section 4 lets it; to check the number is advice)."""

    def receive(self, packet: bytes, now: float) -> None:
        error = IcmpError.from_bytes(packet)
        found = None if error is None else quoted_segment(error.quoted)
        connection = None if found is None else self.connections.get(found[:4])
        if isinstance(connection, PassiveConnection) and connection.state is State.SYN_RCVD:
            connection.fail("EHOSTUNREACH", now)
        super().receive(packet, now)


def test_a_handshake_that_an_error_may_end_is_not_taken_for_a_pending_one() -> None:
    ends = Mutant(
        name="", breaks="", description="", stack=EndsHandshakesByAnyError, settings=Settings()
    )
    assert counted(ends, Profile()) == []


@pytest.mark.parametrize(
    "name",
    [
        "wrong-ack-gives-the-place-back",
        "text-without-ack-gives-the-place-back",
        "any-error-gives-the-place-back",
    ],
)
def test_a_place_that_is_given_back_too_early_is_found(name: str) -> None:
    assert counted(named(name), SimulatedBench(f"sim:{name}").profile) == [OVER]


@pytest.mark.parametrize("application", ["echo", "late-accept:2000", "mute"])
@pytest.mark.parametrize(
    "name",
    [
        *(
            "reference",
            "one-more-than-the-limit",
            "grants-over-the-limit",
            "at-most-sixteen-pending",
        ),
        *("resets-count-for-three-minutes", "cookies-for-a-minute", "cookies-for-one-use"),
        *("sixty-four-connections", "syn-ack-waits", "variants-row-8", "variants-row-16"),
    ],
)
def test_who_counts_otherwise_and_rightly_is_not_blamed(name: str, application: str) -> None:
    assert counted(named(name), SimulatedBench(f"sim:{name}").profile, application) == []


def test_an_exploration_looks_at_it_first() -> None:
    explorer = Explorer("reference", stop=lambda: True)
    explorer._stack = stack_with(OneTimerForAllResets)
    explorer._serve_first("echo")
    assert MISCOUNTED in explorer.result.found
    found = explorer.result.found[MISCOUNTED]
    assert found.problem.packet == -1
    assert "fast opens count" in found.problem.expected

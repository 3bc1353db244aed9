"""Clients that are gone, applications that accept late, and the room that half-open handshakes
take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scapy_tfo.explore.audits import compared, served
from scapy_tfo.explore.conversation.judge import judged
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.run import Run
from scapy_tfo.explore.conversation.schedule import GONE, OUTAGE, Fault, Schedule
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.explorer import Explorer
from scapy_tfo.explore.stages.plan import FILLS
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.variants.registry import named


def world() -> World:
    return World(named("reference"), Profile())


def played(schedule: Schedule, side: type[PassiveConnection] = PassiveConnection) -> Run:
    here = world()
    here.stack.connection_class = side
    return Play(here, schedule).play()


def rules(run: Run) -> list[str]:
    return [each.rule for each in judged(run)]


def gone(index: int, opening: str = "good", server: str = "echo") -> Schedule:
    return Schedule(opening, server, faults=(Fault(True, index, GONE),))


class DiesQuietly(PassiveConnection):
    """An application hears nothing of a handshake that timed out."""

    def fail(self, error: str, now: float) -> None:
        if self.state is State.SYN_RCVD:
            self.tell = lambda _event: None  # type: ignore[method-assign,assignment]
        super().fail(error, now)


@pytest.mark.parametrize("opening", ["plain", "request", "good"])
@pytest.mark.parametrize("server", ["echo", "think:300", "send:3000", "late-accept:2000"])
def test_an_application_hears_that_nobody_answers(opening: str, server: str) -> None:
    for index in range(1, 4):
        assert rules(played(gone(index, opening, server))) == []


def test_an_application_that_does_not_hear_is_found() -> None:
    assert rules(played(gone(1), DiesQuietly)) == ["never-told"]


def test_an_idle_connection_may_stay_for_ever() -> None:
    run = played(gone(2, "plain", "mute"))
    assert run.gone
    assert not run.unheard
    assert not run.server.ended


class StallsBehindItsFin(PassiveConnection):
    """The window opens no more once a FIN was sent."""

    def _open_window(self, now: float) -> None:
        if not self.send.fin_sent:
            super()._open_window(now)


def test_a_window_that_fills_behind_a_fin_opens_again() -> None:
    schedule = Schedule("plain", "half-close-rest:2000", FILLS, (("window", "unscaled"),))
    assert rules(played(schedule)) == []
    assert "text-missing" in rules(played(schedule, StallsBehindItsFin))


def test_a_rst_in_answer_to_a_part_of_the_early_text_is_found() -> None:
    class AllOrNothing(PassiveConnection):
        def completes_handshake(self, ack: int) -> bool:
            whole = ack in (self.send.nxt, (self.send.iss + 1) % 2**32)
            return super().completes_handshake(ack) and whole

    schedule = Schedule("good", "send:3000", faults=(Fault(True, 1, "lost"),))
    assert rules(played(schedule)) == []
    assert rules(played(schedule, AllOrNothing))[0] == "rst-unprovoked"


def test_a_place_of_a_handshake_that_is_kept_is_found() -> None:
    here = world()
    first = served(here, "echo")
    assert first.backlog == 64
    assert compared(first, served(here, "echo")) == []
    listener = here.stack.listeners[here.port_of("echo")]
    assert isinstance(listener, Listener)
    listener.backlog -= 1
    assert [each.rule for each in compared(first, served(here, "echo"))] == ["backlog-moved"]


def outage(to_target: bool, index: int, opening: str = "good", server: str = "echo") -> Schedule:
    return Schedule(opening, server, faults=(Fault(to_target, index, OUTAGE),))


@pytest.mark.parametrize("to_target", [False, True], ids=["to the client", "to the target"])
@pytest.mark.parametrize("server", ["echo", "send:3000", "two-sends:50"])
def test_five_seconds_without_a_packet_end_no_connection(to_target: bool, server: str) -> None:
    for index in range(3):
        run = played(outage(to_target, index, server=server))
        assert rules(run) == []
        assert run.acked == 100


def test_a_target_that_gives_up_within_an_outage_is_found() -> None:
    """After seven seconds, instead of a hundred at least (RFC 9293 section 3.8.3)."""

    def with_two_copies(faults: tuple[Fault, ...]) -> list[str]:
        here = world()
        listener = here.stack.listeners[here.port_of("echo")]
        assert isinstance(listener, Listener)
        listener.settings = replace(listener.settings, data_retries=2)
        return rules(Play(here, Schedule(faults=faults)).play())

    assert with_two_copies((Fault(False, 1, "lost"), Fault(False, 2, "lost"))) == []
    assert with_two_copies((Fault(False, 1, OUTAGE),)) != []


def test_the_plan_has_each_packet_from_which_on_the_client_may_be_gone() -> None:
    explorer = Explorer("reference")
    assert isinstance(explorer._world.stack, Stack)
    assert explorer.plan(1)["client gone"] > 1000

"""What must hold of a target on the wire after an exploration: its listeners serve as at first."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

import pytest

from scapy_tfo.explore.audits import Served
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.live import audits
from scapy_tfo.explore.live.engine import Engine
from scapy_tfo.explore.live.opened import ROOM, open_site
from scapy_tfo.explore.live.site import Site
from scapy_tfo.targets.reached import Reach

RIGHT = Served(0, (), ())
WRONG = Served(0, ("answer-missing",), ())


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = open_site(Reach(target="lab:reference"))
    yield made
    made.close()


def lost(site: Site, first: dict[str, Served]) -> list[tuple[str, str]]:
    return [(server, each.rule) for server, each in audits.lost(Engine(site), first)]


def test_a_listener_that_answers_no_more_is_told(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = audits.served(Engine(site), ["echo", "late-close:50"])
    assert first == {"echo": RIGHT, "late-close:50": RIGHT}
    assert lost(site, first) == []
    monkeypatch.setitem(site.ports, "echo", site.ports["never-reads"])
    gone = ["serves no more plain connections", "serves no more fast opens"]
    assert lost(site, first) == [("echo", each) for each in gone]


def test_one_that_was_slow_at_first_has_lost_nothing(site: Site) -> None:
    assert lost(site, {"echo": WRONG}) == []


def test_one_that_was_slow_for_a_moment_has_lost_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [WRONG, RIGHT]
    asked = []

    def served(_engine: Engine, servers: Collection[str]) -> dict[str, Served]:
        asked.append(list(servers))
        return {each: answers.pop(0) if each == "echo" else RIGHT for each in servers}

    monkeypatch.setattr(audits, "served", served)
    assert lost(site, {"echo": RIGHT, "mute": RIGHT}) == []
    assert asked == [["echo", "mute"], ["echo"]]


def test_an_application_that_accepts_after_two_seconds_is_waited_for(site: Site) -> None:
    late = [each for each in site.ports if each.startswith("late-accept")]
    assert late
    assert audits.served(Engine(site), late) == dict.fromkeys(late, RIGHT)


# How many fast opens may pend


def counted(site: Site, patience: float = 0.0) -> tuple[int | None, list[tuple[str, str]]]:
    """Pending fast opens at first, and what is told once some clients were there."""
    engine = Engine(site)
    first = audits.room(engine)
    asked = [Schedule(each, audits.COUNTED, "write-end:100") for each in ("good", "refused")]
    assert len(list(engine.run(asked))) == len(asked)
    found = list(audits.moved(engine, first, patience))
    return first, [(server, each.rule) for server, each in found]


@pytest.mark.skipif(os.geteuid() != 0, reason="a namespace with this kernel is made as root")
def test_this_kernel_has_as_much_room_as_at_first() -> None:
    made = open_site(Reach(target="lab:linux"))
    try:
        assert counted(made, patience=20.0) == (ROOM, [])
    finally:
        made.close()


def test_a_right_listener_has_as_much_room_as_at_first(site: Site) -> None:
    assert counted(site) == (ROOM, [])


def test_one_whose_places_are_not_given_back_is_told() -> None:
    made = open_site(Reach(target="lab:counts-refused-cookies"))
    try:
        assert counted(made) == (ROOM, [(audits.COUNTED, "pending-limit-moved")])
    finally:
        made.close()


def test_where_nobody_opened_listeners_nothing_is_counted(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "room", None)
    assert audits.room(Engine(site)) is None
    assert list(audits.moved(Engine(site), None)) == []


def test_a_count_in_which_something_got_lost_tells_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audits, "room", lambda _: None)
    assert list(audits.moved(Engine(site), ROOM, patience=0.0)) == []

"""What must hold of a target on the wire after an exploration: its listeners serve as at first."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pytest

from scapy_tfo.explore.audits import Served
from scapy_tfo.explore.live import audits
from scapy_tfo.explore.live.engine import Engine
from scapy_tfo.explore.live.opened import open_site
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

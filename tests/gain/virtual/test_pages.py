"""Whole pages on virtual time: by the closed form where there is one, and always the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("numpy", reason="the extra 'gain' is not installed")

from scapy_tfo.errors import TargetError
from scapy_tfo.gain.link_shape import BARE, Line
from scapy_tfo.gain.pages.experiment import WAYS, Load, Plan, all_pages, cells
from scapy_tfo.gain.pages.page import Page, Resource
from scapy_tfo.gain.pages.published import PAPER
from scapy_tfo.gain.virtual.closed_form import chain_seconds
from scapy_tfo.gain.virtual.pages import measure

WAITS = [0.02, 0.05, 0.0]


def part(name: str, after: str | None = None, host: str = "a.test", **more: float) -> Resource:
    return Resource(name=name, host=host, type="text/html", size=1000, after=after, **more)


CHAIN = Page(
    "chain",
    "a chain",
    400,
    (
        part("first", wait=WAITS[0]),
        part("second", "first", "b.test", wait=WAITS[1]),
        part("third", "second", "c.test", wait=WAITS[2]),
    ),
)


def loaded(plan: Plan, page: Page) -> dict[str, Load]:
    return {each.way: each for each in measure(plan, [page])}


@pytest.mark.parametrize("rtt", [0.001, 0.02, 0.3])
def test_a_chain_of_hosts_saves_a_round_trip_for_each(rtt: float) -> None:
    found = loaded(Plan(pages=(), times=1, rtts=[rtt], line=BARE), CHAIN)
    for way, each in found.items():
        wanted = chain_seconds(rtt, WAITS, fast_open=way == "tfo")
        assert each.seconds == pytest.approx(wanted, abs=1e-7)
        assert (each.connections, each.again) == (3, 0)
    assert found["tfo"].early == 3
    assert found["tcp"].cold == 3
    assert found["tcp"].opening == pytest.approx(3 * rtt, abs=1e-7)


def test_a_limited_rate_adds_the_time_of_the_bytes() -> None:
    """3,000 bytes and their headers, 80,000 bits a second: 0.3 s and some more."""
    plan = Plan(pages=(), times=1, rtts=[0.02], line=Line(down=80e3))
    found = loaded(plan, CHAIN)
    for way, each in found.items():
        fast_open = way == "tfo"
        bare = chain_seconds(0.02, WAITS, fast_open=fast_open, down=80e3, bytes_=3000)
        assert bare < each.seconds < bare + 0.12


def test_connections_are_kept_or_not() -> None:
    one_host = Page("one", "one host", 400, (part("first"), part("second", "first")))
    plan = Plan(pages=(), times=1, rtts=[0.05], line=BARE)
    kept, opened = (
        loaded(replace(plan, persistent=persistent), one_host) for persistent in (True, False)
    )
    assert {each.connections for each in kept.values()} == {1}
    assert {each.connections for each in opened.values()} == {2}
    saved = [found["tcp"].seconds - found["tfo"].seconds for found in (kept, opened)]
    assert saved == pytest.approx([0.05, 0.1], abs=1e-7)


def test_a_page_of_the_paper_is_always_the_same_and_its_control_saves_nothing() -> None:
    plan = Plan(pages=["wikipedia"], times=1, rtts=[0.1])
    pages = all_pages(plan)
    one, other = (list(measure(plan, pages)) for _ in range(2))
    assert one == other
    assert [each.way for each in one] == list(WAYS)
    (cell,) = cells(plan, pages, one)
    assert cell.early == 1.0
    assert cell.control.value == 0.0
    assert cell.percent is not None
    assert 4 < cell.percent.value < 41
    assert cell.paper == PAPER["wikipedia", 0.1]


def test_loads_that_differ_in_nothing_but_moments_have_an_interval_and_a_control() -> None:
    plan = Plan(pages=["wikipedia"], rtts=[0.1], times=6)
    pages = all_pages(plan)
    one, other = (list(measure(plan, pages)) for _ in range(2))
    assert one == other
    (cell,) = cells(plan, pages, one)
    assert cell.loads == 6
    assert cell.percent is not None
    assert cell.percent.low > 4
    assert cell.control.low <= 0 <= cell.control.high
    assert cell.control.width > 0


def test_a_page_that_does_not_load_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scapy_tfo.gain.virtual.pages.answers_of", lambda _: {})
    with pytest.raises(TargetError, match="404"):
        loaded(Plan(pages=(), times=1, rtts=[0.02], line=BARE), CHAIN)

"""The pages that come with the project, and pages that cannot be loaded."""

from __future__ import annotations

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.gain.pages.page import MODELS, Page, Resource, bundled
from tests.gain.write_page_models import FOLDER, PLANS, Plan, build, text


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_a_model_is_as_it_is_written(plan: Plan) -> None:
    committed = (FOLDER / f"{plan.name}.json").read_text()
    assert committed == text(build(plan)), "run python tests/gain/write_page_models.py"
    assert bundled(plan.name) == build(plan)


def test_each_model_has_a_plan() -> None:
    assert sorted(MODELS) == sorted(plan.name for plan in PLANS)


@pytest.mark.parametrize(
    ("name", "resources", "hosts", "kilobytes"),
    [
        ("amazon", 68, 10, 668),
        ("nytimes", 191, 31, None),
        ("wsj", 133, 45, 1374),
        ("wikipedia", 29, 4, 317),
    ],
)
def test_a_model_is_as_large_as_the_logged_page(
    name: str, resources: int, hosts: int, kilobytes: int | None
) -> None:
    """kilobytes: received, with the heads of the answers."""
    page = bundled(name)
    assert (len(page.resources), len(page.hosts)) == (resources, hosts)
    if kilobytes is not None:
        assert page.size + 300 * resources == pytest.approx(kilobytes * 1000, rel=0.01)


def test_there_is_no_other_page() -> None:
    with pytest.raises(SetupError, match="there are amazon"):
        bundled("../page")


def part(name: str, after: str | None = None, **more: float) -> Resource:
    return Resource(name=name, host="a.test", type="text/html", size=1, after=after, **more)


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ((), "no resources"),
        ((part("a"), part("b")), "comes after none"),
        ((part("a"), part("a", "a")), "appears twice"),
        ((part("a"), part("b", "c"), part("c", "a")), "is not listed before it"),
        ((part("a"), part("b", "b")), "is not listed before it"),
        ((part("a"), part("b", "a", at=1.5)), "from 0 to 1"),
        ((part("a"), part("b", "a", delay=-1)), "at least 0"),
        (
            (Resource(name="a", host="a.test", type="x/y", size=10**9),),
            "more than 100,000,000 bytes",
        ),
        (
            (
                part("a"),
                *(
                    Resource(name=f"{each}", host=f"{each}.test", type="x/y", size=1, after="a")
                    for each in range(250)
                ),
            ),
            "more than 250 hosts",
        ),
    ],
)
def test_a_page_that_nobody_could_load(resources: tuple[Resource, ...], said: str) -> None:
    with pytest.raises(SetupError, match=said):
        Page("odd", "Odd", 500, resources)

"""Content served to a real browser: documents, scripts and style sheets that name each other."""

from __future__ import annotations

import pytest

from scapy_tfo.gain.pages.content import contents, start_page
from scapy_tfo.gain.pages.page import MODELS, Page, Resource, bundled

NAMES_NEED = 1200
"""Bytes that a small script or document may need beyond its size, for its names."""


def part(name: str, kind: str, after: str | None = None, **more: float) -> Resource:
    size = int(more.pop("size", 3000))
    return Resource(name=name, host=f"{name}.test", type=kind, size=size, after=after, **more)


def body(page: Page, name: str) -> str:
    found = contents(page)[f"{name}.test/{name}"][2]
    assert isinstance(found, str)
    return found


def page(*resources: Resource) -> Page:
    return Page("small", "Small", 400, (part("first", "text/html"), *resources))


@pytest.mark.parametrize("name", MODELS)
def test_each_resource_is_named_once_and_is_of_its_size(name: str) -> None:
    what = bundled(name)
    found = contents(what)
    assert list(found) == [f"{each.host}/{each.name}" for each in what.resources]
    text = "".join(each for _, _, each in found.values() if isinstance(each, str))
    for each in what.resources[1:]:
        assert text.count(f"//{each.host}/{each.name}") == 1
    for each, (wait, _, content) in zip(what.resources, found.values(), strict=True):
        size = content if isinstance(content, int) else len(content)
        assert each.size <= size <= each.size + NAMES_NEED
        assert wait == each.wait


def test_a_document_names_others_where_so_much_of_it_has_come() -> None:
    kinds = ("text/css", "application/javascript", "image/png", "text/html")
    what = page(*(part(f"x{at}", kind, "first", at=at / 5) for at, kind in enumerate(kinds, 1)))
    text = body(what, "first")
    assert len(text) == 3000
    for at, tag in enumerate(("<link", "<script async", "<img", "<iframe"), 1):
        place = text.index(f"//x{at}.test/x{at}")
        assert text.rindex(tag, 0, place) == pytest.approx(3000 * at / 5, abs=120)


def test_a_script_computes_and_then_names() -> None:
    what = page(
        part("script", "text/javascript", "first"),
        part("late", "image/gif", "script", delay=0.3),
        part("soon", "text/css", "script", delay=0.2),
    )
    assert body(what, "script").startswith(
        'A(200,[["img","//late.test/late","ilate"],["link","//soon.test/soon","isoon"]]);/*'
    )
    assert len(body(what, "script")) == 3000


def test_a_style_sheet_names_images_alone() -> None:
    what = page(
        part("style.css", "text/css", "first"),
        part("image", "image/gif", "style.css"),
        part("script", "text/javascript", "style.css"),
    )
    style = body(what, "style.css")
    assert style.startswith("#istyle-css{background-image:url(//image.test/image)}")
    assert "script" not in style
    assert "//script.test/script" in body(what, "first")


def test_what_is_neither_document_nor_style_nor_script_is_an_image_that_names_nothing() -> None:
    what = page(
        part("data", "application/json", "first"),
        part("image", "image/png", "data"),
    )
    assert contents(what)["data.test/data"] == (0.0, "image/gif", 3000)
    assert "//image.test/image" in body(what, "first")


def test_the_first_is_the_document_whatever_its_type() -> None:
    what = Page("odd", "Odd", 400, (part("first", "text/plain", size=1),))
    assert body(what, "first").startswith("<!doctype html>")


def test_the_document_reports_and_its_frames_do_not() -> None:
    what = page(part("frame", "text/html", "first"))
    assert "loadEventEnd" in body(what, "first")
    assert "loadEventEnd" not in body(what, "frame")
    assert 'location.replace("http://first.test/first")' in start_page(what)

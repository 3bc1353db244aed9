"""The HTML report: complete, closed, and nobody's strings run in it."""

from __future__ import annotations

from html.parser import HTMLParser

from scapy_tfo.report.html import html_page
from scapy_tfo.spec import Requirement
from scapy_tfo.suite.result import Run

from .sample import HOSTILE, REFUSED_DRAWN

Catalogue = dict[str, Requirement]

VOID = {"meta", "input", "br"}


class Reader(HTMLParser):
    """Collects tags and text, and insists that what opens closes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_it_tells_what_the_text_tells(run: Run, catalogue: Catalogue) -> None:
    page = Reader(html_page(run, catalogue=catalogue))
    for part in (
        "A valid cookie lets the SYN's data in at once.",
        "SYN-ACK with ack 21: SYN and 20 bytes",
        "flow 192.0.2.1:40000>192.0.2.7:80, packets 1, 2",
        REFUSED_DRAWN,
        "give --source twice",
        "delivered again",
        "control handshake: 0.3 ms",
        "exit 1: a requirement failed",
    ):
        assert part in page.text


def test_failures_are_open_and_every_case_has_its_row(run: Run, catalogue: Catalogue) -> None:
    page = Reader(html_page(run, catalogue=catalogue))
    details = [attrs for tag, attrs in page.tags if tag == "details"]
    assert len(details) == 4
    assert all("open" in attrs for attrs in details)
    assert len([1 for tag, attrs in page.tags if tag == "tr" and "class" in attrs]) == 11


def test_each_verdict_can_be_picked(run: Run, catalogue: Catalogue) -> None:
    source = html_page(run, catalogue=catalogue)
    picks = [attrs["id"] for tag, attrs in Reader(source).tags if tag == "input"]
    assert picks[:2] == ["pick-all", "pick-fail"]
    assert len(picks) == 9
    for pick in picks[1:]:
        assert f"#{pick}:checked~table.cases" in source


def test_it_needs_no_script_and_no_network(run: Run, catalogue: Catalogue) -> None:
    page = Reader(html_page(run, catalogue=catalogue))
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in page.tags}
    assert not any("src" in attrs or "href" in attrs for _, attrs in page.tags)
    assert "url(" not in html_page(run, catalogue=catalogue)


def test_hostile_strings_stay_text(hostile_run: Run, catalogue: Catalogue) -> None:
    source = html_page(hostile_run, catalogue=catalogue)
    page = Reader(source)
    assert "script" not in {tag for tag, _ in page.tags}
    assert HOSTILE[9:20] not in source
    assert all(char.isprintable() or char == "\n" for char in source)
    source.encode("utf-8")

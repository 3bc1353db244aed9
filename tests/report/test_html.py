"""The HTML report: complete, self-contained, and safe against hostile strings."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

import scapy_tfo
from scapy_tfo.report import commands
from scapy_tfo.report.html import html_page
from scapy_tfo.report.outline import Outline
from scapy_tfo.report.output import write_all
from scapy_tfo.report.page import cited
from scapy_tfo.spec import Requirement
from scapy_tfo.suite.result import Run, Standing, Verdict

from .sample import HOSTILE, REFUSED_DRAWN, result

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
    details = [attrs for tag, attrs in page.tags if tag == "details" and "id" in attrs]
    assert len(details) == 4
    assert all("open" in attrs for attrs in details)
    rows = [attrs["class"] for tag, attrs in page.tags if tag == "tr" and "class" in attrs]
    assert rows.count("f pass") == 3 + len({"OPT-1", "DUP-3"})


def test_each_verdict_can_be_picked(run: Run, catalogue: Catalogue) -> None:
    source = html_page(run, catalogue=catalogue)
    picks = [attrs["id"] for tag, attrs in Reader(source).tags if attrs.get("name") == "pick"]
    assert picks[:2] == ["pick-all", "pick-fail"]
    assert len(picks) == 9
    for pick in picks[1:]:
        assert f"#{pick}:checked~table.cases" in source


def aims(page: Reader) -> list[str]:
    """What the page's own links point to."""
    found = [attrs["href"] or "" for tag, attrs in page.tags if tag == "a"]
    return [each[1:] for each in found if each.startswith("#")]


def test_every_link_within_the_page_has_its_one_aim(
    run: Run, hostile_run: Run, catalogue: Catalogue
) -> None:
    for each in (run, hostile_run):
        page = Reader(html_page(each, catalogue=catalogue))
        anchors = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
        assert len(anchors) == len(set(anchors))
        assert set(aims(page)) <= set(anchors)
        assert all(re.fullmatch("[A-Za-z0-9._-]+", anchor or "") for anchor in anchors)


def test_each_result_and_requirement_can_be_linked_to(run: Run, catalogue: Catalogue) -> None:
    page = Reader(html_page(run, catalogue=catalogue))
    there = {attrs["id"]: tag for tag, attrs in page.tags if "id" in attrs}
    assert there["ACC-2-accept-ipv4"] == "details"
    assert there["DUP-3-replay-ipv6"] == "tr"
    assert there["requirement-SRV-2"] == there["requirement-ACC-99"] == "tr"


def test_sources_are_links_to_their_sections() -> None:
    rfc = "https://www.rfc-editor.org/rfc/rfc7413.html"
    for source, url in (
        ("RFC 7413 section 4.2.2 steps 4-5", f"{rfc}#section-4.2.2"),
        ("RFC 7413 section 3 (2a)", f"{rfc}#section-3"),
        ("RFC 7413 appendix A.1", f"{rfc}#appendix-A.1"),
        ("RFC 7413 erratum 4239", "https://www.rfc-editor.org/errata/eid4239"),
        ("RFC 8201", "https://www.rfc-editor.org/rfc/rfc8201.html"),
    ):
        assert cited(source) == f'<a href="{url}" rel="noreferrer">{source}</a>'
    assert cited("Linux tcp(7) <b>") == "Linux tcp(7) &lt;b&gt;"


def test_what_a_cause_explains_is_folded_beneath_it(run: Run, catalogue: Catalogue) -> None:
    first, *others = (
        result("ACC-3.root", Verdict.FAIL),
        result("OPT-4.first", Verdict.INCONCLUSIVE, cause="ACC-3.root"),
        result("OPT-4.second", Verdict.FAIL, cause="OPT-4.first"),
        result("REL-1.other", Verdict.FAIL),
        result("REL-2.stray", Verdict.FAIL, cause="a rule"),
    )
    results = (*others, first)
    causes = Outline(dataclasses.replace(run, results=results)).causes(Standing.FAIL)
    assert [(each.name, len(each.results), len(each.explained)) for each in causes] == [
        ("ACC-3.root", 1, 2),
        ("a rule", 0, 1),
        ("REL-1.other", 1, 0),
    ]
    page = Reader(html_page(dataclasses.replace(run, results=results), catalogue=catalogue))
    blocks = {attrs["id"]: "open" in attrs for tag, attrs in page.tags if "id" in attrs}
    assert blocks["ACC-3.root-ipv4"]
    assert not blocks["OPT-4.second-ipv4"]
    assert page.text.index("explains 2 other results") < page.text.index("REL-1.other")


def test_causes_in_a_circle_end(run: Run) -> None:
    circle = (
        result("X-1", Verdict.FAIL, cause="X-2"),
        result("X-2", Verdict.FAIL, cause="X-1"),
        result("X-3", Verdict.FAIL, cause="X-3"),
    )
    causes = Outline(dataclasses.replace(run, results=circle)).causes(Standing.FAIL)
    placed = [each.case for cause in causes for each in (*cause.results, *cause.explained)]
    assert sorted(placed) == ["X-1", "X-2", "X-3"]


def test_the_policy_allows_our_style_and_script_alone(run: Run, catalogue: Catalogue) -> None:
    source = html_page(run, catalogue=catalogue)
    (policy,) = re.findall('Content-Security-Policy" content="([^"]*)"', source)
    rules = dict(each.split(" ", 1) for each in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for name, tag in (("style-src", "style"), ("script-src", "script")):
        (body,) = re.findall(f"<{tag}>(.*?)</{tag}>", source, re.DOTALL)
        told = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{told}'"


def test_it_needs_no_network(run: Run, catalogue: Catalogue) -> None:
    source = html_page(run, catalogue=catalogue)
    page = Reader(source)
    assert not {"link", "img", "iframe", "base", "form"} & {tag for tag, _ in page.tags}
    assert not any("src" in attrs or "style" in attrs for _, attrs in page.tags)
    assert "url(" not in source
    links = [attrs["href"] or "" for tag, attrs in page.tags if tag == "a"]
    assert all(each.startswith(("#", "https://www.rfc-editor.org/")) for each in links)


@pytest.mark.parametrize("refused", [False, True])
def test_commands_hold_no_path_of_this_machine(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    """refused: by tshark, which takes no plugin from root."""
    monkeypatch.setattr(commands, "_root_is_refused", lambda: refused)
    files = "3<tfo.lua <capture.pcapng" if refused else "-r capture.pcapng -X lua_script:tfo.lua -Y"
    place = write_all(run, tmp_path / "out")
    for name in ("report.html", "report.txt"):
        text = unescape((place / name).read_text())
        assert files in text
        assert str(tmp_path) not in text
        assert str(Path(scapy_tfo.__file__).parents[1]) not in text


def test_hostile_strings_stay_text(hostile_run: Run, catalogue: Catalogue) -> None:
    source = html_page(hostile_run, catalogue=catalogue)
    page = Reader(source)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert HOSTILE[9:20] not in source
    assert all(char.isprintable() or char == "\n" for char in source)
    source.encode("utf-8")

"""Pages recorded by a browser (HAR files)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.gain.pages.har import read_har


def entry(url: str, started: float, took: float, **more: Any) -> dict[str, Any]:
    """started, took: milliseconds. more: wait, receive, connect, type, size, initiator."""
    kind, size = more.get("type", "image/png"), more.get("size", 1000)
    plain = {
        "startedDateTime": f"2013-03-13T12:00:{started / 1000:06.3f}Z",
        "time": took,
        "request": {"url": url, "headersSize": 400, "bodySize": 0},
        "response": {
            "status": 200,
            "bodySize": size,
            "content": {"size": 3 * size, "mimeType": kind},
        },
        "timings": {
            "connect": more.get("connect", -1),
            "wait": more.get("wait", took),
            "receive": more.get("receive", 0),
        },
    }
    if "initiator" in more:
        plain["_initiator"] = more["initiator"]
    return plain


def written(tmp_path: Path, *entries: object) -> Path:
    path = tmp_path / "recorded.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": list(entries)}}))
    return path


DOCUMENT = entry(
    "http://a.test/", 0, 300, type="text/html; charset=utf-8", connect=50, wait=150, receive=100
)


def test_sizes_hosts_and_types(tmp_path: Path) -> None:
    page = read_har(written(tmp_path, DOCUMENT, entry("https://b.test:444/x.png", 310, 60)))
    assert [(each.host, each.type, each.size) for each in page.resources] == [
        ("a.test", "text/html", 1000),
        ("b.test", "image/png", 1000),
    ]
    assert page.request == 400
    assert page.resources[0].after is None


def test_the_server_thinks_for_its_wait_without_a_round_trip(tmp_path: Path) -> None:
    (first,) = read_har(written(tmp_path, DOCUMENT)).resources
    assert first.wait == pytest.approx(0.1)


def test_without_a_handshake_the_shortest_wait_is_the_round_trip(tmp_path: Path) -> None:
    others = [entry(f"http://b.test/{each}", 310, each, wait=each) for each in (40, 90)]
    page = read_har(written(tmp_path, DOCUMENT, *others))
    assert [each.wait for each in page.resources[1:]] == [0.0, pytest.approx(0.05)]


def test_what_is_asked_for_while_the_document_comes_needs_a_part_of_it(tmp_path: Path) -> None:
    page = read_har(written(tmp_path, DOCUMENT, entry("http://a.test/style", 250, 50)))
    style = page.resources[1]
    assert (style.after, style.at, style.delay) == (page.resources[0].name, 0.5, 0.0)


def test_without_an_initiator_it_comes_after_what_had_come_last(tmp_path: Path) -> None:
    script = entry("http://a.test/script", 310, 90, type="text/javascript")
    image = entry("http://a.test/image", 310, 95)
    last = entry("http://a.test/last", 420, 20)
    page = read_har(written(tmp_path, DOCUMENT, script, image, last))
    assert page.resources[3].after == page.resources[1].name
    assert page.resources[3].delay == pytest.approx(0.02)


@pytest.mark.parametrize(
    "initiator",
    [
        {"type": "parser", "url": "http://a.test/"},
        {"type": "script", "stack": {"callFrames": [{"url": "http://a.test/"}]}},
        {
            "type": "script",
            "stack": {"callFrames": [], "parent": {"callFrames": [{"url": "http://a.test/"}]}},
        },
    ],
)
def test_the_initiator_says_what_it_comes_after(tmp_path: Path, initiator: object) -> None:
    script = entry("http://a.test/script", 310, 90, type="text/javascript")
    last = entry("http://a.test/last", 420, 20, initiator=initiator)
    page = read_har(written(tmp_path, DOCUMENT, script, last))
    assert page.resources[2].after == page.resources[0].name


def test_entries_stand_in_the_order_in_which_they_were_asked_for(tmp_path: Path) -> None:
    page = read_har(written(tmp_path, entry("http://b.test/late", 400, 10), DOCUMENT))
    assert [each.host for each in page.resources] == ["a.test", "b.test"]


def test_what_came_from_the_cache_is_left_out(tmp_path: Path) -> None:
    cached = {**entry("http://b.test/", 310, 1), "_fromCache": "disk"}
    inline = entry("data:image/gif;base64,R0lGOD", 310, 1)
    assert len(read_har(written(tmp_path, DOCUMENT, cached, inline)).resources) == 1


def test_chromes_transfer_size_has_the_head_in_it(tmp_path: Path) -> None:
    sized = entry("http://b.test/", 310, 10, size=-1)
    sized["response"].update(_transferSize=5200, headersSize=200)
    assert read_har(written(tmp_path, DOCUMENT, sized)).resources[1].size == 5000


def test_what_came_after_the_load_event_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "recorded.har"
    pages = [{"id": "1", "pageTimings": {"onLoad": 400}}, {"id": "2"}]
    entries = [
        {**DOCUMENT, "pageref": "1"},
        {**entry("http://b.test/other", 100, 10), "pageref": "2"},
        {**entry("http://b.test/in", 390, 20), "pageref": "1"},
        {**entry("http://b.test/late", 410, 20), "pageref": "1"},
    ]
    path.write_text(json.dumps({"log": {"pages": pages, "entries": entries}}))
    assert len(read_har(path).resources) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("[]", "not a HAR file"),
        ('{"log": {}}', "not a HAR file"),
        ('{"log": {"entries": {}}}', "not a list"),
        ('{"log": {"entries": []}}', "no HTTP answers"),
        ('{"log": {"entries": [{}]}}', "entry 1 is damaged"),
        ('{"log": {"entries": [7]}}', "entry 1 is damaged"),
        (json.dumps({"log": {"entries": [{**DOCUMENT, "time": "soon"}]}}), "entry 1 is damaged"),
        (json.dumps({"log": {"entries": [{**DOCUMENT, "time": None}]}}), "entry 1 is damaged"),
        (json.dumps({"log": {"entries": [{**DOCUMENT, "time": 1e999}]}}), "entry 1 is damaged"),
        (json.dumps({"log": {"entries": [entry("http:///x", 0, 1)]}}), "entry 1 is damaged"),
        (
            json.dumps({"log": {"entries": [{**DOCUMENT, "startedDateTime": "yesterday"}]}}),
            "entry 1 is damaged",
        ),
    ],
)
def test_a_damaged_file(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "broken.har"
    path.write_text(content)
    with pytest.raises(SetupError, match=said):
        read_har(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="No such file"):
        read_har(tmp_path / "nowhere.har")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "broken.har"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SetupError, match="not text in UTF-8"):
        read_har(path)

"""Reads recorded pages from HTTP archives (HAR 1.2).

The format: http://www.softwareishard.com/blog/har-12-spec/
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scapy_tfo.errors import SetupError
from scapy_tfo.gain.pages.page import Page, Resource
from scapy_tfo.shape import sentence

_USUAL_REQUEST = 500
_HEAD = 300
_MOST_ENTRIES = 2000
_HOST = re.compile(r"[A-Za-z0-9._:-]{1,253}")
_NAMING = ("text/html", "text/css", "javascript", "ecmascript", "json")
"""Parts of the media types of resources that name others."""

_ENDINGS = {"html": "html", "css": "css", "script": "js", "image": "img", "font": "font"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """Times in seconds since the page's first request. first: of the answer's first byte."""

    url: str
    host: str
    type: str
    size: int
    request: int
    asked: float
    first: float
    end: float
    wait: float
    handshake: float | None
    initiator: str


def read_har(path: Path) -> Page:
    """The first page of a HAR file, loaded over plain HTTP.

    A resource comes after the one that a browser noted to have asked for it (`_initiator`), else
    after the document, script or style sheet that had come last. What was asked for after the
    page's load event (`onLoad`) is left out. The server's thinking is its wait
    without a round trip: the shortest handshake with the host, or the shortest wait. Raises
    SetupError for a file that cannot be read or is no such archive.
    """
    try:
        plain = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SetupError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise SetupError(
            f"cannot read {path}: {sentence(error)}; export the page as HAR again"
        ) from None
    entries = _entries(path, plain)
    trips = _trips(entries)
    names = {id(each): _name(number, each) for number, each in enumerate(entries)}
    resources = []
    for number, each in enumerate(entries):
        parent = _parent(entries[:number], each)
        resources.append(
            Resource(
                name=names[id(each)],
                host=each.host,
                type=each.type,
                size=each.size,
                wait=round(max(0.0, each.wait - trips[each.host]), 4),
                after=None if parent is None else names[id(parent)],
                at=1.0 if parent is None else round(_share(parent, each), 3),
                delay=0.0 if parent is None else round(max(0.0, each.asked - parent.end), 4),
            )
        )
    sizes = [each.request for each in entries if each.request > 0]
    request = round(sum(sizes) / len(sizes)) if sizes else _USUAL_REQUEST
    return Page(path.stem, path.name, request, tuple(resources))


def _entries(path: Path, plain: Any) -> list[_Entry]:
    """In the order in which they were asked for."""
    try:
        listed = plain["log"]["entries"]
        pages = plain["log"].get("pages") or [{}]
        wanted = pages[0].get("id")
        loaded = float((pages[0].get("pageTimings") or {}).get("onLoad") or 0) / 1000
    except (TypeError, KeyError, AttributeError, IndexError, ValueError):
        raise SetupError(f"{path} is not a HAR file: it has no log with entries") from None
    if not isinstance(listed, list) or len(listed) > _MOST_ENTRIES:
        raise SetupError(f"{path}: log.entries is not a list of at most {_MOST_ENTRIES}")
    found = []
    for number, each in enumerate(listed):
        try:
            if wanted is not None and each.get("pageref", wanted) != wanted:
                continue
            entry = _entry(each)
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            raise SetupError(
                f"{path}: entry {number + 1} is damaged: {sentence(error)}; export the page again"
            ) from None
        if entry is not None:
            found.append(entry)
    if not found:
        raise SetupError(f"{path} has no HTTP answers in its first page")
    found.sort(key=lambda each: each.asked)
    until = found[0].asked + loaded if loaded > 0 else math.inf
    return [each for each in found if each.asked <= until]


def _entry(plain: Mapping[str, Any]) -> _Entry | None:
    """None for one that did not go over the network."""
    url = urlsplit(plain["request"]["url"])
    response, timings = plain["response"], plain["timings"]
    if url.scheme not in ("http", "https") or not response["status"] or plain.get("_fromCache"):
        return None
    if not url.hostname or not _HOST.fullmatch(url.hostname):
        raise ValueError("a URL without a host of letters, digits, dots and hyphens")
    asked = datetime.fromisoformat(plain["startedDateTime"]).timestamp()
    end = asked + max(0.0, float(plain["time"])) / 1000
    receive = max(0.0, float(timings.get("receive") or 0)) / 1000
    connect, secure = (float(timings.get(each) or -1) for each in ("connect", "ssl"))
    handshake = (connect - max(0.0, secure)) / 1000
    if not all(map(math.isfinite, (asked, end, receive, handshake))):
        raise ValueError("an infinite time")
    return _Entry(
        url=url.geturl(),
        host=url.hostname,
        type=_media_type(response),
        size=_size(response),
        request=_request_size(plain["request"]),
        asked=asked,
        first=end - receive,
        end=end,
        wait=min(max(0.0, float(timings.get("wait") or 0)) / 1000, end - asked),
        handshake=handshake if handshake > 0 else None,
        initiator=_initiator(plain.get("_initiator") or plain.get("initiator") or {}),
    )


def _media_type(response: Mapping[str, Any]) -> str:
    kind = str(response["content"].get("mimeType") or "").split(";")[0].strip().lower()
    return kind if kind.isascii() and "/" in kind and kind.isprintable() else "text/plain"


def _size(response: Mapping[str, Any]) -> int:
    """Of the body on the wire; browsers leave out now this and now that."""
    content = response["content"]
    transferred = int(response.get("_transferSize") or 0)
    if int(response.get("bodySize", -1)) > 0:
        return int(response["bodySize"])
    if transferred > 0:
        head = int(response.get("headersSize", -1))
        return max(0, transferred - (head if head > 0 else _HEAD))
    return max(0, int(content.get("size") or 0) - max(0, int(content.get("compression") or 0)))


def _request_size(request: Mapping[str, Any]) -> int:
    size = int(request.get("headersSize", -1))
    if size > 0:
        return size + max(0, int(request.get("bodySize", 0)))
    headers = request.get("headers") or []
    return sum(len(each["name"]) + len(each["value"]) + len(": \r\n") for each in headers)


def _initiator(plain: Mapping[str, Any]) -> str:
    """The URL of the document, style sheet or script, of the innermost call that has one."""
    stack = plain.get("stack") or {}
    while stack:
        for frame in stack.get("callFrames") or []:
            if frame.get("url"):
                return str(frame["url"])
        stack = stack.get("parent") or {}
    return str(plain.get("url") or "")


def _trips(entries: Sequence[_Entry]) -> dict[str, float]:
    """The round-trip time to each host when the page was recorded, in seconds."""
    found = {}
    for host in {each.host for each in entries}:
        there = [each for each in entries if each.host == host]
        handshakes = [each.handshake for each in there if each.handshake is not None]
        found[host] = min(handshakes or [each.wait for each in there])
    return found


def _parent(before: Sequence[_Entry], entry: _Entry) -> _Entry | None:
    if not before:
        return None
    by_url = {each.url: each for each in before}
    if entry.initiator in by_url:
        return by_url[entry.initiator]
    there = [each for each in before if each.end <= entry.asked and _names_others(each)]
    return max(there, key=lambda each: each.end, default=before[0])


def _names_others(entry: _Entry) -> bool:
    return any(each in entry.type for each in _NAMING)


def _share(parent: _Entry, child: _Entry) -> float:
    """How much of the parent had come when the child was asked for."""
    if child.asked >= parent.end or parent.end <= parent.first:
        return 1.0
    return max(0.0, (child.asked - parent.first) / (parent.end - parent.first))


def _name(number: int, entry: _Entry) -> str:
    ending = next((end for part, end in _ENDINGS.items() if part in entry.type), "data")
    return f"{number + 1}.{ending}"

"""Makes a page's documents, scripts and style sheets for a browser; each names its successors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from scapy_tfo.gain.pages.page import Page, Resource

OWN = "start.test"
"""A host on the browser's side: the browser starts there, and the document reports to it."""

IMAGE = "image/gif"
_REST = 1500
"""Milliseconds."""

_DOCUMENT, _STYLE, _SCRIPT = "text/html", "text/css", "javascript"

_NAMER = """<script>function A(w,l){var d=document,t=performance.now()+w;while(performance.now()<t);
l.forEach(function(c){var e=d.createElement(c[0]),i=d.createElement("i");i.id=c[2];
if(c[0]=="link"){e.rel="stylesheet";e.href=c[1];d.body.append(i)}else e.src=c[1];d.body.append(e)})}
</script>"""
"""A(milliseconds to compute, [[element, address, id]...]): scripts call it to name others."""

_REPORTER = """<script>addEventListener("load",function(){setTimeout(function(){
var t=performance.timing;fetch("http://HOST/",{method:"POST",mode:"no-cors",body:
JSON.stringify({seconds:(t.loadEventEnd-t.navigationStart)/1000})})},0)})</script>"""

_ELEMENTS = {_DOCUMENT: "iframe", _STYLE: "link", _SCRIPT: "script", IMAGE: "img"}


def contents(page: Page) -> dict[str, tuple[float, str, str | int]]:
    """What its hosts answer: seconds to think, media type, and the body, or for an image its bytes.

    A document names others where so much of it has come; a script computes for as long as the
    first of them is delayed, and then names them; a style sheet has images behind elements. What is
    none of these is an image. A body is larger than the page says where the names need it.
    """
    named = _named(page)
    found: dict[str, tuple[float, str, str | int]] = {}
    for number, each in enumerate(page.resources):
        kind = _kind(each)
        below = named[each.name]
        body: str | int = each.size
        if kind == _DOCUMENT:
            body = _document(each, below, is_page=number == 0)
        elif kind == _STYLE:
            images = ",".join(f"url({_address(child)})" for child in below) or "none"
            body = _filled(f"#{_id(each)}{{background-image:{images}}}", "/*", "*/", each.size)
        elif kind == _SCRIPT:
            body = _filled(_script(below), "/*", "*/", each.size)
        media = "application/javascript" if kind == _SCRIPT else kind
        found[f"{each.host}/{each.name}"] = each.wait, media, body
    return found


def start_page(page: Page) -> str:
    """It goes on to the page when the browser has come to rest."""
    goal = json.dumps(f"http:{_address(page.resources[0])}")
    return (
        f'<!doctype html><link rel="icon" href="data:,"><script>'
        f"setTimeout(function(){{location.replace({goal})}},{_REST})</script>"
    )


def _named(page: Page) -> Mapping[str, list[Resource]]:
    """What each names: those after it, and those after one of them that cannot name them."""
    by_name = {each.name: each for each in page.resources}
    named: dict[str, list[Resource]] = {each.name: [] for each in page.resources}
    for each in page.resources:
        parent = by_name[each.after] if each.after else None
        while parent is not None and not _may_name(parent, each):
            parent = by_name[parent.after] if parent.after else None
        if parent is not None:
            named[parent.name].append(each)
    return named


def _may_name(parent: Resource, child: Resource) -> bool:
    kind = _kind(parent)
    if parent.after is None:
        return True
    return kind in (_DOCUMENT, _SCRIPT) or (kind == _STYLE and _kind(child) == IMAGE)


def _kind(resource: Resource) -> str:
    if resource.after is None:
        return _DOCUMENT
    for each in (_DOCUMENT, _STYLE, _SCRIPT):
        if each in resource.type:
            return each
    return IMAGE


def _document(resource: Resource, below: Sequence[Resource], *, is_page: bool) -> str:
    head = f'<!doctype html><html><head><link rel="icon" href="data:,">{_NAMER}'
    if is_page:
        head += _REPORTER.replace("HOST", OWN)
    text = f"{head}</head><body>"
    for child in sorted(below, key=lambda each: each.at):
        text = _filled(text, "<!--", "-->", int(child.at * resource.size))
        text += _tag(child)
    return _filled(text, "<!--", "-->", resource.size)


def _tag(child: Resource) -> str:
    kind, address = _kind(child), _address(child)
    if kind == _STYLE:
        return f'<link rel="stylesheet" href="{address}"><i id="{_id(child)}"></i>'
    if kind == _SCRIPT:
        return f'<script async src="{address}"></script>'
    return f'<iframe src="{address}"></iframe>' if kind == _DOCUMENT else f'<img src="{address}">'


def _script(below: Sequence[Resource]) -> str:
    if not below:
        return ""
    listed = [[_ELEMENTS[_kind(each)], _address(each), _id(each)] for each in below]
    delay = min(each.delay for each in below) * 1000
    return f"A({delay:g},{json.dumps(listed, separators=(',', ':'))});"


def _address(resource: Resource) -> str:
    return f"//{resource.host}/{resource.name}"


def _id(resource: Resource) -> str:
    return "i" + resource.name.replace(".", "-")


def _filled(text: str, begin: str, end: str, size: int) -> str:
    """With a comment up to that size, where there is room for one."""
    room = size - len(text) - len(begin) - len(end)
    return f"{text}{begin}{' ' * room}{end}" if room >= 0 else text

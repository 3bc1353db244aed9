"""Describes a page as a browser loads it: its resources, their hosts, and what each waits for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError

MODELS = ("amazon", "nytimes", "wsj", "wikipedia")
"""The included pages, modelled on those of table 1; docs/gain-pages.md says how."""

MOST_HOSTS = 250
MOST_BYTES = 100_000_000
_FOLDER = Path(__file__).with_name("models")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One request and its answer.

    name: of it, once in a page. host: that has it. type: its media type. size: bytes of the body.
    wait: seconds for which the server thinks. after: the resource that names it, None for the
    first. at: the part of that one's bytes which must have come before, 0 to 1. delay: seconds
    from then on that the browser takes to ask for it (parsing, scripts).
    """

    name: str
    host: str
    type: str
    size: int
    wait: float = 0.0
    after: str | None = None
    at: float = 1.0
    delay: float = 0.0


@dataclass(frozen=True)
class Page:
    """name, title: for the eye. request: bytes of each request with its headers. resources: the
    first is the document; what another comes after stands before it. Raises SetupError for a page
    that nobody could load."""

    name: str
    title: str
    request: int
    resources: tuple[Resource, ...]

    def __post_init__(self) -> None:
        if not self.resources:
            raise SetupError(f"page {self.name}: it has no resources")
        if len(self.hosts) > MOST_HOSTS:
            raise SetupError(f"page {self.name}: more than {MOST_HOSTS} hosts")
        if self.size > MOST_BYTES:
            raise SetupError(f"page {self.name}: more than {MOST_BYTES:,} bytes")
        known: set[str] = set()
        for each in self.resources:
            what = f"page {self.name}: resource {each.name}"
            if each.name in known:
                raise SetupError(f"{what} appears twice")
            if each.after is None and known:
                raise SetupError(f"{what} comes after none: only the first may")
            if each.after is not None and each.after not in known:
                raise SetupError(f"{what} comes after {each.after}, which is not listed before it")
            if each.size < 0 or min(each.wait, each.delay) < 0 or not 0 <= each.at <= 1:
                raise SetupError(f"{what}: size, wait, delay must be at least 0, 'at' from 0 to 1")
            known.add(each.name)

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """Each once, in the order of the first use."""
        return tuple(dict.fromkeys(each.host for each in self.resources))

    @property
    def size(self) -> int:
        """Bytes of all bodies."""
        return sum(each.size for each in self.resources)

    def plain(self) -> dict[str, Any]:
        """As `read` takes it."""
        return {
            "schema": 1,
            "name": self.name,
            "title": self.title,
            "request": self.request,
            "resources": [asdict(each) for each in self.resources],
        }


def bundled(name: str) -> Page:
    """A page of `MODELS`. Raises SetupError for another name."""
    if name not in MODELS:
        raise SetupError(f"there is no page {name!r}; there are {', '.join(MODELS)}")
    text = (_FOLDER / f"{name}.json").read_text(encoding="utf-8")
    return read(json.loads(text))


def read(plain: Mapping[str, Any]) -> Page:
    """A page from plain values."""
    resources: Sequence[Mapping[str, Any]] = plain["resources"]
    return Page(
        plain["name"],
        plain["title"],
        plain["request"],
        tuple(Resource(**each) for each in resources),
    )

"""Writes scapy_tfo/gain/pages/models/: four pages of our own making, after the paper's four.

Counts of requests, hosts and bytes are those that the CS244 reproduction's browser logged for the
pages in March 2013 (docs/gain-pages.md); how they are spread over resources is our choice, always
the same. `python tests/gain/write_page_models.py` writes them anew.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.gain.pages.page import Page, Resource

FOLDER = Path(__file__).parents[2] / "scapy_tfo" / "gain" / "pages" / "models"
LEAST = 43
"""Bytes of the smallest image there is, a beacon's."""

TYPES = {
    "html": "text/html",
    "css": "text/css",
    "js": "application/javascript",
    "img": "image/gif",
}


@dataclass(frozen=True)
class Group:
    """So many resources of a kind on a host, with so many bytes in all, asked for after one of
    another group each: when so much of it has come (the first and the last of them), and so many
    milliseconds later. wait: milliseconds of the server's."""

    name: str
    host: str
    kind: str
    count: int
    size: int
    after: str | None = None
    at: tuple[float, float] = (1.0, 1.0)
    delay: int = 0
    wait: int = 0


@dataclass(frozen=True)
class Plan:
    name: str
    title: str
    request: int
    groups: tuple[Group, ...]


def sizes(group: Group, dice: random.Random) -> list[int]:
    """Few are large and many small, as on real pages; together they have the group's size."""
    weights = [dice.lognormvariate(0, 0.8) for _ in range(group.count)]
    rest = group.size - LEAST * group.count
    found = [LEAST + int(rest * each / sum(weights)) for each in weights]
    found[0] += group.size - sum(found)
    return found


def resources(plan: Plan) -> Iterator[Resource]:
    dice = random.Random(plan.name)
    names: dict[str, list[str]] = {}
    for group in plan.groups:
        first, last = group.at
        names[group.name] = []
        for number, size in enumerate(sizes(group, dice)):
            part = first + (last - first) * number / max(1, group.count - 1)
            name = f"{group.name}-{number + 1}.{'gif' if group.kind == 'img' else group.kind}"
            parents = names[group.after] if group.after else [None]
            names[group.name].append(name)
            yield Resource(
                name=name,
                host=f"{group.host}.{plan.name}.test",
                type=TYPES[group.kind],
                size=size,
                wait=group.wait / 1000,
                after=parents[number % len(parents)],
                at=round(part, 3),
                delay=group.delay / 1000,
            )


def build(plan: Plan) -> Page:
    """In an order in which the document's resources stand as they appear in it."""
    return Page(plan.name, plan.title, plan.request, tuple(resources(plan)))


AMAZON = Plan(
    "amazon",
    "amazon.com",
    458,
    (
        Group("page", "www", "html", 1, 45_000, wait=20),
        Group("style", "static", "css", 2, 50_000, "page", (0.05, 0.1)),
        Group("top", "images", "img", 8, 130_000, "page", (0.15, 0.5)),
        Group("script", "static", "js", 3, 90_000, "page", (0.3, 0.6)),
        Group("ad", "ads-1", "js", 1, 6_000, "page", (0.7, 0.7), wait=20),
        Group("sprite", "images", "img", 10, 60_000, "style", delay=10),
        Group("stage", "www", "html", 1, 16_000, "page", (0.9, 0.9), wait=20),
        Group("banner", "cdn", "img", 1, 40_000, "ad"),
        Group("seen", "ads-2", "img", 1, LEAST, "ad"),
        Group("offer", "images", "img", 10, 100_000, "stage", (0.5, 1.0)),
        Group("product", "products", "img", 11, 45_000, "stage", delay=10),
        Group("more", "static", "js", 3, 30_000, "script", delay=20),
        Group("look", "static", "css", 1, 6_000, "script", delay=20),
        Group("icon", "images", "img", 4, 8_000, "look", delay=10),
        Group("beacon", "log", "img", 3, 3 * LEAST, "more"),
        Group("cache", "www", "html", 2, 2_000, "more"),
        Group("counter", "www", "img", 1, LEAST, "more"),
        Group("foot", "ads-1", "js", 1, 5_000, "more"),
        Group("bid", "ads-2", "html", 1, 600, "foot"),
        Group("sync", "ads-3", "html", 2, 200, "foot"),
        Group("last", "ads-4", "img", 1, 13_000, "bid"),
    ),
)

WIKIPEDIA = Plan(
    "wikipedia",
    "TCP wikipedia page",
    482,
    (
        Group("page", "www", "html", 1, 52_000, wait=20),
        Group("style", "static", "css", 2, 24_000, "page", (0.02, 0.05)),
        Group("startup", "static", "js", 1, 6_000, "page", (0.05, 0.05)),
        Group("where", "static", "js", 1, 200, "page", (0.05, 0.05)),
        Group("figure", "images", "img", 6, 40_000, "page", (0.1, 0.9)),
        Group("logo", "static", "img", 4, 9_000, "page", (0.5, 1.0)),
        Group("site", "static", "js", 2, 12_000, "page", (0.97, 1.0)),
        Group("tips", "www", "js", 1, 8_000, "page"),
        Group("jquery", "static", "js", 1, 70_000, "startup", delay=200),
        Group("modules", "static", "js", 2, 30_000, "jquery", delay=250),
        Group("icon", "images", "img", 3, 7_000, "modules", delay=100),
        Group("more", "static", "js", 2, 40_000, "modules", delay=400),
        Group("notice", "meta", "js", 1, LEAST, "modules", delay=100),
        Group("dialog", "static", "js", 1, 9_500, "more", delay=400),
        Group("seen", "meta", "img", 1, LEAST, "notice", delay=20),
    ),
)

NYTIMES = Plan(
    "nytimes",
    "nytimes.com",
    423,
    (
        Group("page", "www", "html", 1, 48_000, wait=20),
        Group("style", "css", "css", 12, 40_000, "page", (0.02, 0.1)),
        Group("top", "js", "js", 6, 110_000, "page", (0.05, 0.15)),
        Group("photo", "images-1", "img", 58, 430_000, "page", (0.2, 1.0)),
        Group("moth", "images-2", "img", 22, 120_000, "page", (0.3, 1.0)),
        Group("back", "css", "img", 14, 12_000, "style", delay=50),
        Group("font", "fonts", "js", 2, 60_000, "page", (0.1, 0.15)),
        Group("app", "js", "js", 7, 120_000, "top", delay=50),
        Group("frame", "www", "html", 5, 24_000, "app", delay=50),
        Group("market", "markets", "html", 1, 3_500, "app", delay=50),
        Group("ad", "ads-1", "html", 5, 30_000, "app", delay=50, wait=20),
        Group("video", "video-1", "js", 1, 60_000, "app", delay=50),
        Group("social", "social-1", "js", 1, 55_000, "app", delay=50),
        Group("picture", "images-1", "img", 14, 90_000, "frame", delay=50),
        Group("unit", "ads-2", "js", 2, 20_000, "ad", delay=50),
        Group("link", "ads-3", "html", 4, 30_000, "ad", delay=50),
        Group("click", "ads-4", "img", 4, 4 * LEAST, "ad", delay=50),
        Group("cache", "ads-5", "img", 2, 16_000, "link", delay=20),
        Group("look", "ads-6", "css", 1, 1_500, "link", delay=20),
        Group("show", "ads-7", "html", 2, 6_000, "unit", delay=50),
        Group("clip", "video-2", "html", 1, 9_000, "video", delay=100),
        Group("like", "social-2", "html", 1, 9_000, "social", delay=100),
        Group("like2", "social-3", "html", 1, 9_000, "social", delay=100),
        Group("meter", "meter", "html", 1, 300, "app", delay=50),
        Group("beacon", "log-1", "img", 3, 3 * LEAST, "app", delay=50),
        Group("score", "log-2", "img", 2, 2 * LEAST, "unit", delay=50),
        Group("rate", "log-3", "img", 2, 2 * LEAST, "unit", delay=50),
        Group("up", "log-4", "img", 1, LEAST, "meter"),
        Group("type", "log-5", "img", 1, LEAST, "font", delay=50),
        Group("view", "log-6", "js", 1, 2_500, "ad", delay=50),
        Group("question", "log-7", "img", 1, LEAST, "view"),
        Group("atlas", "log-8", "img", 1, 9_000, "view"),
        Group("pixel", "log-9", "img", 1, 800, "view"),
        Group("et", "log-10", "img", 1, LEAST, "app", delay=50),
        Group("third", "log-11", "img", 1, LEAST, "link", delay=20),
        Group("end", "images-1", "img", 8, 18_000, "clip", delay=50),
    ),
)

WSJ = Plan(
    "wsj",
    "wsj.com",
    548,
    (
        Group("page", "www", "html", 1, 45_000, wait=20),
        Group("style", "static-1", "css", 3, 90_000, "page", (0.05, 0.1)),
        Group("font", "fonts", "css", 1, 60_000, "page", (0.1, 0.1)),
        Group("script", "static-2", "js", 1, 210_000, "page", (0.1, 0.1)),
        Group("tag", "tags-1", "js", 2, 7_000, "page", (0.2, 0.3)),
        Group("head", "static-3", "js", 3, 70_000, "page", (0.2, 0.3)),
        Group("front-1", "images-1", "img", 9, 51_000, "script", delay=250),
        Group("front-2", "images-2", "img", 6, 76_000, "script", delay=250),
        Group("front-3", "images-3", "img", 9, 15_000, "script", delay=250),
        Group("front-4", "images-4", "img", 11, 180_000, "script", delay=250),
        Group("front-5", "images-5", "img", 4, 53_000, "script", delay=250),
        Group("call", "calls", "html", 13, 25_000, "script", delay=250, wait=20),
        Group("typeface", "fonts", "img", 1, 40_000, "font", delay=50),
        Group("logo", "static-3", "img", 1, 5_000, "head", delay=50),
        Group("ad", "ads-1", "js", 5, 40_000, "call", delay=200, wait=20),
        Group("banner", "ads-2", "js", 6, 100_000, "ad", delay=200),
        Group("social", "social-1", "js", 1, 55_000, "call", delay=200),
        Group("measure", "tags-1", "js", 2, 7_000, "call", delay=200),
        Group("bid", "ads-3", "html", 8, 3_000, "call", delay=200),
        Group("safe", "ads-4", "js", 3, 12_000, "ad", delay=200),
        Group("unit", "ads-1", "html", 6, 20_000, "ad", delay=200, wait=20),
        Group("score", "log-1", "img", 7, 9_000, "call", delay=200),
        *(
            Group(f"third-{number}", f"third-{number}", kind, 1, size, after, delay=200)
            for number, (kind, size, after) in enumerate(
                [
                    ("img", LEAST, "measure"),
                    ("js", 12_000, "measure"),
                    ("img", LEAST, "measure"),
                    ("js", 7_000, "measure"),
                    ("html", 9_000, "social"),
                    ("html", 9_000, "social"),
                    ("html", 1_200, "social"),
                    ("js", 5_000, "ad"),
                    ("html", 4_500, "ad"),
                    ("js", 1_200, "ad"),
                    ("img", 20_000, "banner"),
                    ("img", 3_000, "banner"),
                    ("js", 6_000, "banner"),
                    ("img", LEAST, "banner"),
                    ("img", 25_000, "banner"),
                    ("img", LEAST, "bid"),
                    ("html", 500, "bid"),
                    ("js", 32_000, "unit"),
                    ("img", LEAST, "unit"),
                    ("js", 18_000, "unit"),
                    ("img", 6_000, "unit"),
                    ("img", LEAST, "safe"),
                    ("html", 300, "safe"),
                    ("img", LEAST, "score"),
                    ("img", LEAST, "score"),
                    ("js", 1_200, "score"),
                ],
                1,
            )
        ),
        Group("check", "log-2", "img", 2, 2 * LEAST, "measure", delay=200),
        Group("omniture", "log-2", "img", 2, 2 * LEAST, "measure", delay=200),
    ),
)

PLANS = (AMAZON, NYTIMES, WSJ, WIKIPEDIA)


def text(page: Page) -> str:
    """As it is committed: a line for each resource."""
    plain = page.plain()
    lines = ",\n".join(f"  {json.dumps(each)}" for each in plain.pop("resources"))
    head = json.dumps(plain)[:-1]
    return f'{head}, "resources": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    for plan in PLANS:
        page = build(plan)
        (FOLDER / f"{plan.name}.json").write_text(text(page), encoding="utf-8")
        print(f"{page.title}: {len(page.resources)}, {len(page.hosts)} hosts, {page.size:,} bytes")

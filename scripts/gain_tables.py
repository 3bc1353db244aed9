"""Tables for docs/gain*.md from the files that `scapy-tfo gain --json` writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from scapy_tfo.gain.secure.ways import WAYS, less

Cell = Mapping[str, Any]
Stored = Mapping[str, Cell]
"""By experiment: its `cells`, or what else it found, and what it tells of itself."""

_NONE = "no result"
_FULL = 0.6
"""Part of a load from which on what the link takes at least is the reason."""

_AGAIN = 5
"""Segments more that are sent again with TCP, from which on they are the reason."""


def estimate(found: Cell | None, digits: int = 2) -> str:
    """A value, and how far its interval reaches."""
    if found is None:
        return _NONE
    value = found["value"]
    reach = max(found["high"] - value, value - found["low"])
    return f"{value:z.{digits}f} ±{reach:.{digits}f}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """In Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(each)} |\n" for each in lines)


def around(found: Cell) -> str:
    """What the figures were measured with, in a sentence."""
    said = f"{found['tool']}, Linux {found['kernel']}, {found['time'][:10]}"
    if found.get("clock") == "virtual":
        return f"{said}, on virtual time."
    there = found["surroundings"]
    load = f"load {there['load_before']:.1f} to {there['load_after']:.1f}"
    steal = "" if there["steal"] is None else f", steal time {there['steal']:.1%}"
    awake, cost = found["awake"], ""
    if awake["with_it"] is not None:
        with_it, without = (awake[name]["median"] * 1e6 for name in ("with_it", "before"))
        cost = f", where a wake-up costs {with_it:.0f} µs instead of {without:.0f}"
    return f"{said}; {load}{steal}; processors kept awake: {awake['way']}{cost}."


def latency(stored: Stored) -> str:
    """Round trips saved, by round-trip time and size."""
    found = stored["latency"]
    cells = {(each["rtt"], each["size"]): each for each in found["cells"] if each["rtt"]}
    sizes = sorted({size for _, size in cells})
    heads = ["RTT", *(f"{size:,} bytes" for size in sizes), f"control ({sizes[0]:,})"]
    rows = [
        [
            f"{rtt * 1000:g} ms",
            *(estimate(cells[rtt, size]["trips"]) for size in sizes if (rtt, size) in cells),
            estimate(cells[rtt, sizes[0]]["control"]),
        ]
        for rtt in sorted({rtt for rtt, _ in cells})
    ]
    return f"{table(heads, rows)}\n{around(found)}\n"


def rate(stored: Stored) -> str:
    """Transactions a second, in both clocks."""
    found = stored["rate"]
    exact = {each["rtt"]: each for each in stored.get("rate-virtual", {}).get("cells", ())}
    heads = ["RTT", "seen", "TCP", "fast open", "ratio", "model", "virtual time", "control"]
    heads += ["paper", "server's CPU per transaction, ratio"]
    rows = []
    for each in found["cells"]:
        rtt = each["rtt"]
        paper = "1.234" if rtt == 0.0001 else ""
        ideal = exact.get(rtt, {}).get("ratio")
        model = "" if each["predicted"] is None else f"{each['predicted']:.2f}"
        rows.append(
            [
                f"{rtt * 1000:g} ms" if rtt else f"0, {each['link']}",
                f"{each['measured'] * 1000:.3g} ms",
                f"{each['tcp']:,.0f}",
                f"{each['tfo']:,.0f}",
                estimate(each["ratio"]),
                model,
                "" if ideal is None else f"{ideal['value']:.2f}",
                estimate(each["control"]),
                paper,
                "" if each["cpu"] is None else estimate(each["cpu"]),
            ]
        )
    return f"{table(heads, rows)}\n{around(found)}\n"


def load(stored: Stored) -> str:
    """The server's processor time at constant rates."""
    found = stored["load"]
    heads = ["requests/s", "TCP", "fast open", "ratio for a request", "control"]
    rows = [
        [
            f"{each['rate']:,}",
            f"{each['tcp']['value']:.1%}",
            f"{each['tfo']['value']:.1%}",
            estimate(each["ratio"]),
            estimate(each["control"]),
        ]
        for each in found["cells"]
    ]
    return f"{table(heads, rows)}\n{around(found)}\n"


def cost(stored: Stored) -> str:
    """What the check of a cookie costs."""
    found = stored["cost"]
    rows = [["the paper: AES in the kernel", "", '"less than 0.3 %"']]

    def add(name: str, one: Cell | None, digits: int) -> None:
        part = "" if one is None else f"{one['value'] * 6000 / 1e7:.3f} %"
        rows.append([name, f"{estimate(one, digits)} ns" if one else _NONE, part])

    for each in found["schemes"]:
        if each["family"] == 4:
            add(f"{each['scheme']}: the cipher alone", each["raw"], 1)
            add(f"{each['scheme']}: the reference's check, in Python", each["check"], 0)
    kernel = found["kernel_cost"]
    if kernel is not None:
        add("this kernel's check (SipHash)", kernel["check"], 0)
        add("its control", kernel["control"], 0)
        add("this kernel, all work for a SYN with data", kernel["checked"], 0)
    heads = ["", "time for one", "of a core at 6,000/s"]
    return f"{table(heads, rows)}\n{around(found)}\n"


def pages(stored: Stored, name: str = "pages") -> str:
    """The seeds' table beside ours, cell by cell, in both clocks; with what explains each."""
    found = stored[name]
    exact = {
        (each["page"], each["rtt"]): each
        for each in stored.get("pages-virtual", {}).get("cells", ())
    }
    heads = ["page", "RTT", "TCP", "fast open", "sooner, %", "control, %", "virtual, %"]
    heads += ["paper, %", "CS244, %", "round trips saved: ours, virtual, paper, CS244", "why"]
    rows = []
    for each in found["cells"]:
        ideal = exact.get((each["page"], each["rtt"]))
        rows.append(
            [
                each["page"],
                f"{each['rtt'] * 1000:g} ms",
                f"{each['tcp']:.2f} s",
                f"{each['tfo']:.2f} s",
                estimate(each["percent"], 1),
                estimate(each["control"], 1),
                "" if ideal is None else estimate(ideal["percent"], 1),
                _published(each["paper"]),
                _published(each["cs244"]),
                ", ".join(_trips(one, each["rtt"]) for one in _four(each, ideal)),
                why(each),
            ]
        )
    return f"{table(heads, rows)}\n{around(found)}\n"


def _four(cell: Cell, ideal: Cell | None) -> Iterable[Cell | None]:
    for each in (cell, ideal):
        yield None if each is None or each["percent"] is None else each
    yield from (cell["paper"], cell["cs244"])


def _published(found: Cell | None) -> str:
    return "" if found is None else f"{found['percent']:.0f}"


def _trips(found: Cell | None, rtt: float) -> str:
    return "-" if found is None else f"{(found['tcp'] - found['tfo']) / rtt:.1f}"


def why(cell: Cell) -> str:
    """What makes the cell differ from the paper's, by the chain of resources that led to the last
    one, by what was sent again, and by what the bytes take on the link at least."""
    if cell["percent"] is None:
        return _NONE
    again = cell["again"]
    if again is not None and again[0] - again[1] > _AGAIN:
        return (
            f"TCP sends {again[0]:.0f} segments again, fast open {again[1]:.0f}: requests wait in "
            "the queue for longer than the timeout that a handshake of this round-trip time gives"
        )
    bound = max(cell.get("bytes_need") or 0, cell.get("requests_need") or 0)
    if bound > _FULL * cell["tcp"]:
        return f"the link is full for {bound:.2f} s of the load, whatever the handshakes take"
    paper = cell["paper"]
    if paper is None or cell["cold"] is None:
        return ""
    ours, theirs = ((each["tcp"] - each["tfo"]) / cell["rtt"] for each in (cell, paper))
    chain = f"ours opens {cell['cold']:.0f} connections one after another"
    if abs(theirs - ours) > 1:
        more = "more" if theirs > ours else "less"
        return f"the page of 2011 saved {abs(theirs - ours):.1f} round trips {more}: {chain}"
    return "as many round trips as the paper's"


def ways(stored: Stored) -> str:
    """Seconds by way, page and round-trip time, with what fast open saves in each."""
    found = stored["ways"]
    there = {(each["way"], each["page"], each["rtt"]): each["seconds"] for each in found["cells"]}
    columns = sorted(
        {(page, rtt) for _, page, rtt in there}, key=lambda each: (each[0] != "request", each)
    )
    heads = ["way", *(f"{page}, {rtt * 1000:g} ms" for page, rtt in columns)]
    rows = []
    for way in WAYS:
        row = [way.title]
        for page, rtt in columns:
            here = {(name, of): seconds for (name, of, at), seconds in there.items() if at == rtt}
            saved = less(here, way.name, page)
            gained = "" if saved is None else f" ({100 * saved:z.0f} %)"
            row.append(f"{here[way.name, page]:.2f} s{gained}" if (way.name, page) in here else "")
        rows.append(row)
    return f"{table(heads, rows)}\n{around(found)}\n"


TABLES: Mapping[str, Callable[[Stored], str]] = {
    "latency": latency,
    "rate": rate,
    "load": load,
    "cost": cost,
    "pages": pages,
    "ways": ways,
}
"""By the name of the place in the documents."""


def placed(text: str, stored: Stored) -> str:
    """The document with the tables that there are figures for, each between
    `<!-- figures: NAME -->` and `<!-- end of figures -->`; others stay as they are."""
    for name, make in TABLES.items():
        begin, end = f"<!-- figures: {name} -->\n", "<!-- end of figures -->"
        head, found, rest = text.partition(begin)
        if found and name in stored:
            _, _, tail = rest.partition(end)
            text = f"{head}{begin}{make(stored)}{end}{tail}"
    return text

"""Tables for docs/gain*.md from the files that `scapy-tfo gain --json` writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from scapy_tfo.gain.pages.published import LEAST, MOST
from scapy_tfo.gain.secure.ways import WAYS, less

_PAPERS_RATES = 2876.4, 3548.7
"""Transactions a second with TCP and with fast open (6.2)."""

_SAME = "the ratio of one round trip saved, where all else takes the same time with both"
_BESIDE = {
    "more": "a handshake takes a wake-up of the client and a packet, too",
    "less": "all else took that much longer with fast open (the paper does not say why)",
}
"""By whether more was saved than a round trip, or less."""

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
    return f"{said}; {load}{steal}; processors kept awake: {awake['way']}{cost}.{_earlier(found)}"


def _earlier(found: Cell) -> str:
    """Which cells are of a run before, if any, and under which load."""
    before: dict[tuple[str, float, float], list[str]] = {}
    for each in found.get("cells", ()):
        run = each.get("run")
        if run and run["time"] != found["time"] and run["surroundings"]:
            load = run["surroundings"]["load_before"], run["surroundings"]["load_after"]
            name = f"{each['page']} at {each['rtt'] * 1000:g} ms"
            before.setdefault((run["time"][:10], *load), []).append(name)
    return "".join(
        f" Of a run before ({day}, load {low:.1f} to {high:.1f}): {', '.join(names)}."
        for (day, low, high), names in before.items()
    )


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
    first = [each["trips_first"]["value"] for each in cells.values() if each.get("trips_first")]
    if first:
        said = f"The first byte arrives {min(first):.2f} to {max(first):.2f} round trips earlier.\n"
    else:
        said = ""
    return f"{table(heads, rows)}\n{said}{around(found)}\n{_by_a_kernel(stored)}"


def _by_a_kernel(stored: Stored) -> str:
    """What a kernel on virtual time saves of one request, in a sentence."""
    found = stored.get("latency-kernel")
    if found is None:
        return ""
    trips = [each["trips"]["value"] for each in found["cells"] if each["trips"]]
    return (
        f"\nLinux {found['kernel']} [on virtual time](#a-real-kernel-on-virtual-time) saves "
        f"{min(trips):.3f} to {max(trips):.3f} round trips in {len(trips)} such cells.\n"
    )


def ends(stored: Stored) -> str:
    """One request between other ends, round trips saved."""
    found = stored["ends"]
    columns = sorted({(each["rtt"], each["size"]) for each in found["cells"]})
    heads = ["client, server", *(f"{rtt * 1000:g} ms, {size:,} bytes" for rtt, size in columns)]
    rows = []
    for pair in dict.fromkeys((each["client"], each["server"]) for each in found["cells"]):
        there = {
            (each["rtt"], each["size"]): each
            for each in found["cells"]
            if (each["client"], each["server"]) == pair
        }
        early = sum(each["early"] for each in there.values()) / len(there)
        saved = (estimate(there[each]["trips"]) for each in columns)
        rows.append([", ".join(pair), *saved, f"{early:.0%}"])
    return f"{table([*heads, 'taken'], rows)}\n{around(found)}\n"


def rate(stored: Stored) -> str:
    """Transactions a second, in both clocks."""
    found = stored["rate"]
    exact = [
        {each["rtt"]: each["ratio"] for each in stored.get(name, {}).get("cells", ())}
        for name in ("rate-virtual", "rate-kernel")
    ]
    heads = ["RTT", "seen", "TCP", "fast open", "ratio", "model", "virtual time"]
    heads += ["a kernel on virtual time", "control", "paper", "server's CPU per transaction, ratio"]
    rows = []
    for each in found["cells"]:
        rtt = each["rtt"]
        paper = "1.234" if rtt == 0.0001 else ""
        ideal = [each.get(rtt) for each in exact]
        model = "" if each["predicted"] is None else f"{each['predicted']:.2f}"
        rows.append(
            [
                f"{rtt * 1000:g} ms" if rtt else f"0, {each['link']}",
                f"{each['measured'] * 1000:.3g} ms",
                f"{each['tcp']:,.0f}",
                f"{each['tfo']:,.0f}",
                estimate(each["ratio"]),
                model,
                *("" if one is None else f"{one['value']:.2f}" for one in ideal),
                estimate(each["control"]),
                paper,
                "" if each["cpu"] is None else estimate(each["cpu"]),
            ]
        )
    busy = [f"{each['rtt'] * 1000:g} ms" for each in found["cells"] if each["limit"] != "waiting"]
    limits = f"Client or server limit the rate at {', '.join(busy)}. " if busy else ""
    return f"{table(heads, rows)}\n{limits}{around(found)}\n"


def rate_paper(stored: Stored) -> str:
    """The paper's transactions of 0.1 ms beside ours, in both clocks, with what explains each."""
    heads = ["0.1 ms", "TCP, ms", "fast open, ms", "saved, µs", "round trip, µs", "ratio", "why"]
    rows = []
    for name, title, said in (
        ("rate-virtual", "virtual time", "nothing but round trips takes time"),
        ("rate-computing", "virtual time, and as much beside as the paper's ends take", _SAME),
        ("rate", "ours", ""),
    ):
        (each,) = (one for one in stored[name]["cells"] if one["rtt"] == 0.0001)
        rows.append(_transaction(title, each["tcp"], each["tfo"], each["measured"], said))
    rows.append(_transaction("the paper", *_PAPERS_RATES, 0.0001, ""))
    return f"{table(heads, rows)}\n{around(stored['rate'])}\n"


def _transaction(title: str, tcp: float, tfo: float, seen: float, said: str) -> list[str]:
    saved, trip = (1 / tcp - 1 / tfo) * 1e6, seen * 1e6
    if not said:
        more = "more" if saved > trip else "less"
        said = f"{abs(saved - trip):.0f} µs {more} than the round trip: {_BESIDE[more]}"
    figures = f"{1000 / tcp:.3f}", f"{1000 / tfo:.3f}", f"{saved:.0f}", f"{trip:.0f}"
    return [title, *figures, f"{tfo / tcp:.2f}", said]


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
    missed = [f"{each['rate']:,}" for each in found["cells"] if each["limit"]]
    said = f"Not reached: {', '.join(missed)} a second." if missed else "All rates were reached."
    clients = max(each["client_busy"] for each in found["cells"])
    said += f" The clients computed for {clients:.0%} of the time at most."
    return f"{table(heads, rows)}\n{said} {around(found)}\n"


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
    exact = [
        {(each["page"], each["rtt"]): each for each in _cells(stored, other)}
        for other in ("pages-virtual", "pages-kernel")
    ]
    heads = ["page", "RTT", "TCP", "fast open", "sooner, %", "control, %", "virtual, %"]
    heads += ["kernel on virtual time, %", "paper, %", "CS244, %"]
    heads += ["round trips saved: ours, virtual, kernel on virtual time, paper, CS244", "why"]
    rows = []
    for each in found["cells"]:
        ideal = [there.get((each["page"], each["rtt"])) for there in exact]
        rows.append(
            [
                *_loads(each),
                *("" if one is None else estimate(one["percent"], 1) for one in ideal),
                _published(each["paper"]),
                _published(each["cs244"]),
                ", ".join(_trips(one, each["rtt"]) for one in _all_of(each, ideal)),
                why(each),
            ]
        )
    return f"{table(heads, rows)}\n{_within(found)}{around(found)}\n"


def _loads(cell: Cell) -> list[str]:
    seconds = (f"{cell[way]:.2f} s" for way in ("tcp", "tfo"))
    shares = (estimate(cell[name], 1) for name in ("percent", "control"))
    return [cell["page"], f"{cell['rtt'] * 1000:g} ms", *seconds, *shares]


def _within(found: Cell) -> str:
    """How many cells lie within the paper's table 1, and whether fast opens were accepted."""
    there = [each["percent"]["value"] for each in found["cells"] if each["percent"]]
    inside = sum(LEAST <= round(each) <= MOST for each in there)
    said = f"{inside} of {len(there)} cells lie within the paper's {LEAST} to {MOST} %; "
    return f"{said}{min(each['early'] for each in found['cells']):.0%} of fast opens were taken.\n"


def pages_each(stored: Stored) -> str:
    """Pages with a connection for each request, as the reproduction's, in both clocks."""
    exact = stored["pages-each-virtual"]
    real = {(each["page"], each["rtt"]): each for each in _cells(stored, "pages-each")}
    heads = ["page", "RTT", "virtual: TCP", "fast open", "sooner, %", "kernel: sooner, %"]
    heads += ["control, %", "CS244, %", "connections"]
    rows = []
    for each in exact["cells"]:
        ours = real.get((each["page"], each["rtt"]))
        measured = (
            [estimate(ours[name], 1) for name in ("percent", "control")] if ours else ["", ""]
        )
        share = "no result" if each["percent"] is None else f"{each['percent']['value']:.1f}"
        rows.append(
            [
                *(*_loads(each)[:4], share, *measured, _published(each["cs244"])),
                f"{each['connections']:.0f}",
            ]
        )
    said = f"\n{around(stored['pages-each'])}" if real else ""
    return f"{table(heads, rows)}\n{around(exact)}{said}\n"


def _cells(stored: Stored, name: str) -> Sequence[Cell]:
    found: Sequence[Cell] = stored[name]["cells"] if name in stored else ()
    return found


def pages_browser(stored: Stored) -> str:
    """Pages in Chromium."""
    found = stored["pages-browser"]
    heads = ["page", "RTT", "TCP", "fast open", "sooner, %", "control, %", "connections", "why"]
    rows = [[*_loads(each), f"{each['connections']:.0f}", why(each)] for each in found["cells"]]
    return f"{table(heads, rows)}\n{_within(found)}{around(found)}\n"


def _all_of(cell: Cell, ideal: Iterable[Cell | None]) -> Iterable[Cell | None]:
    for each in (cell, *ideal):
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


NEEDS = {
    "rate-paper": ("rate", "rate-virtual", "rate-computing"),
    "pages-each": ("pages-each-virtual",),
}
"""Experiments that a table is made from, where not that of its name."""

TABLES: Mapping[str, Callable[[Stored], str]] = {
    "latency": latency,
    "ends": ends,
    "rate": rate,
    "rate-paper": rate_paper,
    "load": load,
    "cost": cost,
    "pages": pages,
    "pages-each": pages_each,
    "pages-browser": pages_browser,
    "ways": ways,
}
"""By the name of the place in the documents."""


def placed(text: str, stored: Stored) -> str:
    """The document with the tables that there are figures for, each between
    `<!-- figures: NAME -->` and `<!-- end of figures -->`; others stay as they are."""
    for name, make in TABLES.items():
        begin, end = f"<!-- figures: {name} -->\n", "<!-- end of figures -->"
        head, found, rest = text.partition(begin)
        if found and all(each in stored for each in NEEDS.get(name, (name,))):
            _, _, tail = rest.partition(end)
            text = f"{head}{begin}{make(stored)}{end}{tail}"
    return text

"""Measures page load times with and without fast open, over the paper's link (table 1)."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import islice
from statistics import fmean, median
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.gain.link import carrier
from scapy_tfo.gain.link_shape import PAPERS, Line
from scapy_tfo.gain.measuring.control import PERCENT, refusal
from scapy_tfo.gain.measuring.estimate import Estimate, ratio
from scapy_tfo.gain.measuring.rounds import Budget, Tell, Until, blocks, progress
from scapy_tfo.gain.pages.browser import browse, find_browser
from scapy_tfo.gain.pages.content import contents
from scapy_tfo.gain.pages.hosts import PORT, Answers, PageHosts
from scapy_tfo.gain.pages.page import MODELS, Page, bundled
from scapy_tfo.gain.pages.published import CS244, LEAST, MOST, PAPER, Published

RTTS = (0.02, 0.1, 0.2)
TIMES = 20
PARALLEL, WINDOW = 6, 3
WAYS = ("tcp", "tfo", "control")
_PATIENCE, _TRIPS = 60.0, 50
_PAUSE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """pages: to load. rtts: of the link, in seconds. times: loads of each way. precision:
    see `Until`, in percent. most_time: seconds for all cells, None for any time. seed: of the order
    of the ways. persistent: are
    connections kept for further requests? line: all else of the link. parallel: connections to a
    host at a time. window: segments of the servers' initial window, None for the kernel's own.
    browser: Chromium loads the pages."""

    pages: Sequence[str] = MODELS
    rtts: Sequence[float] = RTTS
    times: int = TIMES
    precision: float | None = None
    most_time: float | None = None
    seed: int = 0
    persistent: bool = True
    line: Line = PAPERS
    parallel: int = PARALLEL
    window: int | None = WINDOW
    browser: bool = False

    @property
    def until(self) -> Until:
        """When a cell has had enough loads."""
        return Until(rounds=self.times, precision=self.precision, seconds=self.most_time)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One load. way: tcp, tfo or control. seconds: until the last byte of the last resource.
    connections: opened; early: those whose request was accepted in the SYN. cold: connections
    opened one after another on the way to the last resource; opening: seconds that they took to
    open; think: seconds that server and browser thought there. again: segments that the browser's
    side sent again. congestion: the server's congestion control.
    link: who made it. With Chromium cold, opening, think
    and again are not known, and seconds are what it tells."""

    page: str
    rtt: float
    way: str
    seconds: float
    bytes: int
    connections: int
    early: int
    cold: int | None = None
    opening: float | None = None
    think: float | None = None
    again: int | None = None
    congestion: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One page at one round-trip time. tcp, tfo: mean seconds, as the papers give them. percent:
    how much less a load takes with fast open; control: TCP against itself. connections: of a load
    with TCP; early: the part of fast opens that were accepted. cold, opening, think: medians with
    TCP, as in `Load`; again: means with TCP and with fast open. paper, cs244: what they had. why:
    where ours lies outside the paper's range, or "". refused: why `percent` is no result, "" where
    it is one; it is None where it is withheld for that."""

    page: str
    title: str
    rtt: float
    loads: int
    tcp: float
    tfo: float
    percent: Estimate | None
    control: Estimate
    connections: float
    early: float
    cold: float | None
    opening: float | None
    think: float | None
    again: tuple[float, float] | None
    paper: Published | None
    cs244: Published | None
    why: str
    refused: str = ""


def all_pages(plan: Plan, recorded: Sequence[Page] = ()) -> list[Page]:
    """The pages of a plan, and those that were recorded. Raises SetupError where two have the same
    name, by which their loads are told apart."""
    found = [*(bundled(name) for name in plan.pages), *recorded]
    if len({each.name for each in found}) < len(found):
        raise SetupError("two pages have the same name: rename the recorded file")
    return found


def measure(plan: Plan, pages: Sequence[Page], tell: Tell = str) -> Iterator[Load]:
    """Load after load; for each page and round-trip time in blocks of the ways, in a random order
    within each. tell: hears how a cell narrows. Raises SetupError and TargetError."""
    budget = Budget(until=plan.until, cells=len(pages) * len(plan.rtts))
    if plan.browser:
        find_browser()
    link = carrier(plan.line)
    for page in pages:
        answers = contents(page) if plan.browser else answers_of(page)
        with PageHosts(page, answers, plan.window, link) as hosts:
            for rtt in plan.rtts:
                hosts.shape(*plan.line.shapes(rtt))
                budget.begin()
                where = f"{page.title}, {rtt * 1000:g} ms"
                common: dict[str, Any] = {"link": link, "congestion": hosts.congestion}
                kept: list[Load] = []
                with closing(_loads(plan, page, rtt, hosts)) as loads:
                    for told in loads:
                        kept.append(Load(page=page.name, rtt=rtt, **common, **told))
                        yield kept[-1]
                        rounds, left = divmod(len(kept), len(WAYS))
                        if not left:
                            known = _known_so_far(kept)
                            tell(f"{where}: {progress(rounds, *known)}")
                            if budget.enough(rounds, *known):
                                break


def _known_so_far(loads: Sequence[Load]) -> tuple[Estimate, Estimate]:
    tcp, tfo, control = ([each.seconds for each in loads if each.way == way] for way in WAYS)
    return _percent(tfo, tcp), _percent(control, tcp)


def cells(plan: Plan, pages: Sequence[Page], loads: Sequence[Load]) -> list[Cell]:
    """What the loads say; those of a turn that was broken off are left out. Raises SetupError."""
    found = []
    for page in pages:
        for rtt in plan.rtts:
            by_way = {
                way: [
                    each
                    for each in loads
                    if (each.page, each.rtt, each.way) == (page.name, rtt, way)
                ]
                for way in WAYS
            }
            whole = min(len(each) for each in by_way.values())
            if whole:
                kept = {way: those[:whole] for way, those in by_way.items()}
                found.append(_cell(plan, page, rtt, kept))
    return found


def _loads(plan: Plan, page: Page, rtt: float, hosts: PageHosts) -> Generator[dict[str, Any]]:
    work, patience = work_of(plan, page, rtt), _patience(plan, page, rtt)
    if not plan.browser:
        yield from hosts.load(work, patience)
        return
    # For the cookies.
    list(hosts.load({**work, "times": 0}, patience))
    orders = islice(blocks(WAYS, plan.seed), plan.until.most)
    yield from browse(hosts, page, orders, work["pause"], patience)


def answers_of(page: Page) -> Answers:
    """What the hosts of a page answer to the loader, for server.py."""
    return {
        f"{each.host}/{each.name}": (each.wait, each.type, each.size) for each in page.resources
    }


def work_of(plan: Plan, page: Page, rtt: float) -> dict[str, Any]:
    """What the loader is given, but for the addresses; see loader.py."""
    return {
        "resources": [asdict(each) for each in page.resources],
        "port": PORT,
        "request": page.request,
        "persistent": plan.persistent,
        "parallel": plan.parallel,
        "ways": WAYS,
        "times": plan.until.most,
        "seed": plan.seed,
        # What is under way of one load must not meet the next.
        "pause": _PAUSE + 2 * rtt,
    }


def _patience(plan: Plan, page: Page, rtt: float) -> float:
    slowest = min(plan.line.down or 1e9, 8 * (plan.line.up or 1e9))
    think = sum(each.wait + each.delay for each in page.resources)
    return _PATIENCE + 3 * page.size * 8 / slowest + _TRIPS * rtt + think


def _cell(plan: Plan, page: Page, rtt: float, loads: Mapping[str, Sequence[Load]]) -> Cell:
    seconds = {way: [each.seconds for each in those] for way, those in loads.items()}
    percent, control = (_percent(seconds[way], seconds["tcp"]) for way in WAYS[1:])
    opened = sum(each.connections for each in loads["tfo"])
    cell = Cell(
        page=page.name,
        title=page.title,
        rtt=rtt,
        loads=len(seconds["tcp"]),
        tcp=fmean(seconds["tcp"]),
        tfo=fmean(seconds["tfo"]),
        percent=percent,
        control=control,
        connections=fmean(each.connections for each in loads["tcp"]),
        early=sum(each.early for each in loads["tfo"]) / max(1, opened),
        cold=_known(each.cold for each in loads["tcp"]),
        opening=_known(each.opening for each in loads["tcp"]),
        think=_known(each.think for each in loads["tcp"]),
        again=_again(loads),
        # A recorded page may be called the same, and is another.
        paper=PAPER.get((page.name, rtt)) if page.name in plan.pages else None,
        cs244=CS244.get((page.name, rtt)) if page.name in plan.pages else None,
        why="",
        refused=refusal(percent, control, PERCENT),
    )
    inside = LEAST <= round(percent.value) <= MOST
    return cell if inside else replace(cell, why=_why(plan, page, cell))


def _known(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return median(known) if known else None


def _again(loads: Mapping[str, Sequence[Load]]) -> tuple[float, float] | None:
    tcp, tfo = ([each.again for each in loads[way] if each.again is not None] for way in WAYS[:2])
    return (fmean(tcp), fmean(tfo)) if tcp and tfo else None


def _percent(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    found = ratio(ours, theirs)
    return Estimate(100 * (1 - found.value), 100 * (1 - found.high), 100 * (1 - found.low))


def _why(plan: Plan, page: Page, cell: Cell) -> str:
    """From what is known of the chain of resources that led to the last one."""
    if cell.early < 1:
        return f"only {cell.early:.0%} of the fast opens were accepted in the SYN"
    said = []
    if cell.cold is not None and cell.opening is not None and cell.think is not None:
        plain = cell.cold * cell.rtt
        queued = ", since they wait in the link's queues" if cell.opening > 2 * plain else ""
        said = [
            f"{cell.cold:g} connections opened one after another ({plain * 1000:.0f} ms of round "
            f"trips) take {cell.opening * 1000:.0f} ms{queued}",
            f"{cell.think:.2f} s are thinking",
        ]
    if cell.again is not None and cell.again[0] >= 1:
        said.append(
            f"{cell.again[0]:.0f} segments are sent again, {cell.again[1]:.0f} with fast open"
        )
    if plan.line.down is not None:
        said.append(f"the bytes need {page.size * 8 / plan.line.down:.2f} s at least")
    if plan.line.up is not None:
        asked = page.request * len(page.resources)
        said.append(f"the requests {asked * 8 / plan.line.up:.2f} s")
    return f"of {cell.tcp:.2f} s, {', '.join(said)}"

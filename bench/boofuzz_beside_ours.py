"""Compares how fast boofuzz, our boofuzz session and a campaign send single SYNs to one kernel.

    python bench/boofuzz_beside_ours.py [SECONDS]      (default: 5 for each)

The target is this kernel in a namespace of its own, and all reach it through the same device, the
lab's TUN device. All send the SYNs of our volleys:

- boofuzz, at its fastest settings, with a SYN made of its primitives: it fuzzes the whole TCP
  header, and takes option blocks and text from our volleys;
- boofuzz, given finished packets, so that it has nothing to build, to fuzz or to checksum;
- our boofuzz session, every case in boofuzz's database;
- a campaign with its store.

boofuzz alone does not read the replies, and keeps no case that passes. The other two build each
probe, check each answer, and keep their findings. Without boofuzz, or the right to make
namespaces, it measures nothing.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.executor.live.addresses import Range, clients_of
from scapy_tfo.executor.live.bench import LiveBench
from scapy_tfo.executor.live.volley import SIZE
from scapy_tfo.fuzz.boofuzz.cases import FAST_OPEN, VOLLEY, valid
from scapy_tfo.fuzz.campaign.campaign import Campaign
from scapy_tfo.fuzz.campaign.liveness import Patient
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.findings.totals import Part
from scapy_tfo.fuzz.generation.grammar import program_for
from scapy_tfo.fuzz.generation.plan import Plan
from scapy_tfo.lab.bulk.target import BulkLab
from scapy_tfo.program.program import CLIENTS
from scapy_tfo.segment import ACK, RST, SYN, internet_checksum

SECONDS = 5.0
WANTED = 30
"""Times as many probes a second as boofuzz."""

_SMALLEST_BATCH = 8
_VOLLEYS = 8
_GUESS = 1000.0
"""Probes a second of boofuzz, for the first try."""

_TRIES = 4

_NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Speed:
    """probes, and the seconds that passed, and those of this process's own time."""

    probes: int
    wall: float
    own: float

    def line(self, what: str, slowest: Speed) -> str:
        wall, own = self.probes / self.wall, self.probes / self.own
        return (
            f"{what:34} {self.probes:>9,} probes {wall:>9,.0f} a second"
            f" ({own:>9,.0f} a second of our CPU time)"
            f"   x {wall / (slowest.probes / slowest.wall):.1f}"
        )


class Recorder:
    """A batch that keeps the SYNs sent through it, as many as are wanted."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self.wanted = 0
        self.kept: list[bytes] = []

    def exchange(self, packets: Iterable[bytes]) -> list[bytes]:
        sent = list(packets)
        if len(self.kept) < self.wanted:
            self.kept += filter(_is_syn, sent)
        came: list[bytes] = self._batch.exchange(sent)
        return came

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)


def _is_syn(packet: bytes) -> bool:
    flags = packet[(20 if packet[0] >> 4 == 4 else 40) + 13]
    return flags & (SYN | RST | ACK) == SYN


def main(arguments: list[str]) -> int:
    """Measure and print; 2 if nothing can be measured."""
    try:
        importlib.import_module("boofuzz")
        seconds = float(arguments[0]) if arguments else SECONDS
        lab = BulkLab.start()
    except (ImportError, SetupError, ValueError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 2
    try:
        beside(lab, seconds)
        return 0
    except TargetError as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 2
    finally:
        lab.close()


def beside(lab: BulkLab, seconds: float) -> None:
    """All of them, boofuzz last: it leaves half-open connections behind."""
    recorder = Recorder(lab.batch)
    families = tuple(lab.addresses)
    sources = lab.batch.sources
    at = Range(
        recorder,
        clients_of(sources, families),
        clients_of(sources, families, CLIENTS),
        lab.addresses,
        lab.ports,
    )
    bench = LiveBench("lab:linux", at, counters=lab.counters, ails=lab.ails, close=lambda: None)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        campaign = enough(seconds, 40_000, lambda probes: native(bench, place, probes))
        session = enough(seconds, 20_000, lambda probes: ours(bench, place, probes))
        packets = recorded(bench, recorder)
        postman, stock = (
            enough(
                seconds,
                _GUESS,
                lambda probes, made=made: boofuzz_alone(recorder, place, made(packets), probes),
            )
            for made in (finished, whole_header)
        )
    print(stock.line("boofuzz, a SYN of its primitives", stock))
    print(postman.line("boofuzz, given finished packets", stock))
    print(session.line("our boofuzz session", stock))
    print(campaign.line("a campaign, store on", stock))
    ratio = (campaign.probes / campaign.wall) / (stock.probes / stock.wall)
    own = (campaign.probes / campaign.own) / (stock.probes / stock.own)
    print(
        f"{ratio:.1f} times boofuzz by the clock, {own:.1f} times by our own CPU time;"
        f" the goal is {WANTED}"
    )


def enough(seconds: float, guess: float, run: Callable[[int], Speed]) -> Speed:
    """The speed of a run that takes about so many seconds; what comes before it only tells how
    many probes that are. guess: probes a second, for the first try."""
    speed = run(int(guess * seconds / 5))
    for _ in range(_TRIES):
        if speed.wall > seconds * 0.7:
            break
        again = run(int(min(speed.probes / speed.wall * seconds, speed.probes * 5)))
        has_no_more = again.probes <= speed.probes
        speed = again
        if has_no_more:
            break
    return speed


def timed(run: Callable[[], int]) -> Speed:
    wall, own = time.perf_counter(), time.process_time()
    probes = run()
    return Speed(probes, time.perf_counter() - wall, time.process_time() - own)


def native(bench: LiveBench, place: Path, probes: int) -> Speed:
    """A campaign of few programs and many volleys; the time is what its store has for those."""
    plan = Plan(
        target="lab:linux",
        profile=bench.profile.name,
        grammar="1",
        live=True,
        batch=_SMALLEST_BATCH,
        volleys=_VOLLEYS,
        mutate=False,
    )
    path = place / f"campaign-{probes}.sqlite"
    store = Store.create(path, plan)
    batches = max(1, probes // (_VOLLEYS * SIZE))
    greeting = valid(FAST_OPEN)
    campaign = Campaign(
        store,
        lambda *_: greeting,
        bench,
        lambda: bench,
        programs=batches * _SMALLEST_BATCH,
    )
    try:
        spent = timed(lambda: _ran(campaign))
        rows = [row for row in store.rows("sent") if row["part"] == Part.VOLLEYS]
    finally:
        store.close()
    return Speed(
        sum(row["singles"] for row in rows), sum(row["seconds"] for row in rows), spent.own
    )


def _ran(campaign: Campaign) -> int:
    campaign.run()
    return 0


def ours(bench: LiveBench, place: Path, probes: int) -> Speed:
    """The volleys of our boofuzz session."""
    from scapy_tfo.fuzz.boofuzz.session import Campaign as Session
    from scapy_tfo.fuzz.boofuzz.session import Wishes

    plan = Plan(target="lab:linux", profile=bench.profile.name, grammar="1", live=True)
    cases = max(1, probes // SIZE)
    session = Session(
        plan,
        program_for,
        Patient(lambda: bench, bench),
        place / f"session-{probes}.db",
        Wishes(cases=cases, node=VOLLEY),
        fires=True,
    )

    def run() -> int:
        session.run()
        return cases * SIZE

    return timed(run)


def recorded(bench: LiveBench, recorder: Recorder) -> list[bytes]:
    """The packets of some volleys."""
    recorder.wanted = 64 * SIZE
    seed = 0
    while len(recorder.kept) < recorder.wanted:
        bench.volley(seed)
        seed += 1
    recorder.wanted = 0
    return recorder.kept


def finished(packets: list[bytes]) -> Any:
    """A request whose mutations are packets as they stand."""
    import boofuzz

    return boofuzz.Request("syn", children=(boofuzz.Group("packet", values=list(packets)),))


def whole_header(packets: list[bytes]) -> Any:
    """A request for a TFO SYN over IPv4, each field of its TCP header an element of its own."""
    import boofuzz as b

    ours = [each for each in packets if each[0] >> 4 == 4]
    first = ours[0]
    pseudo = first[12:20] + b"\0\x06"

    def head(name: str, value: int, size: int, **more: Any) -> Any:
        kind = {1: b.Byte, 2: b.Word, 4: b.DWord}[size]
        return kind(name, value, endian=">", **more)

    def tcp_checksum(segment: bytes) -> bytes:
        return internet_checksum(pseudo + len(segment).to_bytes(2, "big") + segment).to_bytes(
            2, "big"
        )

    def ip_checksum(header: bytes) -> bytes:
        return internet_checksum(header).to_bytes(2, "big")

    options = dict.fromkeys(each[40 : 20 + (each[32] >> 4) * 4] for each in ours)
    texts = dict.fromkeys(each[20 + (each[32] >> 4) * 4 :] for each in ours)
    ip = b.Block(
        "ip",
        children=(
            b.Static("version", b"\x45\0"),
            b.Size("total", "syn", length=2, endian=">", fuzzable=False),
            b.Static("middle", first[4:10]),
            b.Checksum("sum", "ip", algorithm=ip_checksum, length=2, fuzzable=False),
            b.Static("ends", first[12:20]),
        ),
    )
    tcp = b.Block(
        "tcp",
        children=(
            head("sport", 20000, 2),
            b.Static("dport", first[22:24]),
            head("seq", 1, 4),
            head("ack", 0, 4),
            b.Size(
                "offset", "options", length=1, endian=">", math=lambda size: (20 + size) // 4 << 4
            ),
            head("flags", SYN, 1),
            head("window", 65535, 2),
            b.Checksum("sum", "tcp", algorithm=tcp_checksum, length=2),
            head("urgent", 0, 2),
            b.Block("options", children=(b.Group("block", values=list(options)),)),
            b.Group("text", values=list(texts)),
        ),
    )
    return b.Request("syn", children=(ip, tcp))


def boofuzz_alone(recorder: Recorder, place: Path, request: Any, probes: int) -> Speed:
    """So many cases of a request, with nothing but boofuzz around it."""
    import boofuzz
    from boofuzz.connections import ITargetConnection

    class Device(ITargetConnection):
        info = "the lab's device"

        def open(self) -> None: ...

        def close(self) -> None: ...

        def send(self, data: bytes) -> int:
            recorder.exchange((data,))
            return len(data)

        def recv(self, max_bytes: int) -> bytes:
            return b""

    session = boofuzz.Session(
        target=boofuzz.Target(connection=Device()),
        db_filename=str(place / f"{id(request)}-{probes}.db"),
        index_end=probes,
        web_port=None,
        fuzz_loggers=[],
        fuzz_db_keep_only_n_pass_cases=1,
        receive_data_after_each_request=False,
        receive_data_after_fuzz=False,
        reuse_target_connection=True,
        restart_sleep_time=0,
        crash_threshold_request=_NEVER,
        crash_threshold_element=_NEVER,
    )
    session.connect(request)

    def run() -> int:
        session.fuzz(max_depth=1)
        return int(session.num_cases_actually_fuzzed)

    return timed(run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

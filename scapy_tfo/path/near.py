"""Opens the connections that show what a path does, from the harmless to the risky."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from scapy_tfo.path import sizes
from scapy_tfo.path.observation import Heard, Observations, Probe, Sighting, Trial
from scapy_tfo.path.prober import Opening, Prober
from scapy_tfo.reference.options import DEFAULT_MSS
from scapy_tfo.runner.shared_keys import COOKIES, REQUESTS, TRIED
from scapy_tfo.segment import Address, Segment

TIMES = 3
"""Connections of a sort: what befalls all of them is no chance loss."""

STAGGER = 0.01
"""Seconds between the beginnings of two connections: each is to be timed by itself."""

SETTLES = 3.5
"""Seconds in which what a path holds back arrives, before the far end is asked."""

NO_COOKIE = bytes.fromhex("7413f0074dc0ffee")
"""Sent where no cookie came: what the path does to a cookie shows all the same."""

Report = Callable[[], Awaitable[tuple[Sequence[Sighting], Sequence[Heard]] | None]]
"""What the far end saw and its applications read; None where it cannot be asked."""


async def nobody() -> None:
    """The report of a far end without an agent."""


async def observe(
    prober: Prober,
    server: Address,
    port: int,
    *,
    mirror: int = 0,
    report: Report = nobody,
    echoes: bool = True,
    requests: int = REQUESTS,
    between: Callable[[], None] = lambda: None,
) -> Observations:
    """Have all the connections of a run.

    port: of the server. mirror: see far.MIRROR, 0 for none. echoes: the server sends back what
    it is sent.
    """
    trials: list[Trial] = []

    async def have(*openings: Opening, to: int = port) -> list[Trial]:
        async def one(turn: int, opening: Opening) -> Trial:
            await asyncio.sleep(turn * STAGGER)
            return await prober.connect(to, opening)

        done = await asyncio.gather(*(one(*each) for each in enumerate(openings)))
        trials.extend(done)
        return done

    plain = await have(*[Opening(Probe.PLAIN)] * TIMES)
    mss = next((found for each in plain if (found := _mss(each)) is not None), None)
    if mss is not None:
        asked = [have(*[Opening(Probe.REQUEST)] * requests)]
        asked.append(have(*[Opening(Probe.REQUEST_254)] * TIMES))
        if mirror:
            asked.append(have(*[Opening(Probe.MIRROR)] * TIMES, to=mirror))
        await asyncio.gather(*asked)
        between()
        cookies = granted(trials)[:COOKIES] or [NO_COOKIE]
        some = [Opening(Probe.COOKIE, cookies[0], mss)] * TIMES
        await have(*some)
        if granted(trials):
            await sizes.try_cookies(have)
        await have(*_with_data(cookies, granted(trials, Probe.REQUEST_254), mss))
        await sizes.narrow(have, trials, cookies[0], mss)
        if any(len(_syns(each)) > 1 for each in trials):
            await asyncio.sleep(prober.patience.late)
        await have(*[Opening(Probe.AFTERWARDS)] * TIMES)
    if mirror:
        await asyncio.sleep(SETTLES)
    closed = prober.now()
    told = await report()
    far, heard = told if told is not None else (None, ())
    return Observations(
        server=server, trials=trials, far=far, heard=heard, echoes=echoes, closed=closed
    )


def _with_data(cookies: Sequence[bytes], others: Sequence[bytes], mss: int) -> list[Opening]:
    """Connections whose SYN has data. others: cookies of kind 254."""
    times = TIMES if len(cookies) == 1 else TRIED // len(cookies)
    return [
        *[Opening(Probe.DATA, mss=mss)] * TIMES,
        *[Opening(Probe.FAST_OPEN, each, mss) for each in cookies for _ in range(times)],
        *[Opening(Probe.FAST_OPEN_FULL, cookies[0], mss)] * TIMES,
        *[Opening(Probe.FAST_OPEN_254, each, mss) for each in others[:1] for _ in range(TIMES)],
    ]


def _syns(trial: Trial) -> list[Segment]:
    sent = [each.segment for each in trial.near if each.sent]
    return [each for each in sent if each is not None and each.is_syn]


def granted(trials: Sequence[Trial], probe: Probe = Probe.REQUEST) -> list[bytes]:
    """The different cookies that came for requests of a kind, in the order of their coming."""
    found: dict[bytes, None] = {}
    for each in trials:
        if each.probe is probe:
            found |= dict.fromkeys(filter(None, (one.cookie for one in syn_acks(each))))
    return list(found)


def syn_acks(trial: Trial) -> list[Segment]:
    """Those that came, in order."""
    came = [each.segment for each in trial.near if not each.sent]
    return [each for each in came if each is not None and each.is_syn_ack]


def _mss(trial: Trial) -> int | None:
    """Of the first SYN-ACK, in bytes; None where none came."""
    found = syn_acks(trial)
    return found[0].mss or DEFAULT_MSS[found[0].src.version] if found else None

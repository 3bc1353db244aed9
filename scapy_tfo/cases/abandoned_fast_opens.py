"""RFC 7413 sections 4.2 and 5.1: fast opens that are abandoned, time out, or are aborted give
their place in the count back in time. How long that takes is left open.
"""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo.cases.resets_and_the_limit import accepted_by_the_application
from scapy_tfo.icmp import unreachable
from scapy_tfo.segment import RST
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Unsupported, WasReset
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

LIMIT = 4
LATER = 30
"""Seconds between two resets: less than the minute for which they count on Linux."""

TIMEOUT = 240
"""Seconds: RFC 9293 wants a SYN retransmitted for three minutes, and a SYN-ACK may be."""
LONGEST = 900
"""Seconds for a target that still repeats its SYN-ACK."""
STEP = 10
SOON = 2
"""Seconds by which one timer may be later than another."""


def nothing(flow: Flow) -> None:
    """Abandon it."""


def reset(flow: Flow) -> None:
    flow.send(RST)


def complain(flow: Flow) -> None:
    """Port unreachable, which may end it (RFC 1122 section 4.2.3.9)."""
    for each in flow.heard:
        flow.send_icmp(unreachable(each.to_bytes(), code=3 if each.src.version == 4 else 4))


async def renewed(peer: Peer, service: Service, cookie: bytes) -> bytes:
    """A cookie of now, since one may expire while we wait (RFC 7413 section 4.1.2); that one where
    none is granted, as by a target whose limit is reached."""
    try:
        return await peer.cookie(service)
    except Unsupported:
        return cookie


async def is_taken(peer: Peer, service: Service, cookie: bytes) -> bool:
    """Whether a fast open is accepted, which an application that aborts may answer with RST.

    Where it falls back, the application has it after the handshake only, and a SYN-ACK comes.
    """
    try:
        return await peer.accepts(await renewed(peer, service, cookie), service)
    except WasReset:
        return True


async def left_pending(peer: Peer, service: Service, cookie: bytes) -> list[Flow]:
    """Fast opens up to the limit, without those that a RST has answered."""
    pending: list[Flow] = []
    for _ in range(LIMIT):
        try:
            more = await peer.fill(service, most=1, cookie=cookie)
        except WasReset:
            continue
        if not more:
            break
        pending += more
    return pending


async def places_come_back(peer: Peer, app: str, end: Callable[[Flow], None], rounds: int) -> None:
    """End fast opens, up to the limit in each round; a valid cookie works again in time."""
    service = await peer.listen(app, queue=LIMIT)
    cookie = await peer.cookie(service)
    for _ in range(rounds):
        for flow in await left_pending(peer, service, cookie):
            end(flow)
        await peer.wait(0.2)
    held, answers = tuple(peer.flows), 0
    waited = last = 0
    # Where the timers begin at three seconds, the eighth runs out after twelve minutes.
    while waited < max(TIMEOUT, min(2 * last + 2 * STEP, LONGEST)):
        if await is_taken(peer, service, cookie):
            peer.record("seconds until a cookie works again, at most", waited)
            return
        await peer.wait(STEP)
        waited += STEP
        if (heard := sum(len(flow.heard) for flow in held)) > answers:
            answers, last = heard, waited
    await peer.open(service, cookie=await renewed(peer, service, cookie))


@case("AFT-10", needs=["listeners"], intrusive=True, slow=True)
async def abandoned_ones_give_their_places_back(peer: Peer) -> None:
    """Fast opens that never get an ACK time out, and a valid cookie works again."""
    await places_come_back(peer, "echo", nothing, 1)


@case("AFT-10", needs=["listeners"], intrusive=True, slow=True)
async def unanswered_ones_give_their_places_back(peer: Peer) -> None:
    """Fast opens without an ACK, to an application that is silent, give their places back."""
    await places_come_back(peer, "mute", nothing, 1)


@case("AFT-10", needs=["listeners"], intrusive=True, slow=True)
async def closed_ones_give_their_places_back(peer: Peer) -> None:
    """Fast opens that the application wrote to and closed, and that never get an ACK."""
    await places_come_back(peer, "send-close:5000", nothing, 1)


@case("AFT-10", needs=["listeners"], intrusive=True, slow=True)
async def reset_ones_give_their_places_back(peer: Peer) -> None:
    """Fast opens that the client resets before its ACK: a valid cookie works again in time."""
    await places_come_back(peer, "echo", reset, 3)


@case("AFT-10", needs=["listeners"], intrusive=True, slow=True)
async def ones_aborted_by_the_application_give_their_places_back(peer: Peer) -> None:
    """Fast opens that the application resets, three times the limit."""
    await places_come_back(peer, "abort", nothing, 3)


@case("AFT-10", needs=["listeners"], intrusive=True, slow=True)
async def ones_that_icmp_complains_about_give_their_places_back(peer: Peer) -> None:
    """Fast opens that are told to be unreachable, and never get an ACK."""
    await places_come_back(peer, "echo", complain, 3)


@case("AFT-10", "LIM-2", needs=["listeners", "sessions"], intrusive=True, slow=True)
async def a_later_reset_does_not_prolong_an_earlier_one(peer: Peer) -> None:
    """Of two resets half a minute apart the first gives its place back as soon as one alone."""
    alone, both = await peer.small_queue(1), await peer.small_queue(2)
    cookie = await peer.cookie(alone)
    for service, seconds in ((alone, 0), (both, LATER), (both, 0)):
        count = len(await peer.sessions(service))
        flow = await peer.open(service, cookie=await renewed(peer, service, cookie))
        await accepted_by_the_application(peer, service, count + 1)
        flow.send(RST)
        await peer.wait(seconds)
    for _ in range(0, TIMEOUT, SOON):
        if await peer.accepts(await renewed(peer, alone, cookie), alone):
            break
        await peer.wait(SOON)
    await peer.wait(SOON)
    await (await peer.open(both, cookie=await renewed(peer, both, cookie))).finish()

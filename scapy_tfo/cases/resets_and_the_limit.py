"""RFC 7413 sections 4.2 and 5.1: effects of resets and repeated endings on the count of pending
fast opens. None of them may let more be pending than the limit; a reset must not be a way round it.
"""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo.segment import ACK, RST
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

LIMIT = 4
MANY = 3 * LIMIT
"""Endings, so that a count which loses or wins by each one is far off."""


async def never_more_than_before(peer: Peer, disturb: Callable[[Flow], None]) -> None:
    """Fill the limit; end half of it as `disturb` does, and many more; fill it again and compare.

    The other half stays pending: a count that never goes below zero hides what is taken off twice
    where nothing else counts.
    """
    service = await peer.small_queue(LIMIT)
    cookie = await peer.cookie(service)
    before = await peer.fill(service, most=2 * LIMIT, cookie=cookie)
    half = len(before) // 2
    for flow in before[half:]:
        disturb(flow)
    for _ in range(MANY):
        flow = peer.flow(service)
        flow.syn(cookie=cookie, data=flow.app.request())
        await flow.syn_ack()
        flow.snd_nxt = flow.their_rcv_nxt
        disturb(flow)
    after = await peer.fill(service, most=4 * LIMIT, cookie=cookie)
    peer.record("pending at first", len(before))
    peer.record("pending afterwards", half + len(after))
    peer.require(
        half + len(after) <= len(before),
        "more fast opens are pending than before",
        expected=f"at most {len(before)}, the limit found at first",
        actual=f"{half + len(after)} accepted without an ACK",
    )


async def accepted_by_the_application(peer: Peer, service: Service, count: int) -> None:
    """Give the application the time to take what is pending; Linux counts a reset only then."""
    for _ in range(50):
        if len(await peer.sessions(service)) >= count:
            break
        await peer.wait(0.01)


def ack_and_reset(flow: Flow) -> None:
    flow.ack()
    flow.reset()


def ack_and_reset_twice(flow: Flow) -> None:
    flow.ack()
    flow.reset()
    flow.reset()


def ack_three_times(flow: Flow) -> None:
    for _ in range(3):
        flow.ack()


def reset_three_times(flow: Flow) -> None:
    for _ in range(3):
        flow.send(RST)


def reset_and_ack(flow: Flow) -> None:
    # The reset ones may still count: only more than one ACK each can outweigh that.
    flow.send(RST)
    for _ in range(3):
        flow.ack()


def close(flow: Flow) -> None:
    flow.ack()
    flow.fin()
    flow.fin(seq=flow.their_rcv_nxt)


@case("LIM-7", needs=["listeners"], intrusive=True)
async def ack_then_rst_is_counted_off_once(peer: Peer) -> None:
    """Fast opens that end with an ACK and then a RST never raise the limit."""
    await never_more_than_before(peer, ack_and_reset)


@case("LIM-7", needs=["listeners"], intrusive=True)
async def repeated_rst_is_counted_off_once(peer: Peer) -> None:
    """Fast opens that are reset three times each, while pending, never raise the limit."""
    await never_more_than_before(peer, reset_three_times)


@case("LIM-7", needs=["listeners"], intrusive=True)
async def repeated_rst_after_the_ack_is_counted_off_once(peer: Peer) -> None:
    """An ACK, and then the RST twice, never raise the limit."""
    await never_more_than_before(peer, ack_and_reset_twice)


@case("LIM-7", needs=["listeners"], intrusive=True)
async def repeated_ack_is_counted_off_once(peer: Peer) -> None:
    """The ACK that ends the handshake, sent three times each, never raises the limit."""
    await never_more_than_before(peer, ack_three_times)


@case("LIM-7", needs=["listeners"], intrusive=True)
async def rst_then_ack_is_counted_off_once(peer: Peer) -> None:
    """A RST while pending, and ACKs that come after it, never raise the limit."""
    await never_more_than_before(peer, reset_and_ack)


@case("LIM-7", needs=["listeners"], intrusive=True)
async def ack_then_close_is_counted_off_once(peer: Peer) -> None:
    """Fast opens that end with an ACK and are then closed never raise the limit."""
    await never_more_than_before(peer, close)


@case("LIM-7", needs=["listeners"], intrusive=True)
async def what_was_never_counted_is_not_counted_off(peer: Peer) -> None:
    """Plain handshakes, cookie requests and refused cookies that end do not raise the limit."""
    service = await peer.small_queue(LIMIT)
    cookie = await peer.cookie(service)
    held = await peer.fill(service, most=LIMIT // 2, cookie=cookie)
    for number in range(3 * MANY):
        flow = peer.flow(service)
        flow.syn(cookie=[None, b"", bytes(8)][number % 3])
        await flow.syn_ack()
        flow.ack()
        flow.reset()
    pending = held + await peer.fill(service, most=4 * LIMIT, cookie=cookie)
    peer.require(
        len(pending) <= LIMIT + 1,
        "handshakes that were no fast opens raised the limit",
        expected=f"{LIMIT} accepted, one more at most",
        actual=f"{len(pending)} accepted without an ACK",
    )


@case("LIM-7", needs=["listeners"], intrusive=True)
async def cookies_without_data_leave_the_count_right(peer: Peer) -> None:
    """Valid cookies without data, acknowledged: the limit is neither raised nor used up."""
    service = await peer.small_queue(LIMIT)
    cookie = await peer.cookie(service)
    flows = [peer.flow(service) for _ in range(MANY)]
    for flow in flows:
        flow.syn(cookie=cookie)
        await flow.syn_ack()
    counted = await peer.fill(service, most=2 * LIMIT, cookie=cookie)
    peer.record("cookies without data count", len(counted) < LIMIT - 1)
    for flow in (*flows, *counted):
        flow.ack()
    pending = await peer.fill(service, most=4 * LIMIT, cookie=cookie)
    peer.require(
        len(pending) <= LIMIT + 1,
        "cookies without data raised the limit",
        expected=f"{LIMIT} accepted, one more at most",
        actual=f"{len(pending)} accepted without an ACK",
    )
    for flow in pending:
        flow.ack()
    await peer.open(service, cookie=cookie)


@case("LIM-2", needs=["listeners", "sessions"], intrusive=True)
async def resets_are_accounted_for(peer: Peer) -> None:
    """The limit is reached and all of it reset, ten times in a row: some are refused."""
    service = await peer.small_queue(LIMIT)
    cookie = await peer.cookie(service)
    accepted = 0
    for _ in range(10):
        pending = await peer.fill(service, most=LIMIT, cookie=cookie)
        accepted += len(pending)
        await accepted_by_the_application(peer, service, accepted)
        for flow in pending:
            flow.reset()
        if len(pending) < LIMIT:
            break
    peer.record("fast opens accepted and reset", accepted)
    peer.require(
        accepted < 10 * LIMIT,
        "resets of pending fast opens are not accounted for",
        expected=f"refusals after some resets, with a limit of {LIMIT}",
        actual=f"{accepted} accepted in a row, each reset while pending",
    )


@case("LIM-2", needs=["listeners"], intrusive=True)
async def connections_are_served_after_resets(peer: Peer) -> None:
    """With the limit used up by resets, connections by the 3-way handshake are answered."""
    service = await peer.small_queue(LIMIT)
    for flow in await peer.fill(service, most=LIMIT + 2):
        flow.send(ACK | RST)
    await peer.still_serves(service)

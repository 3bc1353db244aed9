"""RFC 9293 sections 3.8.1 and 3.8.3: a connection that began as a fast open lives as any other:
after idling, loss and a bulk transfer, no trace of its handshake shows.
"""

from __future__ import annotations

import asyncio

from scapy_tfo import seq
from scapy_tfo.cases.data_with_the_ack import BULK, transfer
from scapy_tfo.lab.apps import pattern
from scapy_tfo.segment import ACK, PSH
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

IDLE = 1.1
"""Of the time for which the target sends data again: long enough that a clock which still runs
from the handshake has expired."""
SOON = 10
"""Seconds: three times what a first timeout may be, of 1 s, or of 3 s after lost handshakes."""
LATE = 130
"""Seconds: over the longest timeout of Linux; RFC 6298 section 2.5 lets it be a minute or more."""
LONG = 60_000
"""Bytes: more than several flights."""
MANY = 10
"""Losses in turn, more than some stacks allow one segment. Without timestamps each doubles the
timeout (RFC 6298 section 5), so that ten take up to five minutes."""
LOST = 3
"""Retransmissions that we leave without acknowledgement."""


async def lives_on(peer: Peer, flow: Flow, lost: int = LOST) -> None:
    """Idle, acknowledge nothing for some timeouts, then transfer in bulk and close."""
    flow.ack()
    await flow.answered()
    await peer.wait(IDLE * peer.target.gives_up_after)
    start = flow.rcv_nxt
    flow.request()
    await left_unacknowledged(flow, start, lost)
    flow.ack()
    await transfer(flow, BULK)
    await flow.finish()


async def left_unacknowledged(flow: Flow, start: int, times: int, *, soon: float = SOON) -> None:
    """Wait until what begins at that number has come, and `times` more.

    The first repetition comes soon: the timeout begins near the round-trip time (RFC 6298). soon:
    seconds that it may take.
    """
    for number in range(1 + times):
        await flow.expect(
            "the answer, again and again",
            lambda each: each.seq == start and len(each.payload) > 0,
            within=soon if number < 2 else LATE,
        )


@case("AFT-11", needs=["bulk"], slow=True)
async def idle_then_loss_then_bulk(peer: Peer) -> None:
    """After an accepted fast open: idle, several timeouts, then bulk both ways."""
    await lives_on(peer, await peer.open())


@case("AFT-11", needs=["bulk"], slow=True)
async def idle_then_loss_then_bulk_after_a_lost_syn_ack(peer: Peer) -> None:
    """Only the second SYN-ACK is acknowledged: then idle, timeouts, and bulk both ways."""
    flow = await peer.open()
    await flow.syn_ack("the SYN-ACK again", within=5)
    # The first timeout may be 3 s here (RFC 6298 section 5.7), and doubles.
    await lives_on(peer, flow, lost=2)


@case("AFT-11", needs=["bulk"], slow=True)
async def idle_then_loss_then_bulk_after_a_refusal(peer: Peer) -> None:
    """After SYN data refused and sent again: idle, several timeouts, then bulk both ways."""
    flow = peer.flow()
    flow.syn(cookie=bytes(range(8)), data=flow.app.request())
    syn_ack = await flow.syn_ack()
    flow.snd_nxt = syn_ack.ack
    flow.send(data=flow.sent[0][flow.acknowledged(syn_ack) :])
    await lives_on(peer, flow)


@case("AFT-11", needs=["bulk"], slow=True)
async def bulk_after_lost_early_data(peer: Peer) -> None:
    """Nothing that came before the ACK is acknowledged for some timeouts; then bulk."""
    flow = await peer.open()
    first = seq.add(flow.irs or 0, 1)
    flow.ack(ack=first)
    await left_unacknowledged(flow, first, LOST)
    flow.ack()
    await transfer(flow, BULK)
    await flow.finish()


@case("AFT-11", needs=["echo"], slow=True)
async def loss_is_forgotten_once_it_is_over(peer: Peer) -> None:
    """Two losses with answers between: the second is met like the first, as soon and as long."""
    flow = await peer.open()
    flow.ack()
    await flow.answered()
    for times in (2 * LOST, LOST):
        start = flow.rcv_nxt
        flow.request()
        await left_unacknowledged(flow, start, times)
        flow.ack()
        for _ in range(5):
            flow.request()
            await flow.answered()
    await flow.finish()


@case("AFT-11", needs=["answer"], slow=True)
async def losses_of_different_answers_do_not_add_up(peer: Peer) -> None:
    """Each of many answers in turn is acknowledged only once it has come again."""
    cookie = await peer.cookie()
    flow = peer.flow()
    # With timestamps the round trip of what comes again can be measured: the timeout stays short.
    flow.timestamp = 1
    flow.syn(cookie=cookie)
    await flow.syn_ack()
    flow.ack()
    loop = asyncio.get_running_loop()
    for _ in range(MANY):
        start, began = flow.rcv_nxt, loop.time()
        flow.request()
        await left_unacknowledged(flow, start, 1, soon=2 * LATE)
        flow.timestamp += 1
        flow.ack()
        if loop.time() - began > LATE / 2:
            # Without a longest timeout the next ones would take many minutes.
            break
    await flow.finish()


@case("AFT-11", needs=["listeners"])
async def acks_behind_a_lost_byte_count(peer: Peer) -> None:
    """A byte of ours is lost while a long answer comes: the ACKs behind it bring the rest."""
    flow = await peer.open(await peer.listen(f"send:{LONG}"))
    flow.ack()
    await flow.until("text", lambda: len(flow.stream.data) > 0, acking=True)
    # The SYN offers no scale.
    if flow.heard[-1].window < 2:
        raise Unsupported("its window has no room for the number behind a byte")
    lost, start = b"x", flow.snd_nxt
    flow.sent.append(lost)
    flow.snd_nxt = seq.add(start, len(lost))
    await flow.until("the whole answer", lambda: len(flow.stream.data) >= LONG, acking=True)
    flow.send(ACK | PSH, lost, seq=start)
    expected = pattern(LONG) + b"".join(flow.sent)
    await flow.until("the echo", lambda: len(flow.stream.data) >= len(expected), acking=True)
    flow.require(
        bytes(flow.stream.data) == expected,
        "the answer is not what the application wrote",
        f"{LONG} bytes of the pattern, then the echo",
        f"{len(flow.stream.data)} bytes that differ",
    )


@case("AFT-11", needs=["close", "sessions"])
async def closing_the_listener_leaves_an_accepted_fast_open_alone(peer: Peer) -> None:
    """The listener closes while a fast open is in SYN-RCVD but accepted: that one goes on."""
    service = await peer.listen("echo")
    flow = await peer.open(service)
    for _ in range(20):
        if await peer.session(flow, service):
            break
        await peer.wait(0.02)
    else:
        raise Unsupported("the application gets a connection only after the handshake")
    await peer.hooks.close_listener(service.port)
    flow.request()
    await flow.finish()

"""RFC 7323 sections 3.2, 4.3 and 5.3: timestamps and PAWS on a connection that began as a fast
open, counted from the SYN on.
"""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.cases.syn_ack_retransmission import retransmitted
from scapy_tfo.segment import ACK, PSH, Segment
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.receiver import shown
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

START = 1_000_000
BEFORE_WRAP = (1 << 32) - 5
NARROW = 500
"""Bytes: a window that one segment fills."""
AGAIN = 4.0
"""Seconds in which text that nobody acknowledged comes again."""
OLD = 500_000
"""How far an old TSval lies back: long before the SYN, and far from half the number space."""


async def opened(
    peer: Peer, start: int = START, *, service: Service | None = None, window: int = 65535
) -> Flow:
    """A fast open with timestamps, the SYN's TSval being `start`; Unsupported without them."""
    cookie = await peer.cookie(service)
    flow = peer.flow(service)
    flow.timestamp, flow.window = start, window
    flow.syn(cookie=cookie, data=flow.app.request())
    syn_ack = await flow.syn_ack()
    flow.must_accept(syn_ack, len(flow.sent[0]))
    if syn_ack.timestamps is None:
        raise Unsupported("the target agrees to no timestamps")
    return flow


def tick(flow: Flow, count: int = 10) -> None:
    """Let our timestamp clock go on."""
    flow.timestamp = seq.add(flow.timestamp or 0, count)


def must_echo(flow: Flow, segment: Segment, value: int) -> None:
    """Demand that a segment echoes that TSval of ours."""
    echo = segment.timestamps[1] if segment.timestamps else None
    flow.require(echo == value, "the wrong TSval is echoed", f"TSecr {value}", f"TSecr {echo}")


async def answer_to_last(flow: Flow) -> Segment:
    """The first segment that acknowledges all that was sent."""
    return await flow.expect(
        "an acknowledgement", lambda each: not each.is_rst and each.ack == flow.snd_nxt
    )


@case("AFT-6")
async def syn_ack_echoes_the_syn(peer: Peer) -> None:
    """The SYN-ACK that accepts a fast open echoes the SYN's TSval."""
    flow = await opened(peer)
    must_echo(flow, flow.heard[0], START)
    tick(flow)
    flow.ack()


@case("AFT-6", needs=["answer"])
async def early_data_echoes_the_syn(peer: Peer) -> None:
    """What the target sends before the ACK has timestamps, and echoes the SYN's TSval."""
    flow = await opened(peer)
    await flow.pause(0.05)
    for each in flow.heard:
        must_echo(flow, each, START)
    tick(flow)
    flow.ack()
    await flow.finish()


@case("AFT-6", needs=["answer"])
async def data_after_the_handshake_is_echoed(peer: Peer) -> None:
    """ACK, then data, each with a newer TSval: what acknowledges the data echoes its TSval."""
    flow = await opened(peer)
    await flow.answered()
    for _ in range(3):
        tick(flow)
        flow.ack()
        tick(flow)
        flow.request()
        must_echo(flow, await answer_to_last(flow), flow.timestamp or 0)
        await flow.answered()
    await flow.finish()


@case("AFT-6", needs=["listeners"], fixed=["shift"])
async def empty_ack_is_echoed(peer: Peer) -> None:
    """Text that only an ACK without data makes room for echoes the TSval of that ACK."""
    service = await peer.listen("send:20000")
    flow = await opened(peer, service=service, window=NARROW)
    told = flow.rcv_nxt
    flow.ack()
    edge = seq.add(told, NARROW)
    first = await flow.expect("text", lambda each: bool(each.payload))
    if len(first.payload) < NARROW:
        raise Unsupported("its segments do not fill a small window")
    await filled(flow, edge)
    for _ in range(3):
        tick(flow)
        flow.ack()
        # Text beyond the earlier window shows that the ACK has come; one byte may be a probe.
        must_echo(flow, await text_beyond(flow, seq.add(edge, 1)), flow.timestamp or 0)
        edge = seq.add(edge, NARROW)
        await filled(flow, edge)


async def filled(flow: Flow, edge: int) -> None:
    await flow.until("a full window", lambda: flow.rcv_nxt == edge)


async def text_beyond(flow: Flow, number: int) -> Segment:
    """The first segment with text that ends behind that number."""
    return await flow.expect(
        "text that the ACK made room for",
        lambda each: bool(each.payload) and seq.before(number, each.end),
    )


@case("AFT-6", needs=["answer"])
async def data_with_the_ack_is_echoed(peer: Peer) -> None:
    """Data in the segment that ends the handshake: its TSval is echoed."""
    flow = await opened(peer)
    tick(flow)
    flow.request()
    must_echo(flow, await answer_to_last(flow), flow.timestamp or 0)
    await flow.finish()


@case("AFT-6", needs=["answer"])
async def timestamps_may_wrap_after_the_syn(peer: Peer) -> None:
    """A TSval that wraps to zero between SYN and ACK is newer, and its data is taken."""
    flow = await opened(peer, BEFORE_WRAP)
    tick(flow)
    flow.request()
    must_echo(flow, await answer_to_last(flow), flow.timestamp or 0)
    await flow.finish()


@case("AFT-6", needs=["answer"])
async def old_timestamp_after_the_handshake_is_rejected(peer: Peer) -> None:
    """Data with a TSval older than the SYN's is not delivered; the right data is."""
    await uses_paws(peer)
    flow = await opened(peer)
    tick(flow)
    flow.ack()
    await old_data_is_rejected(flow)


@case("AFT-6", needs=["answer"])
async def old_timestamp_in_syn_rcvd_is_rejected(peer: Peer) -> None:
    """In SYN-RCVD, an ACK with a TSval older than the SYN's and data delivers nothing."""
    await uses_paws(peer)
    await old_data_is_rejected(await opened(peer))


async def uses_paws(peer: Peer) -> None:
    """Unsupported where data with an old TSval is taken on a plain connection, too: whether PAWS is
    used is left open (RFC 7323 section 5.3)."""
    flow = peer.flow()
    flow.timestamp = START
    flow.syn()
    syn_ack = await flow.syn_ack("a SYN-ACK to a plain SYN")
    if syn_ack.timestamps is None:
        raise Unsupported("the target agrees to no timestamps")
    tick(flow)
    flow.ack()
    place = flow.snd_nxt
    flow.timestamp = START - OLD
    flow.send(ACK | PSH, flow.app.request(), once=True)
    heard = await flow.pause(0.3)
    if any(each.flags & ACK and not each.is_rst and each.ack == flow.snd_nxt for each in heard):
        raise Unsupported("the target uses no PAWS: it takes old timestamps on any connection")
    flow.snd_nxt = place


async def old_data_is_rejected(flow: Flow) -> None:
    """Send data with an old TSval, then other data in its place with a new one."""
    newest, place = flow.timestamp or 0, flow.snd_nxt
    flow.timestamp = newest - OLD
    flow.send(ACK | PSH, flow.app.request(), once=True)
    flow.snd_nxt, flow.timestamp = place, newest
    tick(flow)
    flow.request()
    await flow.finish()


@case("AFT-6", needs=["answer"], waits=1.0)
async def old_timestamp_of_an_acknowledgement_is_rejected(peer: Peer) -> None:
    """An ACK without data that has an old TSval acknowledges nothing: the answer comes again."""
    await uses_paws(peer)
    flow = await opened(peer)
    tick(flow)
    flow.ack()
    await flow.answered()
    flow.ack()
    tick(flow)
    flow.request()
    await flow.answered(acking=False)
    known = len(flow.heard)
    first = next(each for each in flow.heard[::-1] if each.payload).seq
    newest = flow.timestamp or 0
    flow.timestamp = newest - OLD
    flow.send(ACK)
    flow.timestamp = newest
    await flow.until(
        "the answer again: its ACK has an old TSval",
        lambda: any(each.payload and each.seq == first for each in flow.heard[known:]),
        within=AGAIN,
    )
    await flow.finish()


@case("AFT-6", needs=["answer"])
async def newer_timestamp_of_old_text_does_not_count(peer: Peer) -> None:
    """A copy of old text with a TSval far ahead is outside the window: the text behind it, with the
    clock as it was, is in time (RFC 7323 section 5.3, R2 before R3)."""
    flow = await opened(peer)
    tick(flow)
    flow.ack()
    await flow.answered()
    old = flow.snd_nxt
    for _ in range(2):
        # A copy that ends at RCV.NXT counts as within the window at Linux.
        flow.request()
        await flow.answered()
    place, now = flow.snd_nxt, flow.timestamp or 0
    flow.timestamp = now + OLD
    flow.send(ACK | PSH, flow.sent[-2], seq=old, once=True)
    await flow.pause(0.05)
    flow.snd_nxt, flow.timestamp = place, now
    tick(flow)
    flow.request()
    await flow.finish()


@case("AFT-6", needs=["answer"])
async def equal_timestamps_are_no_reason_to_reject(peer: Peer) -> None:
    """SYN, ACK and data in one tick of the clock: equal TSvals pass, and all is answered."""
    flow = await opened(peer)
    flow.ack()
    flow.request()
    await flow.finish()


@case("AFT-6", needs=["answer"])
async def data_past_a_gap_is_not_echoed(peer: Peer) -> None:
    """Data past a gap does not set the TSval to echo; what fills the gap does."""
    flow = await opened(peer)
    tick(flow)
    flow.ack()
    await flow.answered()
    flow.sent += [flow.app.request(), flow.app.request()]
    first, second = flow.sent[-2:]
    tick(flow)
    flow.send(ACK | PSH, second, seq=seq.add(flow.snd_nxt, len(first)))
    early = [each for each in await flow.pause(0.1) if each.timestamps]
    wrong = [each for each in early if each.timestamps and each.timestamps[1] == flow.timestamp]
    flow.require(not wrong, "a TSval from past a gap is echoed", "an older TSecr", shown(wrong[:1]))
    tick(flow)
    flow.send(ACK | PSH, first)
    flow.snd_nxt = seq.add(flow.snd_nxt, len(second))
    must_echo(flow, await answer_to_last(flow), flow.timestamp or 0)
    await flow.finish()


def must_not_go_back(flow: Flow, earlier: Segment, later: Segment) -> None:
    """Demand that what the target sent later has no older TSval, or its peer has to drop it."""
    before, after = (each.timestamps[0] if each.timestamps else 0 for each in (earlier, later))
    flow.require(
        seq.at_most(before, after),
        "the target's TSval goes back",
        f"TSval {before} or later",
        f"TSval {after}",
    )


@case("AFT-6", needs=["answer"])
async def tsval_never_goes_back(peer: Peer) -> None:
    """From the SYN-ACK on, each answer has the same TSval as the one before or a later one."""
    flow = await opened(peer)
    earlier = next(each for each in flow.heard if each.is_syn_ack)
    for _ in range(3):
        tick(flow)
        flow.request()
        later = await answer_to_last(flow)
        must_not_go_back(flow, earlier, later)
        earlier = later
    await flow.finish()


@case("AFT-6", waits=1.0)
async def tsval_of_a_repeated_syn_ack_does_not_go_back(peer: Peer) -> None:
    """The SYN-ACK that comes again, and what follows it, has no older TSval than the first."""
    flow = await opened(peer)
    earlier = next(each for each in flow.heard if each.is_syn_ack)
    again = await retransmitted(flow)
    must_not_go_back(flow, earlier, again)
    tick(flow)
    flow.request()
    must_not_go_back(flow, again, await answer_to_last(flow))

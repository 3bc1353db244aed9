"""Text that seems to be lost, and what is sent then (RFC 5681, RFC 6298)."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import seq
from scapy_tfo.icmp import unreachable
from scapy_tfo.segment import ACK, PSH
from scapy_tfo.stimuli.windows import CROSSED, LATER, acknowledged_one_by_one
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Missing, Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import stimulus

TEXT, MORE_TEXT, LONG_TEXT = "send:60000", "send:120000", "send:900000"
MUCH_TEXT = "reno:900000"
TRIP = 0.5
"""Seconds that the handshake takes: the first timeout is three times that (RFC 6298 2.2)."""
JUST_IN_TIME = 2.7 * TRIP
BYTES, BETWEEN = 13, 0.3
AVOIDING = 12
"""Flights in which congestion is avoided."""
LOSSES = 18
"""More than the tries that any known stack has for one segment."""
ROUNDS = 3
"""Flights after which some segments are under way at a time."""
SOURCE_QUENCH = 4
"""Of ICMP (RFC 792)."""
NARROW, WIDE = 14_000, 65_535
WINDOWS, STEP, SOON = 6, 500, 0.02
"""How often a window grows, by how many bytes, and how many seconds apart: before a timer sends
anything again."""
DUPLICATES = 40
"""More than there are segments in the wide window, less those in the narrow one."""


async def comes_again(flow: Flow) -> bool:
    """Wait until text has come once more; whether it has."""
    known = copies(flow)
    try:
        await flow.until("text once more", lambda: copies(flow) > known, within=8.0)
    except Missing:
        return False
    return True


def copies(flow: Flow) -> int:
    """How many segments with text have come a second time."""
    starts = [each.seq for each in flow.heard if each.payload and not each.is_syn_ack]
    return len(starts) - len(set(starts))


async def asked_for_three_times(flow: Flow, lost: int) -> None:
    """Three duplicate ACKs of a number; when what is there has come again, an ACK of all."""
    for _ in range(3):
        flow.send(ACK, ack=lost)
        await flow.pause(LATER)
    await flow.pause(0.2)
    flow.ack()
    await flow.pause(LATER)


@stimulus("TCP-FR-1", "TCP-FR-2", "TCP-FR-3", "TCP-CC-3", needs=["listeners"])
async def three_duplicate_acknowledgements(peer: Peer) -> None:
    """A flight is answered with three duplicate ACKs, and no SACK was agreed on."""
    flow = await peer.connect(await peer.listen(TEXT))
    lost = await acknowledged_one_by_one(flow, ROUNDS)
    await flow.pause(LATER)
    await asked_for_three_times(flow, lost)


@stimulus("TCP-FR-1", needs=["listeners"])
async def duplicate_acknowledgements_behind_a_fin(peer: Peer) -> None:
    """The same of a client that has closed."""
    flow = await peer.connect(await peer.listen(TEXT))
    flow.fin()
    lost = await acknowledged_one_by_one(flow, ROUNDS)
    await flow.pause(LATER)
    await asked_for_three_times(flow, lost)


@stimulus("TCP-FR-1", "TCP-FIN-4", needs=["listeners"])
async def duplicate_acknowledgements_of_an_answer_that_ends(peer: Peer) -> None:
    """The same of an answer whose end is under way as well."""
    flow = await peer.connect(await peer.listen("send-close:4000"))
    await flow.pause(LATER)
    await asked_for_three_times(flow, seq.add(flow.irs or 0, 1))


@stimulus("TCP-FR-2", needs=["listeners"])
async def duplicate_acknowledgements_apart(peer: Peer) -> None:
    """Three duplicate ACKs come, each behind an ACK of two segments more: no SACK was agreed on."""
    flow = await peer.connect(await peer.listen(TEXT))
    told = await acknowledged_one_by_one(flow, 1)
    await flow.pause(LATER)
    for _ in range(3):
        flow.send(ACK, ack=told)
        await flow.pause(LATER)
        ends = [each.end for each in flow.heard if each.payload and seq.before(told, each.end)]
        if len(ends) < 2:
            break
        told = ends[1]
        flow.send(ACK, ack=told)
        await flow.pause(LATER)
    await flow.pause(0.2)
    flow.ack()
    await flow.pause(LATER)


async def into_a_narrow_window(peer: Peer, app: str) -> tuple[Flow, int]:
    """A connection with a narrow window whose text is under way; the first number of that."""
    flow = peer.flow(await peer.listen(app))
    flow.window = NARROW
    flow.syn()
    await flow.syn_ack()
    flow.ack()
    await flow.until("text", lambda: len(flow.stream.data) > 0)
    await flow.pause(LATER)
    return flow, next(each for each in flow.heard if each.payload).seq


@stimulus("TCP-FR-2", needs=["listeners"])
async def windows_that_grow_while_text_is_under_way(peer: Peer) -> None:
    """Six ACKs of one number come, each with a larger window: they are no duplicates (RFC 5681
    section 2)."""
    flow, first = await into_a_narrow_window(peer, TEXT)
    for _ in range(WINDOWS):
        flow.window += STEP
        flow.send(ACK, ack=first)
        await flow.pause(SOON)
    flow.ack()
    await flow.pause(LATER)


@stimulus("TCP-CC-5", "TCP-FR-7", needs=["listeners"])
async def congestion_avoidance(peer: Peer) -> None:
    """A flight is answered with three duplicate ACKs, and what follows is acknowledged, round trip
    by round trip, by an end that uses the congestion control of RFC 5681."""
    flow = await peer.connect(await peer.listen(MUCH_TEXT))
    lost = await acknowledged_one_by_one(flow, 2)
    await flow.pause(LATER)
    flight = seq.distance(lost, max_end(flow, lost))
    for _ in range(3):
        flow.send(ACK, ack=lost)
        await flow.pause(LATER)
    await flow.until("text once more", lambda: copies(flow) > 0)
    flow.ack()
    flow.conduct.avoids(flight)
    await acknowledged_one_by_one(flow, AVOIDING, told=flow.rcv_nxt)


@stimulus("TCP-ICMP-4", needs=["listeners"])
async def a_source_quench(peer: Peer) -> None:
    """Two flights are acknowledged at once each, and a source quench comes between the two."""
    if peer.family == 6:
        raise Unsupported("ICMPv6 has no source quench")
    flow = await peer.connect(await peer.listen(LONG_TEXT))
    await flow.until("text", lambda: len(flow.stream.data) > 0)
    await acknowledged_one_by_one(flow, 2)
    await flow.pause(LATER)
    told = flow.rcv_nxt
    await acknowledged_at_once(flow)
    flow.conduct.has_no_reason_to_slow(seq.distance(told, flow.rcv_nxt))
    last = next(each for each in flow.heard[::-1] if each.payload)
    flow.send_icmp(replace(unreachable(last.to_bytes(), code=0), type=SOURCE_QUENCH))
    await acknowledged_at_once(flow)
    await acknowledged_at_once(flow)


async def acknowledged_at_once(flow: Flow) -> None:
    """Acknowledge all that came, and wait for what follows."""
    flow.ack()
    await flow.pause(LATER)


def max_end(flow: Flow, since: int) -> int:
    """The highest number that text has reached."""
    return seq.add(since, max(seq.distance(since, each.end) for each in flow.heard))


@stimulus("TCP-FR-6", needs=["listeners"])
async def a_recovery_of_many_duplicate_acknowledgements(peer: Peer) -> None:
    """Forty duplicate ACKs come into a narrow window, then all is acknowledged with a wide one."""
    flow, lost = await into_a_narrow_window(peer, MORE_TEXT)
    for _ in range(DUPLICATES):
        flow.send(ACK, ack=lost)
    await flow.pause(CROSSED)
    flow.window = WIDE
    flow.ack()
    await flow.pause(LATER)


@stimulus("TCP-RTO-15", "TCP-CC-4", needs=["listeners"], slow=True)
async def a_flight_that_nobody_acknowledges(peer: Peer) -> None:
    """A flight is not acknowledged until some of it comes again."""
    flow = await peer.connect(await peer.listen(TEXT))
    await acknowledged_one_by_one(flow, ROUNDS)
    await flow.until("text once more", lambda: copies(flow) > 0, within=4.0)
    await flow.pause(0.2)
    flow.ack()
    await flow.pause(LATER)


@stimulus("TCP-RST-6", needs=["echo"], slow=True)
async def losses_one_after_the_other(peer: Peer) -> None:
    """Each answer is acknowledged when it has come twice, for more answers than a stack has tries
    for each, or until the wait for the second becomes long."""
    flow = await peer.connect()
    for _ in range(LOSSES):
        flow.request()
        if not await comes_again(flow):
            break
        flow.ack()
        await flow.pause(LATER)
    flow.ack()
    flow.request()
    await flow.answered()


@stimulus("TCP-RST-6", needs=["echo"], slow=True)
async def losses_with_answers_between(peer: Peer) -> None:
    """The same with an answer between them that is acknowledged at once, which tells a round trip
    and so makes the wait short again (RFC 6298 section 5)."""
    flow = await peer.connect()
    for _ in range(LOSSES):
        flow.request()
        if not await comes_again(flow):
            break
        flow.ack()
        await flow.pause(LATER)
        flow.request()
        await flow.answered()
    flow.ack()
    flow.request()
    await flow.answered()


@stimulus("TCP-RTO-10", needs=["listeners"], slow=True)
async def text_that_nobody_acknowledges(peer: Peer) -> None:
    """Text is not acknowledged for two minutes and more."""
    flow = await peer.connect(await peer.listen("send:1000"))
    await flow.pause(130.0)


@stimulus("TCP-RTO-8", "TCP-CC-6", needs=["listeners"], slow=True)
async def a_handshake_that_is_lost_twice(peer: Peer) -> None:
    """Two copies of the SYN-ACK come before its ACK goes out, and then a copy of the text."""
    flow = peer.flow(await peer.listen(TEXT))
    flow.syn()
    for number in range(3):
        await flow.syn_ack(f"SYN-ACK {number + 1}", within=10.0)
    flow.ack()
    await flow.until("text once more", lambda: copies(flow) > 0, within=8.0)


@stimulus("TCP-RTO-7", needs=["listeners"], slow=True)
async def acknowledgements_just_in_time(peer: Peer) -> None:
    """A flight is acknowledged shortly before its timer runs out, its last segment after the others
    and when more is under way; and what follows later."""
    flow = peer.flow(await peer.listen(TEXT))
    flow.syn()
    await flow.syn_ack()
    await flow.pause(TRIP)
    flow.ack()
    await flow.until("text", lambda: len(flow.stream.data) > 0)
    await flow.pause(JUST_IN_TIME)
    last = next(each for each in flow.heard[::-1] if each.payload)
    for number in (last.seq, last.end):
        flow.send(ACK, ack=number)
        await flow.pause(LATER)
    await flow.pause(TRIP)
    flow.ack()
    await flow.pause(LATER)


@stimulus("TCP-RTO-3", needs=["listeners"], slow=True)
async def text_comes_while_text_is_lost(peer: Peer) -> None:
    """Text is not acknowledged, while a byte comes every three tenths of a second."""
    flow = await peer.connect(await peer.listen("send:1000"))
    await flow.until("text", lambda: len(flow.stream.data) > 0)
    lost = next(each for each in flow.heard if each.payload).seq
    for _ in range(BYTES):
        flow.send(ACK | PSH, b"x", ack=lost)
        await flow.pause(BETWEEN)
        if copies(flow):
            break
    flow.ack()
    await flow.pause(LATER)

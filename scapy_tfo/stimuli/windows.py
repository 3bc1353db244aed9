"""Windows that close and open again, on either side (RFC 9293 section 3.8.6, RFC 7323 2.3)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.segment import ACK
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import stimulus

LATER = 0.05
"""Seconds in which whatever is sent at once has come."""
REST = 3.0
"""Seconds for which the application does not read."""
BLOCK = 120_000
"""Bytes: more than a window that is not scaled."""
PIECE, FEW, MANY = 1_400, 4, 20
LITTLE = 300
"""Bytes: less than a quarter of a segment."""
CROSSED = 0.1
"""Seconds in which what was under way has come."""
PROBES, FOR_MINUTES = 5, 12
"""The second number of probes is more than some stacks try in vain."""
LAST_PROBE = 260.0
"""Seconds after which no further probe comes, if the last two were a minute apart."""


async def acknowledged_one_by_one(flow: Flow, rounds: int, *, told: int = 0) -> int:
    """Acknowledge each segment with text by itself, flight after flight; the last number. told:
    what is acknowledged already, if any text is."""
    done, number = 0, told
    for _ in range(rounds):
        await flow.pause(LATER)
        known = len(flow.heard)
        for each in flow.heard[done:known]:
            if each.payload and (not number or seq.before(number, each.end)):
                number = each.end
                flow.send(ACK, ack=number)
        done = known
    return number or flow.rcv_nxt


def pushed(flow: Flow, size: int) -> None:
    """Write so many bytes, each segment pushed: an application may wait for that."""
    for _ in range(size // PIECE):
        flow.sent.append(bytes(PIECE))
        flow.send(ACK, flow.sent[-1])


async def a_segment(flow: Flow, what: str, *, within: float = 70.0) -> None:
    """Wait for anything more, for some seconds."""
    known = len(flow.heard)
    await flow.until(what, lambda: len(flow.heard) > known, within=within)


@stimulus("TCP-PROBE-1", "TCP-PROBE-3", needs=["listeners"], slow=True)
async def a_window_that_stays_closed(peer: Peer) -> None:
    """The window closes while text waits, and each probe is told so."""
    await probed(await peer.connect(await peer.listen("send:60000")))


@stimulus("TCP-PROBE-4", needs=["listeners"], slow=True)
async def a_window_that_stays_closed_for_minutes(peer: Peer) -> None:
    """The same until some probes more have been answered, and then the text must go on."""
    flow = await peer.connect(await peer.listen("send:60000"))
    await probed(flow, FOR_MINUTES)
    known = flow.rcv_nxt
    await flow.until("text in the open window", lambda: flow.rcv_nxt != known, acking=True)


@stimulus("TCP-PROBE-1", "TCP-PROBE-3", needs=["listeners"], slow=True)
async def a_closed_window_that_takes_the_byte_of_a_probe(peer: Peer) -> None:
    """The window closes while text waits. From the third one on, what probes bring is taken, and it
    stays closed."""
    await probed(await peer.connect(await peer.listen("send:60000")), takes=2)


async def probed(flow: Flow, probes: int = PROBES, *, takes: int | None = None) -> None:
    """Close the window when text has come, tell each of some probes so, and open it again. takes:
    how many probes come before one whose text is acknowledged; None where none is."""
    await flow.until("text", lambda: len(flow.stream.data) > 0)
    await flow.pause(LATER)
    flow.conduct.writes(True)
    flow.window, taken = 0, flow.rcv_nxt
    flow.ack()
    for number in range(probes):
        await a_segment(flow, f"probe {number + 1}", within=LAST_PROBE)
        end = flow.heard[-1].end
        if takes is not None and number >= takes and seq.before(taken, end):
            taken = end
        flow.send(ACK, ack=taken)
    flow.window = 65535
    flow.ack()
    await flow.pause(LATER)


@stimulus("TCP-WIN-2", "TCP-WIN-4", "TCP-WIN-5", needs=["listeners"])
async def a_window_that_is_taken_back(peer: Peer) -> None:
    """While text is under way the window shrinks to less than that, and opens again later: a small
    one, and one that is larger than what an end sends at first."""
    await taken_back(peer, FEW * PIECE)
    await taken_back(peer, MANY * PIECE)


async def taken_back(peer: Peer, window: int) -> None:
    """A window of so many bytes shrinks, and opens again."""
    flow = peer.flow(await peer.listen("send:60000"))
    flow.window = window
    flow.syn()
    await flow.syn_ack()
    flow.ack()
    await flow.until("text", lambda: len(flow.stream.data) > 2 * PIECE)
    await flow.pause(LATER)
    flow.window = PIECE
    for each in [each for each in flow.heard if each.payload][:-1]:
        flow.send(ACK, ack=each.end)
        await flow.pause(CROSSED)
    known = flow.rcv_nxt
    flow.window = 65535
    flow.ack()
    await flow.until("text in the open window", lambda: flow.rcv_nxt != known, acking=True)


@stimulus("TCP-WIN-10", "TCP-PROBE-5", needs=["listeners"], slow=True)
async def a_reader_that_rests(peer: Peer) -> None:
    """The application does not read for three seconds, while text comes that fills its buffer.

    That the window has opened need not be told unasked: the second probe asks.
    """
    flow = await peer.connect(await peer.listen(f"slow-reader:{1000 * REST:.0f}"))
    flow.timer.timeout = max(flow.timer.timeout, REST / 2)
    flow.conduct.reads(False)
    pushed(flow, BLOCK)

    def closed() -> bool:
        return flow.heard[-1].window == 0

    await flow.until("a closed window", closed, within=REST / 2)
    flow.conduct.reads(True, after=REST)
    await flow.until("an open window", lambda: not closed(), within=3 * REST, acking=True)


@stimulus("TCP-SEND-2", needs=["listeners"])
async def a_window_that_opens_a_little(peer: Peer) -> None:
    """Two full segments fill the window, which then opens by some bytes, and later by more."""
    flow = peer.flow(await peer.listen("send:60000"))
    flow.window = 2 * peer.largest_segment
    flow.syn()
    await flow.syn_ack()
    flow.ack()
    await flow.until("two segments", lambda: len(flow.stream.data) >= flow.window)
    flow.conduct.has_more()
    flow.window = LITTLE
    flow.ack()
    await flow.pause(CROSSED)
    flow.window = 65535
    flow.ack()
    await flow.pause(LATER)


@stimulus("TCP-WIN-13", needs=["listeners"], slow=True)
async def an_ack_beside_a_probe(peer: Peer) -> None:
    """Text of the target is acknowledged by a probe of its window, which is closed."""
    flow = await peer.connect(await peer.listen(f"slow-reader:{1000 * REST:.0f}"))
    flow.sent.append(bytes(PIECE))
    flow.send(ACK, flow.sent[-1])
    await flow.until("an echo", lambda: len(flow.stream.data) >= PIECE, within=2 * REST)
    told = seq.add(flow.irs or 0, 1)
    for _ in range(BLOCK // PIECE):
        flow.sent.append(bytes(PIECE))
        flow.send(ACK, flow.sent[-1], ack=told)
    await flow.until("a closed window", lambda: flow.heard[-1].window == 0, within=REST / 2)
    flow.resends = False
    flow.send(ACK, b"\0", seq=flow.their_rcv_nxt, once=True)
    await flow.pause(1.5 * REST)


@stimulus("TCP-WIN-11", needs=["listeners"], slow=True)
async def nobody_reads(peer: Peer) -> None:
    """The application never reads, while more text comes than its buffer holds."""
    flow = await peer.connect(await peer.listen("never-reads"))
    flow.conduct.reads(False)
    pushed(flow, 5 * BLOCK)
    await flow.pause(1.0)


@stimulus("TCP-WIN-3", needs=["listeners"], slow=True)
async def nobody_reads_what_a_scale_of_zero_lets_in(peer: Peer) -> None:
    """The application never reads, and a window scale of 0 was offered."""
    flow = peer.flow(await peer.listen("never-reads"))
    flow.syn(options=[opt.window_scale(0)])
    await flow.syn_ack()
    flow.ack()
    flow.conduct.reads(False)
    pushed(flow, 5 * BLOCK)
    await flow.pause(1.0)


@stimulus("TCP-WS-3", needs=["listeners"])
async def a_shift_of_fifteen(peer: Peer) -> None:
    """A shift of 15 in the SYN, and then a window of one: it counts as 14."""
    flow = peer.flow(await peer.listen("send:100000"))
    flow.syn(options=[opt.window_scale(15)])
    await flow.syn_ack()
    flow.window = 1
    flow.ack()
    await acknowledged_one_by_one(flow, 8)

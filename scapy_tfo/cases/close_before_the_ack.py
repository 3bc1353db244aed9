"""RFC 9293 sections 3.8.3 and 3.10.4: the application writes and closes before the ACK has come.

Data and FIN may be held back until the handshake ends. Then all of it must arrive, and whatever is
not acknowledged is sent again.
"""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.cases.data_with_the_ack import loses_first_text
from scapy_tfo.lab.apps import pattern
from scapy_tfo.segment import ACK, Segment
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Absent, Missing, WasReset
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

RETRANSMISSION = 3.2
"""Seconds: more than the first timeout, of 1 s, or of 3 s on stacks from before RFC 6298."""
REMEMBERED = 10
"""Seconds: the first timeout of data where a stack remembers how long the client once took."""


async def closed_with(flow: Flow, data: bytes, *, within: float | None = None) -> None:
    """Acknowledge until FIN has come, compare what came before it, and close too."""
    flow.ack()
    await flow.until(
        "the whole answer and FIN", lambda: flow.stream.ended, within=within, acking=True
    )
    flow.require(
        flow.stream.data == data,
        "the answer of an application that closed before the ACK is wrong",
        f"{len(data)} bytes of the pattern",
        f"{len(flow.stream.data)} bytes",
    )
    flow.fin()
    await flow.until("an acknowledgement of our FIN", lambda: flow.their_rcv_nxt == flow.snd_nxt)


async def first_byte_again(flow: Flow, before: int) -> None:
    """Wait for the first thing after the SYN among what came behind the first `before` segments."""
    await flow.until(
        "the first data, sent again",
        lambda: any(first_byte(flow, each) for each in flow.heard[before:]),
        within=REMEMBERED,
    )


def first_byte(flow: Flow, segment: Segment) -> bool:
    """Whether a segment carries the first thing after the target's SYN: data, or FIN."""
    first = seq.add(flow.irs or 0, 1)
    return segment.seq == first and not segment.flags & 2 and segment.length > 0


@case("AFT-3", needs=["listeners"])
async def answer_and_close_before_the_ack(peer: Peer) -> None:
    """5,000 bytes and close before the ACK: all of them and FIN arrive."""
    flow = await peer.open(await peer.listen("send-close:5000"), data=b"GET")
    await closed_with(flow, pattern(5000))


@case("AFT-3", needs=["listeners"])
async def two_writes_and_close_before_the_ack(peer: Peer) -> None:
    """Two writes and close while the ACK is delayed: no byte between them is missing."""
    flow = await peer.open(await peer.listen("two-sends:1000"), data=b"GET")
    await flow.pause(0.1)
    await closed_with(flow, pattern(1000) * 2)


@case("AFT-3", needs=["listeners"])
async def long_answer_and_close_before_the_ack(peer: Peer) -> None:
    """100,000 bytes, far more than the initial window, and close: all and FIN arrive."""
    flow = await peer.open(await peer.listen("send-close:100000"), data=b"GET")
    await closed_with(flow, pattern(100_000))


@case("AFT-3", needs=["listeners"])
async def close_without_an_answer_before_the_ack(peer: Peer) -> None:
    """The application closes at once: FIN arrives, and its acknowledgement is understood."""
    flow = await peer.open(await peer.listen("close"), data=b"GET")
    await closed_with(flow, b"")


@case("AFT-3", needs=["listeners"], waits=3.3)
async def lost_early_answer_is_sent_again(peer: Peer) -> None:
    """Our ACK covers the SYN only, as if the early data was lost: it comes again."""
    flow = await peer.open(await peer.listen("send-close:5000"), data=b"GET")
    await flow.pause(0.1)
    before = len(flow.heard)
    flow.ack(ack=seq.add(flow.irs or 0, 1))
    await first_byte_again(flow, before)
    await closed_with(flow, pattern(5000))


@case("AFT-3", needs=["listeners"], waits=1.0)
async def close_survives_a_lost_syn_ack(peer: Peer) -> None:
    """The application closes, and only the second SYN-ACK is acknowledged: all arrives."""
    flow = await peer.open(await peer.listen("two-sends:1000"), data=b"GET")
    await flow.syn_ack("the SYN-ACK again", within=RETRANSMISSION)
    await closed_with(flow, pattern(1000) * 2, within=RETRANSMISSION)


@case("AFT-3", needs=["listeners"], slow=True)
async def close_survives_a_late_ack(peer: Peer) -> None:
    """The ACK comes eight seconds late, when SYN-ACKs have timed out more than once."""
    flow = await peer.open(await peer.listen("send-close:5000"), data=b"GET")
    await flow.pause(8)
    await closed_with(flow, pattern(5000), within=RETRANSMISSION)


@case("AFT-3", needs=["listeners"], slow=True)
async def answer_lost_with_the_syn_ack_is_sent_again(peer: Peer) -> None:
    """The SYN-ACK and all that came behind it are lost: after its second, all arrives."""
    flow = await peer.open(await peer.listen("send-close:5000"), data=b"GET")
    await flow.syn_ack("the SYN-ACK again", within=RETRANSMISSION)
    before = len(flow.heard)
    flow.ack(ack=seq.add(flow.irs or 0, 1))
    await first_byte_again(flow, before)
    await closed_with(flow, pattern(5000), within=RETRANSMISSION)


@case("AFT-3", needs=["listeners"], slow=True)
async def early_answer_is_not_given_up_after_one_timeout(peer: Peer) -> None:
    """The answer is left without acknowledgement: it comes twice more, and then is whole."""
    await comes_twice_more(await peer.open(await peer.listen("send-close:5000"), data=b"GET"))


@case("AFT-3", needs=["listeners"], slow=True)
async def early_fin_is_not_given_up_after_one_timeout(peer: Peer) -> None:
    """A FIN from before the ACK is left without acknowledgement: it comes twice more."""
    await comes_twice_more(await peer.open(await peer.listen("close"), data=b"GET"))


async def comes_twice_more(flow: Flow) -> None:
    """End the handshake, acknowledge nothing of the answer, and see it twice; then close."""
    flow.send(ACK, ack=seq.add(flow.irs or 0, 1))
    for _ in range(3):
        await flow.expect("the answer again", lambda each: first_byte(flow, each), within=15)
    flow.ack()
    await flow.until("FIN", lambda: flow.stream.ended, acking=True)
    flow.fin()
    await flow.until("an acknowledgement of our FIN", lambda: flow.their_rcv_nxt == flow.snd_nxt)


async def comes_again_behind_our_fin(peer: Peer, flow: Flow) -> None:
    """Close with an ACK that covers the SYN only, and see what it leaves out come again."""
    await flow.pause(0.1)
    before = len(flow.heard)
    flow.resends = await loses_first_text(peer)
    flow.fin(ack=seq.add(flow.irs or 0, 1))
    await first_byte_again(flow, before)
    flow.ack()
    await flow.until("FIN", lambda: flow.stream.ended, within=RETRANSMISSION, acking=True)
    await flow.until("an acknowledgement of our FIN", lambda: flow.their_rcv_nxt == flow.snd_nxt)


@case("AFT-3", needs=["listeners"], waits=3.3)
async def lost_early_answer_is_sent_again_behind_our_fin(peer: Peer) -> None:
    """Our FIN crosses an answer that was lost: answer and FIN come again all the same."""
    flow = await peer.open(await peer.listen("send-close:1000"), data=b"GET")
    await comes_again_behind_our_fin(peer, flow)
    flow.require(
        flow.stream.data == pattern(1000),
        "the answer that our FIN crossed is wrong",
        "1000 bytes of the pattern",
        f"{len(flow.stream.data)} bytes",
    )


@case("AFT-3", needs=["listeners"], waits=3.3)
async def lost_early_fin_is_sent_again_behind_ours(peer: Peer) -> None:
    """Our FIN crosses one that was lost: that comes again all the same."""
    await comes_again_behind_our_fin(peer, await peer.open(await peer.listen("close"), data=b"GET"))


_OPENED = 3
"""Times that a connection is opened: by then a SYN-ACK that does not come is hardly lost."""


async def _opened_before_the_abort(peer: Peer, service: Service, cookie: bytes) -> Flow:
    """One of which the SYN-ACK came."""
    for _ in range(_OPENED):
        try:
            return await peer.open(service, data=b"GET", cookie=cookie)
        except WasReset:
            (rst,) = (each for each in peer.flows[-1].heard if each.is_rst)
            if rst.flags & ACK and rst.ack != peer.flows[-1].opening.end:
                raise
    # A SYN-ACK may wait for the application (RFC 7413 section 4.2.2 step 5), and an abort in
    # SYN-RCVD acknowledges nothing (RFC 9293 section 3.10.5).
    raise Absent("the SYN is answered by the RST of the abort, allowed")


@case("AFT-3", needs=["listeners"])
async def abort_before_the_ack_is_believable(peer: Peer) -> None:
    """The application writes and aborts before the ACK: the RST lies behind what came of it."""
    service = await peer.listen("send-abort:1000")
    cookie = await peer.cookie(service)
    flow = await _opened_before_the_abort(peer, service, cookie)
    try:
        rst = await flow.rst()
    except Missing:
        flow.ack()
        rst = await flow.rst("a RST of an application that aborts")
    await flow.settled()
    flow.require(
        seq.at_most(flow.rcv_nxt, rst.seq),
        "the RST lies before data that came, so that no client believes it (RFC 5961)",
        f"sequence number {flow.rcv_nxt}",
        f"{rst.seq}",
    )

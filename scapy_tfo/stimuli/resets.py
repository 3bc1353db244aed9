"""Resets, what looks like one, and errors that end nothing (RFC 9293 3.5.2 and 3.9.2.2, RFC
5961)."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import seq
from scapy_tfo.icmp import SOFT_ERRORS, unreachable
from scapy_tfo.segment import ACK, PSH, RST
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import stimulus

OLD = 1 << 29
CHALLENGES = 2_100
LATER = 0.1
ACKED = 0.6
"""Seconds in which any ACK has come (RFC 9293 section 3.8.6.3)."""
BEFORE = 40
"""Bytes: fewer than the application has written, as a SYN cookie would be good again otherwise."""
TIMEOUTS = 8.0
"""Seconds in which the answer has come again three times, if the first timeout is a second."""
ECHOED = 10
"""Bytes of the answer that are not acknowledged."""
CROSSED = 1.5
"""Seconds in which what was under way has come, on busy hosts too."""


async def answered_once(peer: Peer) -> Flow:
    """A connection whose application has answered a request."""
    flow = await peer.connect()
    flow.request()
    await flow.answered()
    return flow


async def text_after_a_rst(peer: Peer, text: bytes) -> None:
    """A RST with exactly the next number, and then text.

    It acknowledges less than came: a SYN cookie would be good again where both ends have sent as
    many bytes.
    """
    flow = await answered_once(peer)
    flow.send(RST, text, seq=flow.snd_nxt)
    await flow.pause(CROSSED)
    flow.send(ACK | PSH, b"after the RST", ack=seq.add(flow.rcv_nxt, -ECHOED), once=True)
    await flow.pause(LATER)


@stimulus("TCP-RST-7", needs=["echo"])
async def a_rst_with_the_next_number(peer: Peer) -> None:
    """A RST with exactly the next number ends the connection, and text follows."""
    await text_after_a_rst(peer, b"")


@stimulus("TCP-RST-7", needs=["listeners"])
async def a_rst_right_behind_text(peer: Peer) -> None:
    """A RST with the next number comes while text before it, which nobody answers, waits for its
    ACK; more text follows."""
    flow = await peer.connect(await peer.listen("half-close:100"))
    await flow.until("the target's FIN", lambda: flow.stream.ended, acking=True)
    await flow.pause(LATER)
    flow.sent.append(bytes(BEFORE))
    flow.send(ACK | PSH, flow.sent[-1])
    flow.send(RST)
    await flow.pause(CROSSED)
    flow.send(ACK | PSH, b"after the RST", once=True)
    await flow.pause(ACKED)


@stimulus("TCP-RST-7", needs=["echo"], waits=3.0)
async def a_rst_behind_a_fin(peer: Peer) -> None:
    """A RST with exactly the next number comes once both ends have closed; the target's FIN is not
    acknowledged, and would come again."""
    flow = await answered_once(peer)
    flow.ack()
    flow.fin()
    await flow.until("an ACK of the FIN", lambda: flow.their_rcv_nxt == flow.snd_nxt)
    await flow.until("the target's FIN", lambda: flow.stream.ended)
    flow.send(RST)
    await flow.pause(2 * CROSSED)


@stimulus("TCP-RST-11", needs=["echo"])
async def a_rst_with_text(peer: Peer) -> None:
    """The same with text in the RST."""
    await text_after_a_rst(peer, b"why")


@stimulus("TCP-RST-14", needs=["listeners"])
async def an_application_that_aborts(peer: Peer) -> None:
    """The application writes, and aborts at once."""
    flow = await peer.connect(await peer.listen("send-abort:100"))
    await flow.rst()
    await flow.pause(LATER)


@stimulus("TCP-CHAL-6", needs=["echo"], slow=True, exclusive=True)
async def many_resets_in_the_window(peer: Peer) -> None:
    """Two thousand RSTs inside the window, none at the next number."""
    if peer.target.is_ours and not peer.target.any_source:
        raise Unsupported("the lab's kernel is told to answer every one")
    flow = await answered_once(peer)
    for number in range(CHALLENGES):
        flow.send(RST, seq=seq.add(flow.snd_nxt, 100 + number % 8))
    await flow.pause(LATER)


@stimulus("TCP-CHAL-1", needs=["echo"])
async def a_rst_in_the_window(peer: Peer) -> None:
    """A RST comes in the window, but not at the next number; then a request."""
    flow = await answered_once(peer)
    flow.ack()
    await flow.pause(ACKED)
    flow.send(RST, seq=seq.add(flow.snd_nxt, 100))
    await flow.pause(CROSSED)
    await flow.goes_on()


@stimulus("TCP-CHAL-7", needs=["echo"])
async def text_with_an_old_acknowledgement(peer: Peer) -> None:
    """Text comes beside an acknowledgement that is half a gigabyte too old."""
    flow = await answered_once(peer)
    flow.send(ACK | PSH, b"old", ack=seq.add(flow.rcv_nxt, -OLD), once=True)
    await flow.pause(LATER)


@stimulus("TCP-ICMP-1", "TCP-ICMP-2", "TCP-ICMP-3", "TCP-ICMP-4", needs=["echo"])
async def errors_that_may_pass(peer: Peer) -> None:
    """Each soft error quotes text under way on an open connection, which then goes on."""
    flow = await answered_once(peer)
    for kind, code in SOFT_ERRORS[peer.family]:
        flow.request()
        await flow.answered(acking=False)
        last = next(each for each in flow.heard[::-1] if each.payload)
        flow.send_icmp(replace(unreachable(last.to_bytes(), code=code), type=kind))
        await flow.pause(LATER)
        flow.ack()
    flow.request()
    await flow.answered()


@stimulus("TCP-ICMP-1", needs=["echo"], slow=True)
async def an_error_that_may_pass_and_a_loss(peer: Peer) -> None:
    """A host is unreachable for a while: an error says so, and nothing is acknowledged for some
    timeouts."""
    flow = await answered_once(peer)
    flow.ack()
    flow.request()
    await flow.answered(acking=False)
    last = next(each for each in flow.heard[::-1] if each.payload)
    flow.send_icmp(replace(unreachable(last.to_bytes(), code=SOFT_ERRORS[peer.family][1][1])))
    await flow.pause(TIMEOUTS)
    flow.ack()
    flow.request()
    await flow.answered()


@stimulus("TCP-RST-6", needs=["echo"])
async def an_ordinary_conversation(peer: Peer) -> None:
    """Some requests, one after the other, and the end."""
    flow = await answered_once(peer)
    for size in (1, 100, 2_000):
        flow.request(size)
        await flow.answered()
    await flow.finish()

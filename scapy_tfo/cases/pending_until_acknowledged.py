"""RFC 7413 section 4.2: a fast open counts as pending until its handshake ends, and segments that
end no handshake do not give its place back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from scapy_tfo import seq
from scapy_tfo.icmp import unreachable
from scapy_tfo.segment import ACK, FIN, PSH, RST
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Missing
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

LIMIT = 4
FAR = 1 << 29
"""From the numbers of a connection to those of none."""
REPEATED = 3.5
"""Seconds within which a SYN-ACK is sent again (RFC 6298 section 5.7)."""


async def stays_pending(
    peer: Peer, disturb: Callable[[Flow], None], *, rst: int | None = None, seconds: float = 0.1
) -> None:
    """Fill the limit, do something to each that ends no handshake, and try to open more.

    A target may end a handshake that was disturbed: those count that still answer. rst: how far
    from the ISN of the target a RST is that rejects what was sent.
    """
    service = await peer.small_queue(LIMIT)
    cookie = await peer.cookie(service)
    before = await peer.fill(service, most=2 * LIMIT, cookie=cookie)
    for flow in before:
        disturb(flow)
    await peer.wait(seconds)
    more = await peer.fill(service, most=2 * LIMIT, cookie=cookie)
    peer.record("pending at first", len(before))
    peer.record("accepted then", len(more))
    if not more:
        return
    alive = [flow for flow in before if await _is_alive(flow, rst)]
    peer.record("pending at first, and still alive", len(alive))
    peer.require(
        len(alive) + len(more) <= len(before),
        "more fast opens are pending than before",
        expected=f"at most {len(before)}, the limit found at first",
        actual=f"{len(alive)} that got no ACK, and {len(more)} more",
    )


async def _is_alive(flow: Flow, rst: int | None) -> bool:
    flow.ack(seq=flow.their_rcv_nxt)
    rejecting = None if rst is None else seq.add(flow.irs or 0, rst)
    try:
        return await flow.goes_on(rst=rejecting)
    except Missing:
        return False


def acknowledge_what_was_not_sent(flow: Flow) -> None:
    for _ in range(3):
        flow.send(ACK, ack=seq.add(flow.irs or 0, FAR), once=True)


def acknowledge_the_isn(flow: Flow) -> None:
    for _ in range(3):
        flow.send(ACK, ack=flow.irs or 0, once=True)


def reset_from_outside(flow: Flow) -> None:
    for number in (seq.add(flow.isn, -FAR), seq.add(flow.isn, FAR)):
        flow.send(RST, seq=number, once=True)
        flow.send(ACK | RST, seq=number, once=True)


def send_from_outside(flow: Flow) -> None:
    for number in (seq.add(flow.isn, -FAR), seq.add(flow.isn, FAR)):
        flow.send(ACK, seq=number, once=True)
        flow.send(ACK | PSH, b"outside", seq=number, once=True)


def send_without_ack(flow: Flow) -> None:
    for flags in (PSH, FIN, FIN | PSH):
        flow.send(flags, b"no ACK", seq=flow.their_rcv_nxt, once=True)
        # Nothing of it was taken.
        flow.snd_nxt = flow.their_rcv_nxt


def spoil(flow: Flow) -> None:
    for flags in (ACK, ACK | PSH):
        flow.send(flags, seq=flow.their_rcv_nxt, once=True, checksum=0x1234)


def tell_of_errors_elsewhere(flow: Flow) -> None:
    syn_ack = next(each for each in flow.heard if each.is_syn_ack)
    forged = replace(syn_ack, seq=seq.add(syn_ack.seq, FAR))
    for code in range(5):
        flow.send_icmp(unreachable(forged.to_bytes(), code=code))


def repeat_the_syn(flow: Flow) -> None:
    for _ in range(3):
        flow.again()


def leave(_: Flow) -> None:
    """Do nothing."""


@case("LIM-1", needs=["listeners", "answer"], intrusive=True)
async def an_ack_of_what_was_not_sent_leaves_it_pending(peer: Peer) -> None:
    """ACKs far beyond what was sent, each answered by a RST: no place is given back."""
    await stays_pending(peer, acknowledge_what_was_not_sent, rst=FAR)


@case("LIM-1", needs=["listeners", "answer"], intrusive=True)
async def an_ack_without_the_syn_leaves_it_pending(peer: Peer) -> None:
    """ACKs that acknowledge less than the SYN of the target: no place is given back."""
    await stays_pending(peer, acknowledge_the_isn, rst=0)


@case("LIM-1", needs=["listeners", "answer"], intrusive=True)
async def a_rst_from_outside_leaves_it_pending(peer: Peer) -> None:
    """RSTs with numbers far from the window: no place is given back."""
    await stays_pending(peer, reset_from_outside)


@case("LIM-1", needs=["listeners", "answer"], intrusive=True)
async def text_from_outside_leaves_it_pending(peer: Peer) -> None:
    """ACKs and text with numbers far from the window: no place is given back."""
    await stays_pending(peer, send_from_outside)


@case("LIM-1", needs=["listeners", "answer"], intrusive=True)
async def text_without_ack_leaves_it_pending(peer: Peer) -> None:
    """Text and FINs without ACK, which are dropped: no place is given back."""
    await stays_pending(peer, send_without_ack)


@case("LIM-1", needs=["listeners", "answer"], intrusive=True)
async def a_wrong_checksum_leaves_it_pending(peer: Peer) -> None:
    """The ACK under a wrong checksum: no place is given back."""
    await stays_pending(peer, spoil)


@case("LIM-1", needs=["listeners", "answer"], intrusive=True)
async def an_error_elsewhere_leaves_it_pending(peer: Peer) -> None:
    """ICMP errors about a number that was never sent: no place is given back."""
    await stays_pending(peer, tell_of_errors_elsewhere)


@case("LIM-1", needs=["listeners", "answer"], intrusive=True)
async def copies_of_the_syn_leave_it_pending(peer: Peer) -> None:
    """Each SYN three times more, as it was: no place is given back."""
    await stays_pending(peer, repeat_the_syn)


@case("LIM-1", needs=["listeners", "answer"], slow=True, intrusive=True)
async def a_repeated_syn_ack_leaves_it_pending(peer: Peer) -> None:
    """The target sends its SYN-ACKs again: no place is given back."""
    await stays_pending(peer, leave, seconds=REPEATED)

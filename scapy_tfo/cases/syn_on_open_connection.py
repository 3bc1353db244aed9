"""RFC 9293 section 3.10.7.4, RFC 5961 section 4.2: a SYN for a connection that exists already."""

from __future__ import annotations

from scapy_tfo.segment import ACK
from scapy_tfo.seq import add
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Symptom, shows
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.receiver import shown
from scapy_tfo.suite.registry import case

_BEHIND_EVERY_WINDOW = 1 << 31


async def _established(peer: Peer) -> Flow:
    """A fast open that was accepted and answered, its handshake done."""
    flow = await peer.open()
    await flow.answered()
    flow.ack()
    return flow


def _must_not_open(flow: Flow) -> None:
    """No second connection: no SYN-ACK but that of the first."""
    others = [each for each in flow.heard if each.is_syn_ack and each.seq != flow.irs]
    flow.require(
        not others, "a SYN opened a second connection", "an ACK, a RST or nothing", shown(others)
    )


async def _goes_on(peer: Peer, flow: Flow) -> None:
    """The connection does not end for a SYN outside the window, and nothing is added to it."""
    flow.request()
    await flow.finish()
    _must_not_open(flow)
    challenges = [each for each in flow.heard if each.flags == ACK and not each.payload]
    peer.record("bare ACKs", len(challenges))


async def _goes_on_or_ends(peer: Peer, flow: Flow) -> None:
    """Without RFC 5961 a SYN inside the window may reset the connection; nothing is added."""
    if await peer.goes_on(flow):
        await flow.finish()
    _must_not_open(flow)


@case("DUP-2", needs=["answer"])
async def same_syn_when_established(peer: Peer) -> None:
    """The accepted SYN once more after the handshake: the connection goes on, delivered once."""
    flow = await _established(peer)
    flow.again()
    await _goes_on(peer, flow)


@case("DUP-2", needs=["answer"])
async def same_syn_three_times_when_established(peer: Peer) -> None:
    """The accepted SYN three times more, requests between: delivered once each."""
    flow = await _established(peer)
    for _ in range(3):
        flow.again()
        flow.request()
    await _goes_on(peer, flow)


@case("DUP-2", needs=["answer"])
async def same_syn_straight_after_the_ack(peer: Peer) -> None:
    """The SYN once more, right behind the ACK: the connection goes on, delivered once."""
    flow = await peer.open()
    flow.ack()
    flow.again()
    await _goes_on(peer, flow)


@case("DUP-2", needs=["answer"])
async def other_data_when_established(peer: Peer) -> None:
    """The SYN with other data after the handshake: none of it is delivered."""
    flow = await _established(peer)
    flow.again(payload=flow.app.request())
    await _goes_on(peer, flow)


@case("DUP-2", needs=["answer"])
async def older_isn_when_established(peer: Peer) -> None:
    """Valid cookie, data and an older ISN after the handshake: nothing of it is delivered."""
    flow = await _established(peer)
    flow.again(seq=add(flow.isn, -5000), payload=flow.app.request())
    await _goes_on(peer, flow)


@case("DUP-2", needs=["answer"])
async def distant_isn_when_established(peer: Peer) -> None:
    """Valid cookie, data and an ISN half the number space away: nothing of it is delivered."""
    flow = await _established(peer)
    flow.again(seq=add(flow.isn, _BEHIND_EVERY_WINDOW), payload=flow.app.request())
    await _goes_on(peer, flow)


@case("DUP-2", needs=["answer"])
async def isn_in_the_window_when_established(peer: Peer) -> None:
    """Valid cookie, data and an ISN inside the window: goes on or is reset, nothing delivered."""
    flow = await _established(peer)
    flow.again(seq=add(flow.snd_nxt, 300), payload=flow.app.request())
    await _goes_on_or_ends(peer, flow)


@case("DUP-2", needs=["answer"])
async def next_sequence_number_when_established(peer: Peer) -> None:
    """Valid cookie, data and the sequence number that comes next: goes on or is reset."""
    flow = await _established(peer)
    flow.again(seq=flow.snd_nxt, payload=flow.app.request())
    await _goes_on_or_ends(peer, flow)


@case("DUP-2", needs=["answer"])
async def fast_open_on_a_plain_connection(peer: Peer) -> None:
    """Cookie and data on the 4-tuple and ISN of a plain connection: none of it is delivered."""
    cookie = await peer.cookie()
    flow = await peer.connect()
    request = flow.request()
    await flow.answered()
    snd_nxt = flow.snd_nxt
    flow.syn(cookie=cookie, data=bytes(each ^ 0x20 for each in request))
    flow.sent.pop()
    flow.snd_nxt = snd_nxt
    await _goes_on(peer, flow)


@case("DUP-2", needs=["sessions"])
async def syns_when_established_are_one_session(peer: Peer) -> None:
    """Duplicates after the handshake: the application sees one connection, each byte once."""
    service = await peer.listen()
    flow = await peer.open(service)
    await flow.answered()
    flow.again()
    flow.again(seq=add(flow.isn, -5000), payload=flow.app.request())
    await _goes_on(peer, flow)
    seen = [each for each in await peer.sessions(service) if each.peer[1] == flow.sport]
    flow.require(
        [(each.received, each.eof) for each in seen] == [(b"".join(flow.sent), 1)],
        "a SYN opened a second connection, or was delivered",
        f"one session that received {sum(map(len, flow.sent))} bytes and one end of stream",
        str(seen),
    )


@case("DUP-2", needs=["sessions"])
@shows(missing=Symptom.NEVER_CLOSES)
async def same_syn_before_the_last_ack(peer: Peer) -> None:
    """The SYN once more while the target waits for the ACK of its FIN: not delivered again."""
    service = await peer.listen()
    flow = await peer.open(service)
    await flow.answered()
    flow.fin()
    await flow.until("the target's FIN", lambda: flow.stream.ended)
    flow.again()
    await flow.pause(0.1)
    flow.ack()
    await peer.still_serves(service)
    _must_not_open(flow)
    seen = [each for each in await peer.sessions(service) if each.peer[1] == flow.sport]
    flow.require(
        [each.received for each in seen] == [b"".join(flow.sent)],
        "a SYN was delivered on a connection that was about to close",
        "one session with the SYN's data",
        str(seen),
    )

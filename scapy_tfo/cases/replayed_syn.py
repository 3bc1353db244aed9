"""RFC 7413 sections 2.1 and 6.1, paper 3.5 and 7.1: an old SYN, or an old cookie, sent again."""

from __future__ import annotations

from scapy_tfo.segment import RST
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Missing, Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

_REPLAYS = 20
_POLLS, _BETWEEN_POLLS = 25, 0.02


async def _replayed(peer: Peer, old: Flow, what: str) -> None:
    """Send the SYN of a connection that is over once more; record what becomes of it.

    The path could have kept that duplicate: RFC 7413 accepts that its data is delivered again,
    so every answer is legal. One that opens a connection is held to what connections do.
    """
    # The stack is done with the old connection before its SYN comes back.
    await peer.still_serves()
    flow = peer.flow(like=old, isn=old.isn)
    flow.opening, flow.sent = old.opening, [old.opening.payload]
    flow.snd_nxt = old.opening.end
    flow.again()
    await peer.still_serves()
    answers = [each for each in flow.heard if each.is_syn_ack]
    if not answers:
        peer.record(what, "kept out")
        return
    taken = flow.acknowledged(answers[-1])
    peer.record(what, f"a new connection, {taken} bytes delivered again")
    flow.resend()
    await flow.finish()


@case("DUP-3", needs=["answer"])
async def syn_replayed_after_the_close(peer: Peer) -> None:
    """The SYN once more after the client closed: whether it is delivered a second time."""
    flow = await peer.open()
    await flow.finish()
    await _replayed(peer, flow, "SYN replayed after the close")


@case("DUP-3", needs=["answer"])
async def syn_replayed_after_a_reset(peer: Peer) -> None:
    """The SYN once more after the client reset: whether it is delivered a second time."""
    flow = await peer.open()
    await flow.answered()
    flow.ack()
    flow.reset()
    await _replayed(peer, flow, "SYN replayed after a reset")


@case("DUP-3", needs=["sessions"])
async def syn_replayed_into_time_wait(peer: Peer) -> None:
    """The SYN once more after the server closed first: whether TIME-WAIT keeps it out."""
    service = await peer.listen("send-close:10")
    flow = await peer.open(service)
    await flow.until("the target's FIN", lambda: flow.stream.ended, acking=True)
    flow.fin()
    await flow.until("the ACK of our FIN", lambda: flow.their_rcv_nxt == flow.snd_nxt)
    flow.again()
    await peer.connect(service)
    seen = [each for each in await peer.sessions(service) if each.peer[1] == flow.sport]
    peer.record("sessions after a SYN into TIME-WAIT", len(seen))
    if len(seen) > 1:
        raise Unsupported("a SYN replayed into TIME-WAIT is delivered again")


async def _opened_and_reset(peer: Peer, service: Service, cookie: bytes) -> None:
    """A fast open that ends with the RST of a client that knows nothing of it."""
    flow = peer.flow(service)
    request = flow.app.request()
    flow.syn(cookie=cookie, data=request)
    flow.must_accept(await flow.syn_ack("a SYN-ACK to a replayed SYN"), len(request))
    flow.send(RST, seq=flow.their_rcv_nxt)


@case("DUP-4", needs=["sessions"])
async def replays_that_are_reset_leave_nothing(peer: Peer) -> None:
    """Twenty fast opens, each reset at once: every session ends, and fast open still works."""
    service = await peer.listen()
    cookie = await peer.cookie(service)
    for _ in range(_REPLAYS):
        await _opened_and_reset(peer, service, cookie)
    await (await peer.open(service)).finish()
    for _ in range(_POLLS):
        seen = await peer.sessions(service)
        left = [each for each in seen if not each.closed]
        if not left:
            break
        await peer.wait(_BETWEEN_POLLS)
    peer.record("sessions", f"{len(seen)}, {sum(bool(each.error) for each in seen)} with an error")
    if left:
        raise Missing("sessions stay open", expected="every session ended", actual=str(left))


@case("DUP-4", needs=["answer"])
async def replay_that_is_reset_when_established(peer: Peer) -> None:
    """A fast open whose client answers and then resets: fast open still works afterwards."""
    flow = await peer.open()
    await flow.answered()
    flow.reset()
    await peer.still_serves()
    await (await peer.open()).finish()


@case("DUP-5")
async def cookie_used_twice(peer: Peer) -> None:
    """Whether a cookie is good for one use: refused the second time."""
    cookie = await peer.cookie()
    (await peer.open(cookie=cookie)).ack()
    again = peer.flow()
    again.syn(cookie=cookie, data=again.app.request())
    if again.acknowledged(await again.syn_ack()):
        raise Unsupported("a cookie can be used many times, which is allowed")

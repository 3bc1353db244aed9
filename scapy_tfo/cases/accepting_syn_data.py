"""RFC 7413 section 4.2.2: data in a SYN with a valid cookie, before the handshake ends."""

from __future__ import annotations

from scapy_tfo.segment import PSH, SYN
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.outcome import Absent, Missing, Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

_RESENT = 1.0
"""Seconds after which an answer that was lost is sent again (RFC 6298 section 2)."""

_POLLS, _BETWEEN_POLLS = 30, 0.02


@case("ACC-2")
async def syn_data_is_acknowledged(peer: Peer) -> None:
    """A valid cookie with data: the SYN-ACK acknowledges the SYN and all of its data."""
    flow = await peer.open()
    await flow.finish() if flow.app.answers else flow.ack()


@case("ACC-2", needs=["answer"])
async def answer_comes_before_our_ack(peer: Peer) -> None:
    """The application gets the SYN's data, and answers, before the handshake's ACK."""
    flow = await peer.open()
    try:
        await flow.answered(acking=False)
    except Missing:
        # Holding the answer back is a defence that section 5.2 allows: only the ACK frees it.
        await flow.finish()
        raise Absent("the answer waits for the ACK, which is allowed") from None
    await flow.finish()


@case("ACC-2", needs=["answer"])
async def fast_opens_side_by_side(peer: Peer) -> None:
    """Eight fast opens pending at a time, their ACKs in reverse: each gets its own answer."""
    cookie = await peer.cookie()
    flows = [peer.flow() for _ in range(8)]
    for at, flow in enumerate(flows):
        flow.syn(cookie=cookie, data=flow.app.request(16 + 20 * at))
    for flow in flows:
        flow.must_accept(await flow.syn_ack(), len(flow.sent[0]))
    for flow in reversed(flows):
        await flow.finish()


@case("ACC-2")
async def syn_data_without_push_is_accepted(peer: Peer) -> None:
    """SYN data is taken with PSH and without it."""
    cookie = await peer.cookie()
    for flags in (SYN, SYN | PSH):
        flow = peer.flow()
        request = flow.app.request()
        flow.syn(cookie=cookie, data=request, flags=flags)
        flow.must_accept(await flow.syn_ack(), len(request))
        await flow.finish() if flow.app.answers else flow.ack()


@case("ACC-2", needs=["sessions"])
async def application_has_the_data_before_our_ack(peer: Peer) -> None:
    """Before the handshake's ACK the application has one session with exactly the SYN's data."""
    service = await peer.listen()
    flow = await peer.open(service)
    for _ in range(_POLLS):
        # Of this connection: what the request for a cookie left behind is no matter of this case.
        here = str(flow.source), flow.sport
        seen = [each for each in await peer.sessions(service) if each.peer == here]
        if [each.received for each in seen] == flow.sent:
            return
        await peer.wait(_BETWEEN_POLLS)
    raise Missing(
        "the application does not have the SYN's data before the ACK",
        expected=f"one session that received {flow.sent[0]!r}",
        actual=str(seen),
        packets=flow.cited,
        flow=flow.name,
    )


@case("ACC-6", needs=["answer"])
async def answer_with_or_after_the_syn_ack(peer: Peer) -> None:
    """Whether the answer comes before our ACK, and if so in which segments."""
    flow = await peer.open()
    await flow.until("data before the ACK", lambda: bool(flow.stream.data))
    first = next(each for each in flow.heard if each.payload)
    where = "in the SYN-ACK" if first.is_syn_ack else "in a segment of its own"
    peer.record("answer before the ACK", where)
    await flow.finish()


@case("ACC-6", needs=["listeners"])
async def server_speaks_first_before_the_ack(peer: Peer) -> None:
    """Whether what the application writes on accept comes before our ACK."""
    flow = await peer.open(await peer.listen("send:100"))
    await flow.until("data before the ACK", lambda: len(flow.stream.data) >= 100)


@case("ACC-13", needs=["answer"])
async def answer_held_until_the_ack(peer: Peer) -> None:
    """Whether the answer to accepted data waits for our ACK, against reflection."""

    async def one() -> None:
        flow = await peer.open()
        try:
            await flow.until("data", lambda: bool(flow.stream.data), within=flow.patience + _RESENT)
        except Missing:
            await flow.finish()
        else:
            raise Unsupported("the answer does not wait for the ACK, which is allowed")

    # Three times, lest a lost answer pass for one that waits.
    await together(one() for _ in range(3))

"""RFC 9293 section 3.10.7.4: in SYN-RCVD, segments that acknowledge data that was never sent.

They are answered with RST, or with an ACK under RFC 5961 section 5.2; the connection may go on or
end. Their text and FIN must not be taken.
"""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.segment import ACK, FIN, PSH, SYN, Flags
from scapy_tfo.suite.outcome import Symptom, shows
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

FAR = 1 << 29
"""Far more than any target has sent by then, and half the way to a number that looks old."""


async def rejected(peer: Peer, beyond: int, flags: Flags, *, text: bool = True) -> None:
    """Acknowledge `beyond` behind the target's ISN, with wrong text; nothing of it is taken."""
    flow = await peer.open()
    wrong = flow.app.request() if text else b""
    number = seq.add(flow.irs or 0, beyond)
    start = flow.snd_nxt
    flow.send(flags, wrong, ack=number, once=True)
    flow.snd_nxt = start
    # Overtaken by what ends the handshake, it would be an old ACK, whose text may be taken.
    await flow.settled()
    await peer.goes_on(flow, rst=number)
    peer.record(
        "answer",
        "RST" if any(each.seq == number for each in flow.heard if each.is_rst) else "none or ACK",
    )
    flow.reset()


@case("AFT-4", needs=["echo"])
async def data_on_an_ack_far_beyond(peer: Peer) -> None:
    """An ACK of half a gigabyte too much, with data: the data is not delivered."""
    await rejected(peer, FAR, ACK | PSH)


@case("AFT-4", needs=["echo"])
async def fin_on_an_ack_far_beyond(peer: Peer) -> None:
    """An ACK of half a gigabyte too much, with FIN: the stream does not end."""
    await rejected(peer, FAR, ACK | FIN, text=False)


@case("AFT-4", needs=["echo"])
async def data_and_fin_on_an_ack_far_beyond(peer: Peer) -> None:
    """An ACK of half a gigabyte too much, with data and FIN: neither is taken."""
    await rejected(peer, FAR, ACK | PSH | FIN)


@case("AFT-4", needs=["echo"])
async def data_on_an_ack_of_the_isn(peer: Peer) -> None:
    """An ACK that does not even cover the target's SYN, with data: it is not delivered."""
    await rejected(peer, 0, ACK | PSH)


@case("AFT-4", needs=["echo"])
async def data_and_fin_on_an_old_ack(peer: Peer) -> None:
    """An ACK from far before the target's SYN, with data and FIN: neither is taken."""
    await rejected(peer, -FAR, ACK | PSH | FIN)


@case("AFT-4", needs=["listeners", "sessions"])
@shows(missing=Symptom.NEVER_CLOSES)
async def data_on_an_ack_one_too_high(peer: Peer) -> None:
    """Where nothing was written, an ACK one too high with data: it is not delivered."""
    service = await peer.listen("mute")
    flow = await peer.open(service, data=b"first,")
    start, number = flow.snd_nxt, seq.add(flow.rcv_nxt, 1)
    flow.send(ACK | PSH | FIN, b"wrong!", ack=number, once=True)
    flow.snd_nxt = start
    flow.sent.append(b"second")
    flow.send(ACK | PSH | FIN, b"second")

    def over() -> bool:
        return flow.stream.ended or any(each.is_rst and each.seq != number for each in flow.heard)

    await flow.until("FIN or RST", over, acking=True, may_reset=True)
    session = await peer.session(flow, service)
    got = session.received if session else b""
    flow.require(
        b"first,second".startswith(got),
        "data on an ACK of what was never sent was delivered",
        "'first,second' or a part of it",
        repr(got),
    )


@case("AFT-4", needs=["echo"])
async def syn_ack_in_answer_to_the_syn_ack(peer: Peer) -> None:
    """A SYN-ACK with data in SYN-RCVD: the data is not delivered; the listener goes on."""
    flow = await peer.open()
    flow.send(SYN | ACK, flow.app.request(), seq=flow.isn)
    await peer.goes_on(flow)
    flow.reset()
    await peer.still_serves()

"""RFC 9293 sections 3.10.7.2 and 3.10.7.4: the client's FIN with the SYN, with the ACK, or before
it. All before it is delivered, the end of the stream is told once, and the FIN is acknowledged.
"""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.cases.data_with_the_ack import loses_first_text
from scapy_tfo.lab.apps import pattern
from scapy_tfo.segment import ACK, FIN, PSH, SYN
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Symptom, Unsupported, shows
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

FORGED = bytes(range(8))
PIECE, SEGMENT = 10, 1000
"""Bytes at the edge of a window, and of each segment up to there."""
REST, EVERY = 70, 5
"""Seconds: more than TIME-WAIT takes in most stacks, and between signs of life of ours."""


@shows(missing=Symptom.NEVER_CLOSES)
async def ended(flow: Flow) -> None:
    """Our FIN is out: the whole answer, an acknowledgement of the FIN, and the target's FIN."""
    await flow.answered()
    await flow.until(
        "an acknowledgement of our FIN", lambda: flow.their_rcv_nxt == flow.snd_nxt, acking=True
    )
    await flow.until("the target's FIN", lambda: flow.stream.ended, acking=True)
    await flow.answered()


async def end_told_once(peer: Peer, flow: Flow, service: Service) -> None:
    """The application has read every byte once, and was told of the end once."""
    session = await peer.session(flow, service)
    sent = b"".join(flow.sent)
    seen = (session.received, session.eof) if session else (b"", 0)
    flow.require(
        seen == (sent, 1),
        "the application did not see the stream and one end of it",
        f"{len(sent)} bytes, end told once",
        f"{len(seen[0])} bytes, end told {seen[1]} times",
    )


@case("AFT-2", needs=["echo"])
async def fin_with_the_ack(peer: Peer) -> None:
    """The segment that ends the handshake carries FIN: the SYN's data is answered in full."""
    flow = await peer.open()
    flow.resends = await loses_first_text(peer)
    flow.fin()
    await ended(flow)


@case("AFT-2", needs=["echo"])
async def data_and_fin_with_the_ack(peer: Peer) -> None:
    """The segment that ends the handshake carries data and FIN: both data are answered."""
    flow = await peer.open()
    flow.resends = await loses_first_text(peer)
    flow.request(flags=ACK | FIN)
    await ended(flow)


@case("AFT-2", needs=["echo"])
async def data_and_fin_with_the_ack_after_a_refusal(peer: Peer) -> None:
    """After a forged cookie the ACK carries the data again, and FIN: it is answered once."""
    flow = peer.flow()
    flow.resends = await loses_first_text(peer)
    flow.syn(cookie=FORGED, data=flow.app.request())
    syn_ack = await flow.syn_ack()
    flow.snd_nxt = syn_ack.ack
    flow.send(ACK | PSH | FIN, flow.sent[0][flow.acknowledged(syn_ack) :])
    await ended(flow)


@case("AFT-2", needs=["echo"])
async def fin_before_the_ack(peer: Peer) -> None:
    """FIN without the ACK flag while the handshake is under way; it is sent again with it."""
    flow = await peer.open()
    bare = flow.send(FIN)
    flow.fin(seq=bare.seq)
    await ended(flow)


@case("AFT-2", needs=["echo"])
async def fin_with_the_syn(peer: Peer) -> None:
    """SYN, data and FIN in one segment: dropped, or taken with the FIN or without it."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.syn(cookie=cookie, data=flow.app.request(), flags=SYN | FIN)
    came = any(each.is_syn_ack for each in await flow.pause(0.1))
    peer.record("SYN with FIN", "answered" if came else "dropped")
    if not came:
        flow.snd_nxt = flow.isn
        flow.send(SYN, flow.sent[0], seq=flow.isn, options=[opt.fast_open(cookie)])
    taken = flow.acknowledged(await flow.syn_ack())
    flow.snd_nxt = flow.their_rcv_nxt
    flow.send(ACK if taken > len(flow.sent[0]) else ACK | FIN, flow.sent[0][taken:])
    await ended(flow)


@case("AFT-2", needs=["listeners", "sessions"])
async def end_of_stream_is_told_once(peer: Peer) -> None:
    """FIN with the ACK, sent three times: the application reads all, and one end."""
    service = await peer.listen("echo")
    flow = await peer.open(service)
    fin = flow.fin()
    flow.fin(seq=fin.seq)
    flow.fin(seq=fin.seq)
    await ended(flow)
    await end_told_once(peer, flow, service)


@case("AFT-2", needs=["listeners", "sessions"])
async def end_of_stream_after_data_on_the_ack_is_told_once(peer: Peer) -> None:
    """Data and FIN with the ACK: the application reads the SYN's data, that, and one end."""
    service = await peer.listen("echo")
    flow = await peer.open(service)
    flow.request(flags=ACK | FIN)
    await ended(flow)
    await end_told_once(peer, flow, service)


@case("AFT-2", needs=["listeners", "sessions"])
async def end_of_stream_without_the_ack_flag_is_told_once(peer: Peer) -> None:
    """FIN without the ACK flag, then with it: the application reads one end."""
    service = await peer.listen("echo")
    flow = await peer.open(service)
    bare = flow.send(FIN)
    flow.fin(seq=bare.seq)
    await ended(flow)
    await end_told_once(peer, flow, service)


@case("AFT-2", needs=["listeners", "sessions"])
async def end_of_stream_past_a_gap_waits(peer: Peer) -> None:
    """Data with FIN comes before the data in front of it: all is read, and then the end."""
    service = await peer.listen("echo")
    flow = await peer.open(service)
    first, second = flow.rest() + flow.app.request(), flow.app.request()
    flow.send(ACK | PSH | FIN, second, seq=seq.add(flow.snd_nxt, len(first)))
    flow.send(ACK | PSH, first)
    flow.sent += [first, second]
    flow.snd_nxt = seq.add(flow.snd_nxt, len(second) + 1)
    await ended(flow)
    await end_told_once(peer, flow, service)


@case("AFT-2", needs=["echo"])
async def fin_behind_the_window_goes_with_the_text_before_it(peer: Peer) -> None:
    """Text with FIN reaches beyond the window, and comes again in its turn: delivered once.

    A target that cuts the text off cuts its FIN off, too (RFC 9293 section 3.10.7.4).
    """
    flow = await peer.open()
    flow.ack()
    await flow.answered()
    # What the application has read has moved the window on.
    flow.request()
    await flow.answered()
    window = seq.distance(flow.snd_nxt, flow.heard[-1].ack) + flow.heard[-1].window
    if window < 2 * PIECE:
        raise Unsupported(f"a window of {window} bytes")
    text = flow.app.request(window + PIECE)
    early = seq.add(flow.snd_nxt, window - PIECE)
    flow.send(ACK | PSH | FIN, text[window - PIECE :], seq=early, once=True)
    await flow.settled()
    for at in range(0, len(text), SEGMENT):
        flow.sent.append(text[at : at + SEGMENT])
        flow.send(ACK, flow.sent[-1])
    flow.fin()
    await ended(flow)


@case("AFT-2", needs=["listeners"])
async def half_closed_client_gets_the_whole_answer(peer: Peer) -> None:
    """The client closes with the ACK, before 50,000 bytes have come: all of them come."""
    flow = await peer.open(await peer.listen("send:50000"), data=b"")
    flow.fin()
    await whole_answer(flow)


async def whole_answer(flow: Flow) -> None:
    """Wait for the pattern that the application writes, and the end of it."""
    await flow.until("50,000 bytes and FIN", lambda: flow.stream.ended, acking=True)
    flow.require(
        flow.stream.data == pattern(50_000),
        "the answer to a half-closed client is wrong",
        "50,000 bytes of the pattern",
        f"{len(flow.stream.data)} bytes",
    )


@case("AFT-2", needs=["listeners"], slow=True)
async def fin_that_comes_again_ends_nothing(peer: Peer) -> None:
    """Our FIN comes three times, and then the window stays closed for more than a minute: the rest
    of the answer comes when it opens."""
    flow = await peer.open(await peer.listen("send:50000"), data=b"")
    flow.window = 0
    fin = flow.fin()
    for _ in range(2):
        flow.fin(seq=fin.seq)
    for _ in range(REST // EVERY):
        await flow.pause(EVERY)
        flow.ack()
    flow.window = 65535
    flow.ack()
    await whole_answer(flow)

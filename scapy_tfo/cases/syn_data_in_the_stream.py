"""RFC 9293 sections 3.4 and 3.10.7.4: data accepted from a SYN is the beginning of the stream."""

from __future__ import annotations

from scapy_tfo.cases.data_with_the_ack import loses_first_text
from scapy_tfo.lab.apps import pattern
from scapy_tfo.segment import ACK
from scapy_tfo.seq import add
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

_EVERY_BYTE = bytes(range(256))


@case("ACC-9", needs=["echo"])
async def every_byte_value_survives(peer: Peer) -> None:
    """All 256 byte values in the SYN, and backwards after it, come back as they were."""
    flow = await peer.open(data=_EVERY_BYTE)
    flow.sent.append(_EVERY_BYTE[::-1])
    flow.send(ACK, _EVERY_BYTE[::-1])
    await flow.finish()


@case("ACC-9", needs=["answer"])
async def more_data_in_the_ack(peer: Peer) -> None:
    """A second request in the handshake's ACK follows the SYN's data."""
    flow = await peer.open()
    flow.request()
    await flow.finish()


@case("ACC-9", needs=["answer"])
async def more_data_after_the_answer(peer: Peer) -> None:
    """Requests one after another, each after the answer to the one before."""
    flow = await peer.open()
    for size in (0, 300, 1000):
        await flow.answered()
        flow.request(size)
    await flow.finish()


@case("ACC-9", needs=["echo"])
async def more_data_byte_by_byte(peer: Peer) -> None:
    """Forty segments of one byte follow the SYN's data."""
    flow = await peer.open()
    for byte in _EVERY_BYTE[:40]:
        flow.sent.append(bytes([byte]))
        flow.send(ACK, bytes([byte]))
    await flow.finish()


@case("ACC-9", needs=["answer"])
async def more_data_out_of_order(peer: Peer) -> None:
    """Two requests arrive in reverse, the later one in the handshake's ACK."""
    flow = await peer.open()
    first, second = flow.rest() + flow.app.request(300), flow.app.request(300)
    start = flow.snd_nxt
    flow.sent += [first, second]
    flow.send(ACK, second, seq=add(start, len(first)))
    flow.send(ACK, first)
    flow.snd_nxt = add(start, len(first + second))
    await flow.finish()


async def _again_with_more(peer: Peer, overlap: int, *, altered: bool = False) -> None:
    """Send the end of the SYN's data again, with a second request behind it."""
    flow = await peer.open(data=None)
    kept = flow.sent[0][-overlap:] if overlap else flow.sent[0]
    old = bytes(each ^ 0x20 for each in kept) if altered else kept
    more = flow.app.request()
    flow.sent.append(more)
    flow.send(ACK, old + more, seq=add(flow.snd_nxt, -len(old)))
    flow.snd_nxt = add(flow.snd_nxt, len(more))
    await flow.finish()


@case("ACC-9", needs=["answer"])
async def tail_of_syn_data_sent_again(peer: Peer) -> None:
    """The last ten bytes of the SYN's data in front of more: delivered once."""
    await _again_with_more(peer, 10)


@case("ACC-9", needs=["answer"])
async def all_syn_data_sent_again(peer: Peer) -> None:
    """All of the SYN's data in front of more: delivered once."""
    await _again_with_more(peer, 0)


@case("ACC-9", needs=["answer"])
async def altered_syn_data_sent_again(peer: Peer) -> None:
    """Other bytes at the sequence numbers of the SYN's data: only what is new is delivered."""
    await _again_with_more(peer, 0, altered=True)


@case("ACC-9", needs=["answer"])
async def syn_data_sent_again_alone(peer: Peer) -> None:
    """The SYN's data once more as a plain segment, twice: delivered once."""
    flow = await peer.open()
    for _ in range(2):
        flow.send(ACK, flow.sent[0], seq=add(flow.isn, 1))
    # What lies before the window may be dropped with its acknowledgement.
    flow.ack()
    await flow.finish()


@case("ACC-9", needs=["listeners"])
async def long_answer_comes_whole(peer: Peer) -> None:
    """A long answer that began in a small window: every byte comes once that opens."""
    service = await peer.listen("send:60000")
    cookie = await peer.cookie(service)
    flow = peer.flow(service)
    flow.window = 1000
    request = flow.app.request()
    flow.syn(cookie=cookie, data=request)
    flow.must_accept(await flow.syn_ack(), len(request))
    flow.window = 65535
    flow.ack()
    expected = pattern(60000) + request
    await flow.until("the answer", lambda: len(flow.stream.data) >= len(expected), acking=True)
    flow.require(
        bytes(flow.stream.data) == expected,
        "the answer is not what the application wrote",
        "60000 bytes of the pattern, then the SYN's data",
        f"{len(flow.stream.data)} bytes that differ",
    )


@case("ACC-9", needs=["answer"])
async def text_that_was_overtaken_is_taken(peer: Peer) -> None:
    """Text that acknowledges less than an ACK that overtook it is taken and answered."""
    resends = await loses_first_text(peer)
    flow = await peer.open()
    await flow.answered()
    flow.resends = resends
    text = flow.app.request()
    flow.sent.append(text)
    flow.send(ACK, text, ack=add(flow.irs or 0, 1))
    await flow.answered()
    await flow.finish()


@case("ACC-9", needs=["answer"])
async def text_that_a_small_window_overtook_is_taken(peer: Peer) -> None:
    """Text that was overtaken by an ACK with a small window: how old its own acknowledgement may be
    goes by the largest window that there was (RFC 5961 section 5.2)."""
    resends = await loses_first_text(peer)
    flow = await peer.open()
    await flow.answered()
    flow.window = 1
    flow.ack()
    flow.resends = resends
    text = flow.app.request()
    flow.sent.append(text)
    flow.send(ACK, text, ack=add(flow.irs or 0, 1))
    flow.window = 65535
    flow.ack()
    await flow.answered()
    await flow.finish()

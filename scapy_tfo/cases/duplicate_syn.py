"""RFC 9293 section 3.10.7.4: the accepted SYN, or one like it, sent again while in SYN-RCVD."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.option import RawOption
from scapy_tfo.seq import add, distance
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case


def _options(*options: RawOption) -> bytes:
    """An options field with the MSS and these."""
    return opt.padded(opt.push_options([opt.mss(1220), *options]))


def _must_not_change(flow: Flow) -> None:
    """Every SYN-ACK that came is the same one, and nothing acknowledges what was never sent."""
    answers = {(each.seq, each.ack) for each in flow.heard if each.is_syn_ack}
    flow.require(
        len(answers) <= 1,
        "SYN-ACKs of one connection differ",
        "the same sequence and acknowledgement numbers in each",
        f"{sorted(answers)}",
    )
    most = distance(flow.isn, flow.snd_nxt)
    acks = [distance(flow.isn, each.ack) for each in flow.heard if not each.is_rst]
    flow.require(
        all(1 <= each <= most for each in acks),
        "something never sent is acknowledged",
        f"1 to {most} (relative to our ISN)",
        f"{acks}",
    )


async def _delivers_once(peer: Peer, flow: Flow) -> None:
    """Finish, and demand the answer once."""
    await flow.finish()
    _must_not_change(flow)
    peer.record("SYN-ACKs", sum(each.is_syn_ack for each in flow.heard))


@case("DUP-1", needs=["answer"])
async def same_syn_again(peer: Peer) -> None:
    """The accepted SYN once more before the ACK: delivered once."""
    flow = await peer.open()
    flow.again()
    await _delivers_once(peer, flow)


@case("DUP-1", needs=["answer"])
async def same_syn_doubled_on_the_way(peer: Peer) -> None:
    """The SYN twice in a row, as a path doubles it: delivered once."""
    cookie = await peer.cookie()
    flow = peer.flow()
    request = flow.app.request()
    flow.syn(cookie=cookie, data=request)
    flow.again()
    flow.must_accept(await flow.syn_ack(), len(request))
    await _delivers_once(peer, flow)


@case("DUP-1", needs=["answer"])
async def same_syn_again_after_the_answer(peer: Peer) -> None:
    """The accepted SYN once more after the answer came, before the ACK: delivered once."""
    flow = await peer.open()
    await flow.pause(0.1)
    flow.again()
    await _delivers_once(peer, flow)


@case("DUP-1", needs=["answer"])
async def same_syn_five_times(peer: Peer) -> None:
    """The accepted SYN five times more before the ACK: delivered once."""
    flow = await peer.open()
    for _ in range(5):
        flow.again()
    await _delivers_once(peer, flow)


@case("DUP-1", needs=["answer"])
async def plain_syn_again(peer: Peer) -> None:
    """The SYN again with neither data nor option, as a client's timer sends it: delivered once."""
    flow = await peer.open()
    flow.again(options=_options(), payload=b"")
    await _delivers_once(peer, flow)


@case("DUP-1", needs=["answer"])
async def syn_without_data_again(peer: Peer) -> None:
    """The SYN again with its cookie and no data: delivered once."""
    flow = await peer.open()
    flow.again(payload=b"")
    await _delivers_once(peer, flow)


@case("DUP-1", needs=["answer"])
async def syn_without_option_again(peer: Peer) -> None:
    """The SYN again with its data and no cookie: delivered once."""
    flow = await peer.open()
    flow.again(options=_options())
    await _delivers_once(peer, flow)


@case("DUP-1", needs=["answer"])
async def syn_with_a_request_again(peer: Peer) -> None:
    """The SYN again with an empty cookie: delivered once."""
    flow = await peer.open()
    flow.again(options=_options(opt.fast_open(b"")))
    await _delivers_once(peer, flow)


@case("DUP-1", needs=["answer"])
async def syn_with_a_wrong_cookie_again(peer: Peer) -> None:
    """The SYN again with a wrong cookie: what was accepted stays accepted, delivered once."""
    flow = await peer.open()
    flow.again(options=_options(opt.fast_open(bytes(8))))
    await _delivers_once(peer, flow)


@case("DUP-1", needs=["sessions"])
async def duplicate_syns_are_one_session(peer: Peer) -> None:
    """The SYN again, whole and plain, before the ACK: the application sees one connection."""
    service = await peer.listen()
    flow = await peer.open(service)
    flow.again()
    flow.again(options=_options(), payload=b"")
    await _delivers_once(peer, flow)
    seen = [each for each in await peer.sessions(service) if each.peer[1] == flow.sport]
    flow.require(
        [each.received for each in seen] == [b"".join(flow.sent)],
        "duplicates of a SYN opened a second connection, or were delivered",
        "one session with the SYN's data",
        str(seen),
    )


@case("DUP-1", needs=["answer"])
async def refused_syn_again(peer: Peer) -> None:
    """A refused SYN once more, then its data resent: delivered once."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.syn(cookie=bytes(each ^ 0xFF for each in cookie), data=flow.app.request())
    flow.must_refuse(await flow.syn_ack(), "on a wrong cookie")
    flow.again()
    flow.resend()
    await _delivers_once(peer, flow)


@case("DUP-6", needs=["answer"])
async def syn_with_other_data(peer: Peer) -> None:
    """The SYN again with other data of the same length: what came first is delivered, alone."""
    flow = await peer.open()
    flow.again(payload=bytes(each ^ 0x20 for each in flow.opening.payload))
    await _delivers_once(peer, flow)


@case("DUP-6", needs=["answer"])
async def syn_with_less_data(peer: Peer) -> None:
    """The SYN again with half of its data: nothing is taken back, delivered once."""
    flow = await peer.open()
    flow.again(payload=flow.opening.payload[:8])
    await _delivers_once(peer, flow)


@case("DUP-6", needs=["answer"])
async def syn_with_more_data(peer: Peer) -> None:
    """The SYN again with more data behind: a segment without ACK adds nothing to the stream."""
    flow = await peer.open()
    flow.again(payload=flow.opening.payload + b"beyond")
    await _delivers_once(peer, flow)


@case("DUP-6", needs=["answer"])
async def valid_cookie_after_a_wrong_one(peer: Peer) -> None:
    """A refused SYN, then one on its 4-tuple with the valid cookie: its data is delivered once."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.syn(cookie=bytes(each ^ 0xFF for each in cookie), data=flow.app.request())
    flow.must_refuse(await flow.syn_ack(), "on a wrong cookie")
    flow.again(options=_options(opt.fast_open(cookie)))
    flow.resend()
    await flow.finish()


@case("DUP-6", needs=["answer"])
async def fast_open_after_a_plain_syn(peer: Peer) -> None:
    """A plain SYN, then one on its 4-tuple with cookie and data: that data is delivered once."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.syn()
    await flow.syn_ack()
    request = flow.app.request()
    flow.syn(cookie=cookie, data=request)
    flow.resend()
    await flow.finish()


async def _other_isn(peer: Peer, shift: int, *, data: bool = True) -> None:
    """A SYN with valid cookie and data whose ISN lies `shift` off the pending one's."""
    flow = await peer.open()
    other = flow.app.request() if data else b""
    flow.again(seq=add(flow.isn, shift), payload=other)
    if await peer.goes_on(flow):
        await flow.finish()


@case("DUP-6", needs=["answer"])
async def syn_with_an_older_isn(peer: Peer) -> None:
    """A SYN with an ISN before the pending one's window: it delivers nothing beside it."""
    await _other_isn(peer, -5000)


@case("DUP-6", needs=["answer"])
async def syn_with_an_isn_in_the_window(peer: Peer) -> None:
    """A SYN with an ISN inside the pending one's window: it delivers nothing beside it."""
    await _other_isn(peer, 200)


@case("DUP-6", needs=["answer"])
async def syn_at_the_next_sequence_number(peer: Peer) -> None:
    """A SYN with exactly the sequence number that comes next: it delivers nothing beside it."""
    flow = await peer.open()
    flow.again(seq=flow.snd_nxt, payload=flow.app.request())
    if await peer.goes_on(flow):
        await flow.finish()


@case("DUP-6", needs=["answer"])
async def syn_with_a_distant_isn(peer: Peer) -> None:
    """A SYN with an ISN half the number space away: it delivers nothing beside it."""
    await _other_isn(peer, 1 << 31)


@case("DUP-6", needs=["answer"])
async def plain_syn_with_another_isn(peer: Peer) -> None:
    """A plain SYN with a distant ISN on the 4-tuple of a pending fast open: no harm is done."""
    await _other_isn(peer, 1 << 30, data=False)

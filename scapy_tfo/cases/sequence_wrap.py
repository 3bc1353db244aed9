"""RFC 9293 section 3.4: sequence numbers are modulo 2**32, in the SYN's data too."""

from __future__ import annotations

from collections.abc import Iterable

from scapy_tfo import seq
from scapy_tfo.segment import ACK, PSH
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Missing
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

_SIZE = 64
_WRAP = 1 << 32
_SIGN = 1 << 31


def _around(edge: int) -> list[int]:
    """ISNs that put the edge before, on, inside and behind SYN and data."""
    ahead = (0, 1, 2, 16, _SIZE, _SIZE + 1, _SIZE + 2)
    return [(edge - each) % _WRAP for each in ahead]


async def _accepted(peer: Peer, isns: Iterable[int]) -> None:
    cookie = await peer.cookie()

    async def one(isn: int) -> None:
        flow = peer.flow(isn=isn)
        request = flow.app.request(_SIZE)
        flow.syn(cookie=cookie, data=request)
        flow.must_accept(await flow.syn_ack(), len(request))
        flow.request(_SIZE)
        await flow.finish()

    await together(one(isn) for isn in isns)


async def _refused(peer: Peer, isns: Iterable[int]) -> None:
    cookie = bytes(each ^ 0xFF for each in await peer.cookie())

    async def one(isn: int) -> None:
        flow = peer.flow(isn=isn)
        flow.syn(cookie=cookie, data=flow.app.request(_SIZE))
        flow.must_refuse(await flow.syn_ack(), "on a wrong cookie")
        flow.resend()
        await flow.finish()

    await together(one(isn) for isn in isns)


@case("ACC-11", needs=["answer"])
async def accepted_data_around_zero(peer: Peer) -> None:
    """Sequence number zero before, on, inside and behind accepted data: delivered once."""
    await _accepted(peer, _around(_WRAP))


@case("ACC-11", needs=["answer"])
async def refused_data_around_zero(peer: Peer) -> None:
    """Sequence number zero before, on, inside and behind refused data: delivered when resent."""
    await _refused(peer, _around(_WRAP))


@case("ACC-11", needs=["answer"])
async def accepted_data_around_the_sign(peer: Peer) -> None:
    """Sequence number 2**31 before, on, inside and behind accepted data: delivered once."""
    await _accepted(peer, _around(_SIGN))


@case("ACC-11", needs=["answer"])
async def refused_data_around_the_sign(peer: Peer) -> None:
    """Sequence number 2**31 before, on, inside and behind refused data: delivered when resent."""
    await _refused(peer, _around(_SIGN))


@case("ACC-11", needs=["answer"])
async def zero_in_data_without_a_cookie(peer: Peer) -> None:
    """A plain SYN whose data crosses zero: delivered once, resent where not acknowledged."""
    flow = peer.flow(isn=_WRAP - 16)
    flow.syn(data=flow.app.request(_SIZE))
    await flow.syn_ack()
    flow.resend()
    await flow.finish()


async def _reversed(flow: Flow, first: bytes, *others: bytes) -> None:
    """Send requests, the last in front, and close."""
    pieces = [flow.rest() + first, *others]
    begin = flow.snd_nxt
    starts = [seq.add(begin, sum(map(len, pieces[:at]))) for at in range(len(pieces))]
    for start, piece in reversed(list(zip(starts, pieces, strict=True))):
        flow.send(ACK | PSH, piece, seq=start)
    flow.sent += pieces
    flow.snd_nxt = seq.add(begin, sum(map(len, pieces)))
    # Before an ACK of ours may help the target on.
    await flow.until("an acknowledgement of all", lambda: flow.their_rcv_nxt == flow.snd_nxt)
    await flow.finish()


async def _keeps_what_comes_early(peer: Peer, pieces: int = 2) -> bool:
    """Whether text past a gap is kept, far from zero: it need not be (RFC 9293 SHLD-31)."""
    flow = await peer.open(isn=_SIGN >> 1)
    flow.resends = False
    try:
        await _reversed(flow, *(flow.app.request() for _ in range(pieces)))
    except Missing:
        return False
    return True


@case("ACC-11", needs=["answer"])
async def gap_before_zero(peer: Peer) -> None:
    """Data from zero on comes before the data that ends at zero: delivered in order, once."""
    keeps = await _keeps_what_comes_early(peer)
    data, first, second = (peer.main.app.request() for _ in range(3))
    flow = await peer.open(data=data, isn=_WRAP - 1 - len(data) - len(first))
    # A target that keeps what comes early does so across zero.
    flow.resends = not keeps
    await _reversed(flow, first, second)


async def _backwards(peer: Peer, edge: int) -> None:
    """Four pieces come last first, the edge at the beginning of each, and in the last."""
    keeps = await _keeps_what_comes_early(peer, 4)
    cookie = await peer.cookie()

    async def one(before: int) -> None:
        data, *pieces = (peer.main.app.request() for _ in range(5))
        isn = (edge - 1 - len(data) - sum(map(len, pieces[:before]))) % _WRAP
        isn = isn if before < 4 else (isn + 5) % _WRAP
        flow = await peer.open(data=data, isn=isn, cookie=cookie)
        flow.resends = not keeps
        await _reversed(flow, *pieces)

    await together(one(before) for before in range(5))


@case("ACC-11", needs=["answer"])
async def pieces_backwards_around_zero(peer: Peer) -> None:
    """Four pieces around zero come last first: delivered in order, once."""
    await _backwards(peer, _WRAP)


@case("ACC-11", needs=["answer"])
async def pieces_backwards_around_the_sign(peer: Peer) -> None:
    """Four pieces around 2**31 come last first: delivered in order, once."""
    await _backwards(peer, _SIGN)


@case("ACC-11", needs=["answer"])
async def old_and_new_data_across_zero(peer: Peer) -> None:
    """Data from before zero again, with new data behind zero: the new alone is added."""
    data, new = peer.main.app.request(), peer.main.app.request()
    flow = await peer.open(data=data, isn=_WRAP - 1 - len(data))
    rest = flow.rest()
    old = data[-max(8, len(rest)) :]
    flow.send(ACK | PSH, old + new, seq=_WRAP - len(old))
    flow.sent.append(rest + new)
    flow.snd_nxt = len(new)
    await flow.finish()


@case("ACC-11", needs=["echo"])
async def windows_are_read_behind_zero(peer: Peer) -> None:
    """The numbers come round to zero in a small window, which opens behind that: more than it held
    comes before anything is acknowledged."""
    cookie = await peer.cookie()
    flow = peer.flow(isn=_WRAP - _SIZE // 2)
    flow.window = _SIZE
    flow.syn(cookie=cookie)
    await flow.syn_ack()
    flow.ack()
    flow.request(_SIZE)
    await flow.answered()
    flow.window = 65535
    flow.ack()
    known = flow.rcv_nxt
    flow.request(3 * _SIZE)
    await flow.until(
        "more than the small window held",
        lambda: seq.distance(known, flow.rcv_nxt) > _SIZE,
    )
    await flow.finish()

"""RFC 9293 section 3.4: sequence numbers are modulo 2**32, in the SYN's data too."""

from __future__ import annotations

from collections.abc import Iterable

from scapy_tfo.segment import ACK, PSH
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.together import together

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


@case("ACC-11", needs=["answer"])
async def gap_before_zero(peer: Peer) -> None:
    """Data from zero on comes before the data that ends at zero: delivered in order, once."""
    data, first, second = (peer.main.app.request() for _ in range(3))
    flow = await peer.open(data=data, isn=_WRAP - 1 - len(data) - len(first))
    flow.send(ACK | PSH, second, seq=0)
    flow.send(ACK | PSH, first)
    flow.sent += [first, second]
    flow.snd_nxt = len(second)
    await flow.finish()


@case("ACC-11", needs=["answer"])
async def old_and_new_data_across_zero(peer: Peer) -> None:
    """Data from before zero again, with new data behind zero: the new alone is added."""
    data, new = peer.main.app.request(), peer.main.app.request()
    flow = await peer.open(data=data, isn=_WRAP - 1 - len(data))
    flow.send(ACK | PSH, data[-8:] + new, seq=_WRAP - 8)
    flow.sent.append(new)
    flow.snd_nxt = len(new)
    await flow.finish()

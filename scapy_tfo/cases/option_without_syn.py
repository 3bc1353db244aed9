"""RFC 7413 section 4.1.1: an option on a segment without SYN is ignored, in every state."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.option import RawOption
from scapy_tfo.segment import ACK, FIN, PSH, Segment
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Absent, Missing, Symptom, Unsupported, shows
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.receiver import shown
from scapy_tfo.suite.registry import case

REQUEST = opt.fast_open()
MADE_UP = opt.fast_open(b"\x5a\xa5" * 4)


async def _options(peer: Peer) -> list[RawOption]:
    """What a confused target might act on: a valid cookie first, where there is one."""
    options = [REQUEST, MADE_UP, opt.fast_open(b"\x5a\xa5\x5a")]
    try:
        return [opt.fast_open(await peer.cookie()), *options]
    except Unsupported:
        return options


def _none_came_back(flow: Flow) -> None:
    """No segment of the target's but its SYN-ACK may carry the option, whatever it was sent."""
    for each in flow.heard:
        flow.require(
            each.is_syn_ack or not each.fast_open,
            "the option came on a segment that is no SYN-ACK",
            "no Fast Open option after the SYN-ACK",
            str(each),
        )


@case("OPT-4", needs=["answer"])
async def on_the_ack_of_the_handshake(peer: Peer) -> None:
    """The option on the ACK that ends a plain handshake changes nothing."""

    async def one(option: RawOption) -> None:
        flow = peer.flow()
        flow.syn()
        await flow.syn_ack()
        flow.ack(options=[option])
        flow.request()
        await flow.finish()
        _none_came_back(flow)

    await together([one(option) for option in await _options(peer)])


@case("OPT-4", needs=["answer"])
async def on_data(peer: Peer) -> None:
    """The option on data of an established connection: delivered once, no cookie in answer."""

    async def one(option: RawOption) -> None:
        flow = await peer.connect()
        for _ in range(2):
            data = flow.app.request()
            flow.sent.append(data)
            flow.send(ACK | PSH, data, options=[option])
        await flow.finish()
        _none_came_back(flow)

    await together([one(option) for option in await _options(peer)])


@case("OPT-4", needs=["answer"])
async def on_a_fin(peer: Peer) -> None:
    """The option on our FIN: the connection closes in order."""

    @shows(missing=Symptom.NEVER_CLOSES)
    async def one(option: RawOption) -> None:
        flow = await peer.connect()
        flow.request()
        await flow.answered()
        flow.fin(options=[option])
        await flow.until("the target's FIN", lambda: flow.stream.ended, acking=True)
        _none_came_back(flow)

    await together([one(option) for option in await _options(peer)])


@case("OPT-4")
async def on_a_reset(peer: Peer) -> None:
    """A RST with the option resets: the same ports can be used for a new connection at once."""

    async def again(options: list[RawOption]) -> tuple[Flow, Segment]:
        old = await peer.connect()
        old.reset(options=options)
        await old.settled()
        flow = peer.flow(like=old)
        flow.syn()
        # One that answers the old SYN may still come, where the path lost the RST.
        what = "a SYN-ACK to a new SYN after the RST"
        return flow, await flow.expect(
            what, lambda each: each.is_syn_ack and not flow.acknowledged(each)
        )

    async def one(option: RawOption) -> None:
        try:
            flow, answer = await again([option])
        except Missing:
            try:
                await again([])
            except Missing:
                rests = "a 4-tuple takes no SYN after a RST without the option either"
                raise Absent(rests) from None
            raise
        flow.require(
            not answer.fast_open,
            "the option on a RST is answered at the next SYN",
            "a SYN-ACK without a Fast Open option",
            str(answer),
        )

    await together([one(option) for option in await _options(peer)])


@case("OPT-4", "SRV-8")
async def while_the_fast_open_is_pending(peer: Peer) -> None:
    """The option on the ACK and on data behind an accepted fast open changes nothing."""

    async def one(option: RawOption) -> None:
        flow = await peer.open()
        flow.ack(options=[option])
        data = flow.app.request()
        flow.sent.append(data)
        flow.send(ACK | PSH, data, options=[option])
        if flow.app.answers:
            await flow.finish()
        _none_came_back(flow)

    await together([one(option) for option in await _options(peer)])


@case("OPT-4", needs=["answer"])
async def after_a_refusal(peer: Peer) -> None:
    """A valid cookie on the ACK after a refused one does not bring the SYN's data back."""
    cookie = await peer.cookie()
    flow = peer.flow()
    data = flow.app.request()
    flow.syn(cookie=b"\x5a\xa5" * 4, data=data)
    flow.must_refuse(await flow.syn_ack(), "on a made-up cookie")
    flow.ack(seq=flow.their_rcv_nxt, options=[opt.fast_open(cookie)])
    flow.send(ACK | PSH, data, seq=flow.their_rcv_nxt, options=[opt.fast_open(cookie)])
    await flow.finish()
    _none_came_back(flow)


@case("OPT-4")
async def without_a_connection(peer: Peer) -> None:
    """Data with a valid cookie but no SYN opens nothing: a RST at most comes back."""
    cookie = await peer.cookie()

    flows = [peer.flow() for _ in range(4)]
    for flow, flags in zip(flows, (ACK, ACK | PSH, ACK | FIN, PSH), strict=True):
        flow.send(flags, flow.app.request(), ack=1, options=[opt.fast_open(cookie)])
    await peer.still_serves()
    for flow in flows:
        flow.require(
            all(each.is_rst for each in flow.heard),
            "data with a cookie but no SYN was answered",
            "a RST or nothing",
            shown(flow.heard),
        )

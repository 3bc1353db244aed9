"""RFC 9293 section 3.10.7.2: a SYN with a Fast Open option that also has FIN, RST or ACK set."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, URG, Flags
from scapy_tfo.seq import add
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.receiver import shown
from scapy_tfo.suite.registry import case


def _must_not_connect(flow: Flow, what: str) -> None:
    """No SYN-ACK came in answer; a RST or nothing is right."""
    wrong = [each for each in flow.heard if each.is_syn_ack]
    flow.require(not wrong, f"{what} opened a connection", "a RST or nothing", shown(wrong[-1:]))


async def _opens_nothing(peer: Peer, flags: Flags, what: str) -> None:
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.syn(cookie=cookie, data=flow.app.request(), flags=flags, ack=0x01234567)
    # Nothing need come in answer, so what is waited for is another connection.
    await peer.still_serves()
    _must_not_connect(flow, what)
    peer.record(f"answer to {what}", flow.heard[-1] if flow.heard else "none")


@case("ACC-12")
async def syn_with_rst_opens_nothing(peer: Peer) -> None:
    """SYN and RST with a valid cookie and data: ignored; the listener goes on."""
    await _opens_nothing(peer, SYN | RST, "a SYN with RST")


@case("ACC-12")
async def syn_with_ack_opens_nothing(peer: Peer) -> None:
    """SYN and ACK with a valid cookie and data: a RST or nothing; the listener goes on."""
    await _opens_nothing(peer, SYN | ACK, "a SYN with ACK")


@case("ACC-12")
async def syn_with_rst_and_ack_opens_nothing(peer: Peer) -> None:
    """SYN, RST and ACK with a valid cookie and data: ignored; the listener goes on."""
    await _opens_nothing(peer, SYN | RST | ACK, "a SYN with RST and ACK")


@case("ACC-12")
async def syn_with_every_flag_opens_nothing(peer: Peer) -> None:
    """Every flag at once with a valid cookie and data: ignored; the listener goes on."""
    await _opens_nothing(peer, SYN | FIN | RST | PSH | ACK | URG, "a SYN with every flag")


@case("ACC-12", needs=["answer"])
async def good_syn_after_one_with_rst(peer: Peer) -> None:
    """A SYN with RST, then a good one with other data on the same 4-tuple: that alone counts."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.syn(cookie=cookie, data=flow.app.request(), flags=SYN | RST)
    flow.sent.clear()
    request = flow.app.request(200)
    flow.syn(cookie=cookie, data=request)
    flow.must_accept(await flow.syn_ack(), len(request))
    await flow.finish()


async def _with_fin(peer: Peer, cookie: bytes) -> None:
    """A SYN with data and FIN: dropped, reset, or all of it answered once and then closed."""
    flow = peer.flow()
    flow.syn(cookie=cookie, data=flow.app.request(), flags=SYN | FIN)
    await peer.still_serves()
    peer.record("answer to a SYN with FIN", flow.heard[0] if flow.heard else "none")
    if not flow.heard or flow.heard[0].is_rst:
        return
    await flow.syn_ack("a SYN-ACK, if anything, to a SYN with FIN")
    taken = flow.their_rcv_nxt == flow.snd_nxt
    if taken:
        # An ACK in front of the FIN would end no handshake.
        flow.ack()
        await flow.answered()
    flow.snd_nxt = add(flow.snd_nxt, -1)
    if not taken:
        flow.resend()
    # The FIN goes out again, with the number that it had.
    await flow.finish()


@case("ACC-12", needs=["answer"])
async def syn_with_fin_and_a_cookie(peer: Peer) -> None:
    """SYN and FIN with a valid cookie and data: dropped, reset, or answered once and closed."""
    await _with_fin(peer, await peer.cookie())


@case("ACC-12", needs=["answer"])
async def syn_with_fin_and_a_wrong_cookie(peer: Peer) -> None:
    """SYN and FIN with a wrong cookie and data: dropped, reset, or plain TCP goes on."""
    await _with_fin(peer, bytes(each ^ 0xFF for each in await peer.cookie()))


@case("ACC-12a", needs=["close"])
async def closed_port_resets_a_fast_open(peer: Peer) -> None:
    """A cookie with data to a closed port: a RST that acknowledges all of the SYN."""
    service = await peer.listen()
    cookie = await peer.cookie(service)
    await peer.hooks.close_listener(service.port)
    flow = peer.flow(service)
    sent = flow.syn(cookie=cookie, data=flow.app.request())
    rst = await flow.rst()
    flow.require(
        (rst.seq, rst.ack) == (0, sent.end),
        "the RST of a closed port is not the one of plain TCP",
        f"RST and ACK, sequence number 0, acknowledging {sent.end}",
        str(rst),
    )


@case("ACC-14", needs=["answer"])
async def syn_with_a_wrong_checksum_is_dropped(peer: Peer) -> None:
    """A valid cookie and data under a wrong checksum, then a good SYN: that alone counts."""
    cookie = await peer.cookie()
    flow = peer.flow()
    options = opt.padded(opt.push_options([opt.mss(flow.mss), opt.fast_open(cookie)]))
    data = flow.app.request()
    bad = replace(flow.opening, seq=flow.isn, flags=SYN, options=options, payload=data)
    field = bad.to_bytes()[-len(options + data) - 4 :][:2]
    flow.opening = bad
    flow.again(checksum=int.from_bytes(field, "big") ^ 0x5555)
    request = flow.app.request(200)
    flow.syn(cookie=cookie, data=request)
    flow.must_accept(await flow.syn_ack(), len(request))
    await flow.finish()

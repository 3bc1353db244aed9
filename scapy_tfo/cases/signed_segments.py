"""RFC 2385: fast open beside TCP MD5, whose signature takes half of the room for options.

The signature is checked before all else (RFC 2385 section 2.0), whatever cookie a SYN has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.lab.app_registry import md5_key
from scapy_tfo.option import RawOption
from scapy_tfo.segment import ACK, FIN, PSH, RST, Flags, Segment
from scapy_tfo.suite.context.signing import signed
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Skipped, Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

_FIXED = ("times", "fill", "urgent")
"""Factors of a context that take room in the header, or change what was signed."""

_SACK = opt.sack_permitted()
_BESIDE_A_REQUEST: tuple[Sequence[RawOption], ...] = (
    (),
    (_SACK,),
    (opt.window_scale(7),),
    (opt.timestamps(1000, 0),),
    (_SACK, opt.timestamps(1000, 0)),
)
_KEY_SIZE = 16
"""Bytes."""

_SIGNATURE = 20
"""Bytes of the options, with what pads it."""

_OTHER_KEY = b"another key"
_SILENT = 0.3
"""Seconds in which a dropped SYN gets no answer."""


async def _signed(peer: Peer) -> Service:
    """An echo that demands TCP MD5; all that is sent to it is signed."""
    try:
        service = await peer.listen(f"signed:{_KEY_SIZE}")
    except ValueError as error:
        raise Skipped(f"needs TCP MD5: {error}") from None
    return replace(service, app=peer.main.app, md5=md5_key(_KEY_SIZE))


def _fast_open(flow: Flow, cookie: bytes) -> None:
    """A signed SYN with a cookie and data; without MSS where a long cookie leaves no room."""
    every = [opt.mss(flow.mss), opt.fast_open(cookie)]
    size = len(opt.padded(opt.push_options(every)))
    fits = size + _SIGNATURE <= opt.MAX_OPTIONS
    flow.syn_with(every if fits else every[1:], flow.app.request())


@case("SRV-8", "ACC-2", needs=["echo", "listeners"], fixed=(*_FIXED, "shift"))
async def cookies_beside_signatures_are_whole(peer: Peer) -> None:
    """What is granted beside TCP MD5 and other options, where there is little room, is whole: all
    such cookies are good for a signed fast open, or none is."""
    service = await _signed(peer)
    granted, good = list[int](), list[bool]()
    refused: Flow | None = None
    for options in _BESIDE_A_REQUEST:
        asking = peer.flow(service)
        asking.syn(cookie=b"", options=options)
        syn_ack = await asking.syn_ack("a SYN-ACK to a signed request")
        asking.must_be_signed(syn_ack)
        asking.hang_up()
        if not syn_ack.cookie:
            continue
        granted.append(len(syn_ack.cookie))
        flow = peer.flow(service)
        _fast_open(flow, syn_ack.cookie)
        answer = await flow.syn_ack("a SYN-ACK to a signed fast open")
        flow.must_be_signed(answer)
        good.append(flow.acknowledged(answer) > 0)
        refused = refused if good[-1] else flow
        flow.hang_up()
    if not any(good):
        raise Unsupported(f"no fast open beside TCP MD5: {len(granted)} cookies granted, none good")
    if refused is not None:
        raise refused.failed(
            "a cookie that was granted beside TCP MD5 and other options is refused",
            "each of these cookies good, since one of them is",
            f"{good.count(False)} of {len(granted)} refused; bytes of each: {granted}",
        )


@case("ACC-9", needs=["echo", "listeners"], fixed=_FIXED)
async def signed_data_arrives_once(peer: Peer) -> None:
    """A signed fast open, and what follows it: all is answered once, and each answer is signed."""
    service = await _signed(peer)
    cookie = await peer.cookie(service)
    flow = peer.flow(service)
    _fast_open(flow, cookie)
    syn_ack = await flow.syn_ack("a SYN-ACK to a signed fast open")
    if not flow.acknowledged(syn_ack):
        raise Unsupported("no fast open beside TCP MD5")
    flow.must_accept(syn_ack, len(flow.opening.payload))
    flow.ack()
    flow.request(300)
    await flow.finish()
    # A host that has forgotten a connection, and with it the key, resets unsigned (section 4.1).
    for each in flow.heard:
        if not each.is_rst:
            flow.must_be_signed(each)


@case("ACC-14", needs=["echo", "listeners"], fixed=_FIXED)
async def data_without_the_signature_is_dropped(peer: Peer) -> None:
    """A good cookie with data, signed with another key or not at all: nothing of it is taken."""
    service = await _signed(peer)
    cookie = await peer.cookie(service)
    for key, how in ((_OTHER_KEY, "that is signed with another key"), (b"", "that is not signed")):
        flow = peer.flow(replace(service, md5=key))
        _fast_open(flow, cookie)
        heard = await flow.pause(_SILENT)
        flow.require(
            not any(each.is_syn_ack for each in heard),
            f"a SYN {how} is taken",
            "no SYN-ACK",
            f"{len(heard)} segment(s)",
        )
    await peer.still_serves(service)


def _forged(flow: Flow, flags: Flags, text: bytes = b"") -> Segment:
    """What would come next in a conversation, not signed yet."""
    return Segment(
        src=flow.source,
        dst=flow.target,
        sport=flow.sport,
        dport=flow.dport,
        seq=flow.snd_nxt,
        ack=flow.rcv_nxt,
        flags=flags | ACK,
        window=flow.window,
        payload=text,
    )


@case("ACC-14", needs=["echo", "listeners"], fixed=("fill", "urgent"))
async def segments_without_the_signature_do_nothing(peer: Peer) -> None:
    """Text, FIN and RST on an open signed connection, with another key's signature or none: the
    conversation goes on behind them (RFC 2385 section 2.0)."""
    service = await _signed(peer)
    flow = await peer.connect(service)
    flow.request()
    await flow.answered()
    for flags, text in ((PSH, b"forged"), (FIN, b""), (RST, b"")):
        forged = _forged(flow, flags, text)
        flow.send_beside(forged.to_bytes(), "not signed")
        flow.send_beside(signed(forged, _OTHER_KEY).to_bytes(), "signed with another key")
    await flow.pause(_SILENT)
    flow.request(300)
    await flow.finish()

"""RFC 7413 sections 2 and 4.2: a listener for which the application did not turn fast open on."""

from __future__ import annotations

from collections.abc import Iterable

from scapy_tfo import option as opt
from scapy_tfo.cases.data_with_the_ack import loses_first_text
from scapy_tfo.option import RawOption
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

_MALFORMED = tuple(
    RawOption(opt.TFO, length, b"\x5a" * data)
    for length, data in ((0, 0), (1, 0), (3, 1), (4, 2), (5, 3), (7, 5), (11, 9), (20, 18), (40, 8))
)
_LATER = 0.1
"""Seconds in which a target that delivers at once would have answered."""


def _plain(peer: Peer) -> Service:
    assert peer.target.plain is not None
    return peer.target.plain


def _must_be_silent_on_fast_open(flows: Iterable[Flow]) -> None:
    """Every SYN-ACK that came is one of plain TCP."""
    for flow in flows:
        for each in flow.heard:
            flow.require(
                not each.fast_open,
                "a listener with fast open off sent a Fast Open option",
                "a SYN-ACK without a Fast Open option",
                str(each),
            )


@case("ACC-1", needs=["plain_port"])
async def fast_open_off_grants_no_cookie(peer: Peer) -> None:
    """A request to a listener with fast open off: a SYN-ACK without a Fast Open option."""
    flow = peer.flow(_plain(peer))
    flow.syn(cookie=b"")
    await flow.syn_ack("a SYN-ACK to a cookie request")
    flow.ack()
    if flow.app.answers:
        flow.request()
        await flow.finish()
    _must_be_silent_on_fast_open([flow])


@case("ACC-1", needs=["plain_port"])
async def fast_open_off_grants_no_experimental_cookie(peer: Peer) -> None:
    """A request in the experimental form to a listener with fast open off is ignored."""
    flow = peer.flow(_plain(peer))
    flow.syn(options=[opt.fast_open(b"", form=opt.Form.EXPERIMENT_2)])
    await flow.syn_ack("a SYN-ACK to an experimental cookie request")
    _must_be_silent_on_fast_open([flow])


@case("ACC-1", needs=["plain_port"])
async def fast_open_off_refuses_a_valid_cookie(peer: Peer) -> None:
    """A cookie that the host's other listener granted does nothing: the data is not accepted on
    its strength, nor delivered before the ACK, and is delivered once.
    """
    cookie = await peer.cookie()
    flow = peer.flow(_plain(peer))
    flow.resends = await loses_first_text(peer)
    flow.syn(cookie=cookie, data=flow.app.request())
    syn_ack = await flow.syn_ack()
    if flow.acknowledged(syn_ack) and await peer.takes_any_data(_plain(peer)):
        # RFC 9293 lets it keep the data of any SYN until the handshake ends.
        peer.record("data in a SYN", "acknowledged without any option, too")
        await flow.pause(_LATER)
        early = bytes(flow.stream.data)
        reason = "a listener with fast open off delivered data before the ACK"
        flow.require(not early, reason, "no answer before the ACK", f"answer {early!r}")
    else:
        flow.must_refuse(syn_ack, "by a listener with fast open off")
    _must_be_silent_on_fast_open([flow])
    flow.resend()
    if flow.app.answers:
        await flow.finish()


@case("ACC-1", needs=["plain_port"])
async def fast_open_off_ignores_a_cookie_without_data(peer: Peer) -> None:
    """A valid cookie and no data at a listener with fast open off: a plain connection."""
    cookie = await peer.cookie()
    flow = peer.flow(_plain(peer))
    flow.resends = await loses_first_text(peer)
    flow.syn(cookie=cookie)
    await flow.syn_ack()
    flow.request()
    if flow.app.answers:
        await flow.finish()
    _must_be_silent_on_fast_open([flow])


@case("ACC-1", needs=["plain_port"])
async def fast_open_off_ignores_malformed_options(peer: Peer) -> None:
    """Fast Open options of wrong lengths at a listener with fast open off bring no cookie."""
    flows = [peer.flow(_plain(peer)) for _ in _MALFORMED]
    for flow, option in zip(flows, _MALFORMED, strict=True):
        flow.syn(options=[option])
    # RFC 9293 lets a malformed segment be dropped, so what is waited for is a sound one.
    await peer.still_serves(_plain(peer))
    _must_be_silent_on_fast_open(flows)

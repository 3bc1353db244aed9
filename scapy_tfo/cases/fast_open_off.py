"""RFC 7413 sections 2 and 4.2: a listener for which the application did not turn fast open on."""

from __future__ import annotations

from collections.abc import Iterable

from scapy_tfo import option as opt
from scapy_tfo.option import RawOption
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

_MALFORMED = tuple(
    RawOption(opt.TFO, length, b"\x5a" * data)
    for length, data in ((0, 0), (1, 0), (3, 1), (4, 2), (5, 3), (7, 5), (11, 9), (20, 18), (40, 8))
)


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
    """A cookie that the host's other listener granted: the SYN-ACK acknowledges the SYN only, and
    the data is delivered once when resent.
    """
    cookie = await peer.cookie()
    flow = peer.flow(_plain(peer))
    flow.syn(cookie=cookie, data=flow.app.request())
    flow.must_refuse(await flow.syn_ack(), "by a listener with fast open off")
    _must_be_silent_on_fast_open([flow])
    flow.resend()
    if flow.app.answers:
        await flow.finish()


@case("ACC-1", needs=["plain_port"])
async def fast_open_off_ignores_a_cookie_without_data(peer: Peer) -> None:
    """A valid cookie and no data at a listener with fast open off: a plain connection."""
    cookie = await peer.cookie()
    flow = peer.flow(_plain(peer))
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

"""RFC 7413 section 4.1.1 and RFC 9293 section 3.2: the option's place among the others.

No alignment is required (RFC 9293 MUST-64), NOPs may stand anywhere, and whatever follows End of
Option List is padding.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from scapy_tfo import option as opt
from scapy_tfo.cases.cookie_granting import granted
from scapy_tfo.option import RawOption
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Absent
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

Options = Sequence[RawOption]

NOP = opt.nop()
SACK = opt.sack_permitted()
SCALE = opt.window_scale(7)


def _placements(size: int, tfo: RawOption) -> dict[str, Options]:
    """The option at every place and alignment that leaves room for 16 bytes of cookie."""
    mss = opt.mss(size)
    return {
        "alone": [tfo],
        "first": [tfo, mss, SACK],
        "last": [mss, SACK, SCALE, tfo],
        "between others": [mss, tfo, SACK, NOP, SCALE],
        "after one NOP": [NOP, tfo, mss],
        "after two NOPs": [NOP, NOP, tfo, mss],
        "after three NOPs": [mss, NOP, NOP, NOP, tfo],
        "after eleven NOPs": [*[NOP] * 11, tfo],
        "before NOPs": [tfo, *[NOP] * 10, mss],
        "among NOPs": [NOP, mss, NOP, NOP, tfo, NOP, SACK, NOP],
        "filled up with NOPs": [mss, tfo, NOP, NOP],
    }


@case("OPT-5")
async def a_request_is_understood_anywhere(peer: Peer) -> None:
    """A cookie request at any place, alignment and padding is granted like the usual one."""
    missed = {}
    places = _placements(peer.largest_segment, opt.fast_open())
    for place, options in places.items():
        flow = peer.flow()
        flow.syn_with(options)
        if not (await flow.syn_ack()).cookie:
            missed[place] = functools.partial(Flow.syn_with, options=options)
    if len(missed) == len(places):
        raise Absent("the target grants no cookie when asked for one")
    for place, ask in missed.items():
        await granted(peer, ask, f"that stands {place}")


@case("OPT-5")
async def a_cookie_is_understood_anywhere(peer: Peer) -> None:
    """A valid cookie at any place, alignment and padding has its data accepted."""
    for place in _placements(peer.largest_segment, NOP):
        cookie = await peer.cookie()
        flow = peer.flow()
        request = flow.app.request()
        flow.syn_with(
            _placements(peer.largest_segment, opt.fast_open(cookie))[place],
            request,
            comment=f"the option stands {place}",
        )
        flow.must_accept(await flow.syn_ack(), len(request))
        flow.hang_up()


@case("OPT-5")
async def a_forged_cookie_is_refused_anywhere(peer: Peer) -> None:
    """A made-up cookie with data at any place and alignment: plain handshake, delivered once."""

    async def one(place: str, options: Options) -> None:
        flow = peer.flow()
        flow.syn_with(options, flow.app.request())
        await peer.falls_back(flow, f"on a made-up cookie {place}", fresh=True)

    places = _placements(peer.largest_segment, opt.fast_open(b"\x5a\xa5" * 4))
    await together(one(place, options) for place, options in places.items())


def _behind_end(tfo: RawOption, size: int) -> list[Options]:
    hidden = RawOption(opt.EOL, None, opt.push_options([tfo]))
    mss = opt.mss(size)
    return [[hidden], [mss, hidden], [mss, NOP, hidden], [mss, NOP, NOP, NOP, hidden]]


async def _are_not_read(peer: Peer, lists: list[Options], *, data: bool) -> None:
    """Such SYNs may be dropped, their padding not being zeros; else they are plain ones."""
    flows = [peer.flow() for _ in lists]
    for flow, options in zip(flows, lists, strict=True):
        flow.syn_with(options, flow.app.request() if data else b"")
    await peer.copes("on an option behind End of Option List", *flows)


@case("OPT-10")
async def a_request_behind_the_end_is_not_read(peer: Peer) -> None:
    """A cookie request behind End of Option List is not answered with a cookie."""
    lists = _behind_end(opt.fast_open(), peer.largest_segment)
    await _are_not_read(peer, lists, data=False)


@case("OPT-10")
async def a_cookie_behind_the_end_is_not_read(peer: Peer) -> None:
    """A valid cookie behind End of Option List: data is not accepted early, no cookie comes."""
    lists = _behind_end(opt.fast_open(await peer.cookie()), peer.largest_segment)
    await _are_not_read(peer, lists, data=True)


@case("OPT-10")
async def an_option_before_the_end_is_read(peer: Peer) -> None:
    """A request followed by End of Option List and zeros is granted."""
    await peer.cookie()
    options = [opt.mss(peer.largest_segment), opt.fast_open(), RawOption(opt.EOL, None, bytes(9))]
    ask = functools.partial(Flow.syn_with, options=options)
    await granted(peer, ask, "before End of Option List")

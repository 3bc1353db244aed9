"""RFC 9293 section 3.1: unknown options, and malformed lists, around the Fast Open option.

Unknown options are skipped by their length (MUST-6). A malformed list may cost the sender its SYN
(MUST-7), but must not harm the target.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from scapy_tfo import option as opt
from scapy_tfo.cases.cookie_granting import granted
from scapy_tfo.option import RawOption
from scapy_tfo.segment import SYN
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

Options = Sequence[RawOption]

UNKNOWN = {
    "empty": [RawOption(60, 2)],
    "of one byte": [RawOption(111, 3, b"\x22")],
    "that look like a request": [RawOption(200, 6, b"\x22\x02\x22\x02")],
    "that look like a made-up cookie": [RawOption(33, 12, b"\x22\x0a" + b"\x5a\xa5" * 4)],
    "that look like the end": [RawOption(35, 8, bytes(6))],
}
"""Options of kinds that IANA has not assigned; their data would mislead one who reads it."""

T_TCP = {
    "T/TCP CC": [RawOption(11, 6, b"\0\0\0\1")],
    "T/TCP CC.NEW": [RawOption(12, 6, b"\0\0\0\1")],
    "T/TCP CC.ECHO": [RawOption(13, 6, b"\0\0\0\1")],
}
"""RFC 1644 section 3.1: kinds and lengths."""

TCPCT = {
    "TCPCT cookie": [RawOption(253, 10, b"\xde\xad\xbe\xef" * 2)],
    "TCPCT cookie-less": [RawOption(253, 2)],
}
"""RFC 6013 section 3.1: a pair of cookies under kind 253."""


async def _ask_beside(peer: Peer, others: dict[str, list[RawOption]]) -> None:
    await peer.cookie()

    async def one(what: str, other: Options) -> None:
        for options in ([*other, opt.fast_open()], [opt.fast_open(), *other]):
            ask = functools.partial(Flow.syn, options=options)
            await granted(peer, ask, f"beside options {what}")

    await together(one(*each) for each in others.items())


async def _open_beside(peer: Peer, others: dict[str, list[RawOption]]) -> None:
    for other in others.values():
        for first in (True, False):
            tfo = opt.fast_open(await peer.cookie())
            flow = peer.flow()
            data = flow.app.request()
            flow.syn(options=[*other, tfo] if first else [tfo, *other], data=data)
            flow.must_accept(await flow.syn_ack(), len(data))
            flow.hang_up()


async def _mean_nothing(peer: Peer, others: dict[str, list[RawOption]]) -> None:
    async def one(what: str, other: Options) -> None:
        flow = peer.flow()
        flow.syn(options=other, data=flow.app.request())
        await peer.falls_back(flow, f"on options {what} alone")

    await together(one(*each) for each in others.items())


@case("OPT-7")
async def unknown_options_do_not_hide_a_request(peer: Peer) -> None:
    """A request before and behind options of unknown kinds is granted."""
    await _ask_beside(peer, UNKNOWN)


@case("OPT-7")
async def unknown_options_do_not_hide_a_cookie(peer: Peer) -> None:
    """A valid cookie before and behind options of unknown kinds has its data accepted."""
    await _open_beside(peer, UNKNOWN)


@case("OPT-7")
async def unknown_options_are_not_taken_for_fast_open(peer: Peer) -> None:
    """A valid cookie inside options of unknown kinds: no cookie, data not accepted early."""
    cookie = await peer.cookie()
    tfo = opt.push_options([opt.fast_open(cookie)])
    inside = {f"of kind {kind}": [RawOption(kind, 2 + len(tfo), tfo)] for kind in (33, 35, 60, 252)}
    as_own = {f"{kind}": [RawOption(kind, 2 + len(cookie), cookie)] for kind in (33, 35, 162, 252)}
    await _mean_nothing(peer, UNKNOWN | inside | as_own)


@case("REL-1")
async def t_tcp_options_beside_fast_open(peer: Peer) -> None:
    """T/TCP's options change nothing about a request or a valid cookie with data."""
    await _ask_beside(peer, T_TCP)
    await _open_beside(peer, T_TCP)


@case("REL-1")
async def t_tcp_options_alone(peer: Peer) -> None:
    """T/TCP's options beside data: plain handshake, data not accepted early, delivered once."""
    await _mean_nothing(peer, T_TCP)


@case("REL-2")
async def tcpct_options_beside_fast_open(peer: Peer) -> None:
    """TCPCT's option changes nothing about a request or a valid cookie with data."""
    await _ask_beside(peer, TCPCT)
    await _open_beside(peer, TCPCT)


@case("REL-2", "OPT-13")
async def tcpct_options_alone(peer: Peer) -> None:
    """TCPCT's option beside data: no cookie, data not accepted early, delivered once."""
    await _mean_nothing(peer, TCPCT)


async def _malformed(peer: Peer, *lists: Options) -> None:
    """Such lists beside data do no harm."""
    flows = [peer.flow() for _ in lists]
    for flow, options in zip(flows, lists, strict=True):
        flow.syn_with(options, flow.app.request())
    await peer.copes("on a malformed list of options", *flows)


async def _valid(peer: Peer) -> bytes:
    try:
        return await peer.cookie()
    except Unsupported:
        return b"\x5a\xa5" * 4


@case("OPT-7", "OPT-3")
async def length_0_and_1_do_no_harm(peer: Peer) -> None:
    """A valid cookie under a length of 0 or 1 beside data: dropped, or a plain handshake."""
    cookie, mss = await _valid(peer), opt.mss(peer.largest_segment)
    lies = [opt.fast_open(cookie, length=length) for length in (0, 1)]
    await _malformed(peer, *([mss, lie] for lie in lies), *([lie] for lie in lies))


@case("OPT-7", "OPT-3")
async def lengths_past_the_end_do_no_harm(peer: Peer) -> None:
    """A valid cookie whose length runs past the header: dropped, or a plain handshake."""
    cookie, mss = await _valid(peer), opt.mss(peer.largest_segment)
    fits = 2 + len(cookie)
    room = fits + -fits % 4
    lengths = [room + 1, room + 2, 40, 128, 255]
    lists = [[mss, opt.fast_open(cookie, length=length)] for length in lengths]
    await _malformed(peer, *lists, [mss, opt.fast_open(cookie[:2], length=fits)])


@case("OPT-7")
async def a_kind_without_a_length_does_no_harm(peer: Peer) -> None:
    """Kind 34 or an unknown one as the header's very last byte: dropped, or a plain handshake."""
    mss, nops = opt.mss(peer.largest_segment), [opt.nop()] * 3
    await _malformed(peer, *([mss, *nops, RawOption(kind)] for kind in (opt.TFO, 254, 60, opt.MSS)))


@case("OPT-7")
async def unknown_options_of_illegal_length_do_no_harm(peer: Peer) -> None:
    """An unknown option of length 0, 1 or past the end and a valid cookie: dropped, or plain."""
    tfo = opt.fast_open(await _valid(peer))
    await _malformed(peer, *([RawOption(60, length), tfo] for length in (0, 1, 41, 255)))


@case("OPT-7")
async def other_options_of_illegal_length_do_no_harm(peer: Peer) -> None:
    """MSS, window scale and timestamps of illegal length in front of a made-up cookie."""
    tfo = opt.fast_open(b"\x5a\xa5" * 4)
    kinds = (opt.MSS, opt.WINDOW_SCALE, opt.SACK_PERMITTED, opt.TIMESTAMPS, opt.MD5)
    await _malformed(peer, *([RawOption(kind, size), tfo] for kind in kinds for size in (0, 1, 40)))


@case("OPT-7", needs=["echo"])
async def the_payload_is_not_read_as_options(peer: Peer) -> None:
    """A cookie that runs out of the header into the payload: dropped, or a plain handshake."""
    cookie = await _valid(peer)
    flow = peer.flow()
    tail = opt.push_options([opt.fast_open(cookie[2:], length=2 + len(cookie))])
    head = tail[:2] + cookie[:2]
    flow.syn_with([RawOption(head[0], head[1], head[2:])], cookie[2:] + flow.app.request())
    await peer.copes("on a cookie that ends in the payload", flow)


@case("OPT-7")
async def a_wrong_data_offset_does_no_harm(peer: Peer) -> None:
    """Data offsets below 5 and past the segment's end: the listener goes on serving."""
    tfo = opt.push_options([opt.fast_open(await _valid(peer)), opt.nop(), opt.nop()])
    for offset in (0, 1, 4, 15):
        peer.flow().send(SYN, options=opt.pull_options(tfo), data_offset=offset)
    await peer.still_serves()

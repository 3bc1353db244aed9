"""RFC 7413 section 4.2.2 and RFC 6994 section 5: more than one Fast Open option in a SYN.

No source says which counts. Data is accepted early only if one of them is a valid cookie.
"""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo import option as opt
from scapy_tfo.option import Form, RawOption
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

REQUEST = opt.fast_open()
EXPERIMENT = Form.EXPERIMENT_2


def _send(flow: Flow, pair: Sequence[RawOption], data: bytes) -> None:
    """A SYN with both options, and MSS where the longest cookies leave room for it."""
    every = [opt.mss(flow.mss), *pair]
    flow.syn_with(every if len(opt.push_options(every)) <= opt.MAX_OPTIONS else pair, data)


async def _refused(peer: Peer, pairs: Sequence[Sequence[RawOption]]) -> None:
    async def one(pair: Sequence[RawOption]) -> None:
        flow = peer.flow()
        _send(flow, pair, flow.app.request())
        await peer.falls_back(flow, "on two options without a valid cookie", fresh=True)

    await together(map(one, pairs))


@case("OPT-8")
async def two_made_up_cookies_are_refused(peer: Peer) -> None:
    """Two made-up cookies, alike and different, of kind 34 and 254: data not accepted early."""
    kinds = (Form.IANA, EXPERIMENT)
    made_up = [opt.fast_open(b"\x5a\xa5" * 4, form=form) for form in kinds]
    others = [opt.fast_open(b"\xc3\x3c" * 4, form=form) for form in kinds]
    await _refused(peer, [[a, b] for a in made_up for b in [*made_up, *others]])


@case("OPT-8")
async def a_made_up_cookie_and_a_request_are_refused(peer: Peer) -> None:
    """A request beside a made-up cookie or another request: data not accepted early."""
    made_up, exp = opt.fast_open(b"\x5a\xa5" * 4), opt.fast_open(form=EXPERIMENT)
    pairs = [[REQUEST, made_up], [made_up, REQUEST], [REQUEST, REQUEST]]
    await _refused(peer, [*pairs, [exp, made_up], [made_up, exp], [exp, REQUEST], [REQUEST, exp]])


@case("OPT-8")
async def halves_do_not_add_up(peer: Peer) -> None:
    """A valid cookie cut in two, each half an option of its own: data not accepted early."""
    cookie = await peer.cookie()
    middle = len(cookie) // 2
    first, second = opt.fast_open(cookie[:middle]), opt.fast_open(cookie[middle:])
    await _refused(peer, [[first, second], [second, first]])


@case("OPT-8", "OPT-3")
async def an_option_of_invalid_length_lends_nothing(peer: Peer) -> None:
    """A valid cookie with a byte too many beside a request or a made-up one: not accepted early."""
    cookie = await peer.cookie()
    long, made_up = opt.fast_open(cookie + b"\0"), opt.fast_open(bytes(len(cookie)))
    pairs = [[long, made_up], [made_up, long], [long, REQUEST], [REQUEST, long], [long, long]]
    await _refused(peer, pairs)


async def _either_way(peer: Peer, other: RawOption, what: str, form: Form = Form.IANA) -> None:
    """A valid cookie before and after another option: taken or refused; recorded."""
    for first in (True, False):
        valid = opt.fast_open(await peer.cookie(), form=form)
        flow = peer.flow()
        data = flow.app.request()
        _send(flow, [valid, other] if first else [other, valid], data)
        syn_ack = await flow.syn_ack()
        taken = flow.acknowledged(syn_ack)
        order = f"valid cookie, then {what}" if first else f"{what}, then valid cookie"
        peer.record(order, "accepted" if taken else "refused")
        flow.send(data=data[taken:], seq=syn_ack.ack)
        if flow.app.answers:
            await flow.finish()


@case("OPT-8")
async def a_valid_and_a_made_up_cookie(peer: Peer) -> None:
    """A valid cookie before and after a made-up one: data delivered once; which won is recorded."""
    await _either_way(peer, opt.fast_open(b"\x5a\xa5" * 4), "made-up cookie")


@case("OPT-8")
async def a_valid_cookie_and_a_request(peer: Peer) -> None:
    """A valid cookie before and after a request: data delivered once; which won is recorded."""
    await _either_way(peer, REQUEST, "request")


@case("OPT-8")
async def a_valid_cookie_and_the_experimental_form(peer: Peer) -> None:
    """A valid cookie of kind 34 with a made-up one of kind 254: delivered once; recorded."""
    await _either_way(peer, opt.fast_open(b"\x5a\xa5" * 4, form=EXPERIMENT), "made-up of kind 254")


@case("OPT-8")
async def a_valid_cookie_of_kind_254_and_a_made_up_one(peer: Peer) -> None:
    """A valid cookie of kind 254 with a made-up one of kind 34: delivered once; recorded."""
    await _either_way(peer, opt.fast_open(b"\x5a\xa5" * 4), "made-up of kind 34", EXPERIMENT)


@case("OPT-8")
async def a_valid_cookie_and_one_of_invalid_length(peer: Peer) -> None:
    """A valid cookie before and after an option of length 4, 5 and 20: delivered once; recorded."""
    for size in (2, 3, 18):
        await _either_way(peer, opt.fast_open(b"\x5a" * size), f"option of length {2 + size}")

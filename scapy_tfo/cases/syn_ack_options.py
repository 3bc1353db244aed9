"""RFC 9293 section 3.7.1, RFC 7323: other options that the SYN-ACK to a fast open must offer.

MSS, SACK-permitted, window scale and timestamps, as in the SYN-ACK to a plain SYN.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Awaitable, Callable, Sequence

from scapy_tfo import option as opt
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Absent, Missing, Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.receiver import shown
from scapy_tfo.suite.registry import case

CLOCK = 0x0BADCAFE
"""Our TSval: what the target has to echo."""

_TIMES = 3
"""A target that answers with SYN cookies now and then does not do so each time."""

OFFERS = {
    opt.SACK_PERMITTED: opt.sack_permitted(),
    opt.TIMESTAMPS: opt.timestamps(CLOCK),
    opt.WINDOW_SCALE: opt.window_scale(7),
}

Offer = Sequence[int]
EVERY_OFFER: list[Offer] = [
    offer for size in range(4) for offer in itertools.combinations(OFFERS, size)
]


async def _offered(peer: Peer, offer: Offer, cookie: bytes | None, data: bool = False) -> Flow:
    """A flow that has sent a SYN with those offers, and heard the SYN-ACK."""
    flow = peer.flow()
    flow.syn(
        cookie=cookie,
        data=flow.app.request() if data else b"",
        options=[OFFERS[kind] for kind in offer],
    )
    await flow.syn_ack()
    return flow


def _terms(flow: Flow) -> dict[str, object]:
    """The other options of the SYN-ACK, with the values that do not change with time."""
    syn_ack = next(each for each in flow.heard if each.is_syn_ack)
    scale, stamps = syn_ack.option(opt.WINDOW_SCALE), syn_ack.timestamps
    return {
        "MSS": syn_ack.mss,
        "SACK-permitted": syn_ack.option(opt.SACK_PERMITTED) is not None,
        "window scale": scale.data.hex() if scale else None,
        "TSecr": f"{stamps[1]:#x}" if stamps else None,
    }


async def _as_plain(peer: Peer, offer: Offer, fast: Callable[[], Awaitable[Flow]]) -> None:
    """Demand the terms that a plain connection with the same offers gets.

    Timestamps may be left out (RFC 7323 section 3.2), and what a SYN cookie has no room for (RFC
    4987 section 3.6). So scale and SACK count as left out only where they always are.
    """
    left_out = {"SACK-permitted", "window scale"}
    for _ in range(_TIMES):
        flow = await fast()
        ours, plain = _terms(flow), _terms(await _offered(peer, offer, None))
        right = plain | {"TSecr": f"{CLOCK:#x}"}
        wrong = {name for name, value in ours.items() if value and right[name] not in (value, None)}
        left_out &= {name for name, value in plain.items() if value and not ours[name]}
        flow.require(
            not wrong - {"SACK-permitted"} and ours["MSS"] == plain["MSS"],
            "the SYN-ACK to a fast open offers other terms than to a plain SYN",
            str(plain),
            str(ours),
        )
        if not left_out:
            break
    if plain["TSecr"] and not ours["TSecr"]:
        peer.record("timestamps", "left out of the SYN-ACK to a fast open, which is allowed")
    flow.require(
        not left_out,
        "the SYN-ACK to a fast open leaves out what one to a plain SYN offers",
        str(plain),
        f"{ours}, each of {_TIMES} times",
    )


@case("OPT-9", fixed=["times"])
async def a_request_keeps_the_other_options(peer: Peer) -> None:
    """A cookie request beside each choice of SACK, TS and WS: the SYN-ACK offers what it should."""

    async def one(offer: Offer) -> None:
        await _as_plain(peer, offer, lambda: _offered(peer, offer, b""))

    await together(map(one, EVERY_OFFER))


@case("OPT-9", fixed=["times"])
async def a_refusal_keeps_the_other_options(peer: Peer) -> None:
    """A made-up cookie and data beside each choice of SACK, TS and WS: the same terms as ever."""

    async def one(offer: Offer) -> None:
        await _as_plain(peer, offer, lambda: _offered(peer, offer, b"\x5a\xa5" * 4, data=True))

    await together(map(one, EVERY_OFFER))


@case("OPT-9", fixed=["times"])
async def an_accepted_fast_open_keeps_the_other_options(peer: Peer) -> None:
    """A valid cookie and data beside each choice of SACK, TS and WS: the same terms as ever."""

    async def opened(offer: Offer) -> Flow:
        fast = await _offered(peer, offer, await peer.cookie(), data=True)
        syn_ack = next(each for each in fast.heard if each.is_syn_ack)
        fast.must_accept(syn_ack, len(fast.sent[0]))
        fast.hang_up()
        return fast

    for offer in EVERY_OFFER:
        await _as_plain(peer, offer, functools.partial(opened, offer))


@case("OPT-9", fixed=["shift", "times"])
async def nothing_is_offered_unasked(peer: Peer) -> None:
    """Window scale, timestamps and MD5 come only if our SYN offered them, cookie or not."""
    cookies: list[bytes | None] = [None, b"", b"\x5a\xa5" * 4]
    with contextlib.suppress(Unsupported):
        cookies.append(await peer.cookie())

    async def one(offer: Offer, cookie: bytes | None) -> None:
        flow = await _offered(peer, offer, cookie)
        kinds = {each.kind for syn in flow.heard for each in opt.pull_options(syn.options)}
        unasked = kinds & {opt.WINDOW_SCALE, opt.TIMESTAMPS, opt.SACK, opt.MD5} - set(offer)
        flow.require(
            not unasked,
            "the SYN-ACK has options that the SYN did not offer",
            f"none of kinds {sorted(unasked)}",
            shown(flow.heard),
        )
        flow.hang_up()

    await together(one(offer, cookie) for offer in EVERY_OFFER for cookie in cookies)


@case("OPT-9")
async def forty_bytes_of_options(peer: Peer) -> None:
    """A header filled to its last byte with options: the SYN-ACK's list is sound."""
    others = [opt.mss(peer.largest_segment), *OFFERS.values()]
    for tfo in (opt.fast_open(), opt.fast_open(b"\x5a\xa5" * 8)):
        used = len(opt.push_options([*others, tfo]))
        flow = peer.flow()
        flow.syn_with([*others, tfo, *[opt.nop()] * (opt.MAX_OPTIONS - used)])
        answer = opt.pull_options((await flow.syn_ack()).options)
        flow.require(
            all(each.is_sound for each in answer),
            "the options of the SYN-ACK are cut off",
            "a sound list of options",
            opt.push_options(answer).hex(),
        )
        peer.record(f"{len(tfo.data)} bytes of cookie: kinds", [each.kind for each in answer])


async def _conversation(peer: Peer, offer: Offer) -> Flow:
    """A fast open with those offers, up to the whole answer, which is not acknowledged."""
    fast = await _offered(peer, offer, await peer.cookie(), data=True)
    fast.must_accept(next(each for each in fast.heard if each.is_syn_ack), len(fast.sent[0]))
    try:
        await fast.answered(acking=False)
    except Missing:
        # Holding the answer back is a defence that RFC 7413 section 5.2 allows.
        raise Absent("nothing is sent before the ACK, which is allowed") from None
    return fast


@case("OPT-9", needs=["answer"])
async def agreed_timestamps_go_on(peer: Peer) -> None:
    """Timestamps agreed on in a fast open come in every segment, and echo the SYN's."""
    flow = await _conversation(peer, [opt.TIMESTAMPS])
    agreed = next(each for each in flow.heard if each.is_syn_ack).timestamps is not None
    if not agreed:
        for each in flow.heard:
            flow.require(
                each.timestamps is None,
                "a segment has timestamps that the SYN-ACK did not agree to",
                "no timestamps",
                f"{each} with options {each.options.hex()}",
            )
        raise Unsupported("the target does not agree to timestamps")
    for each in flow.heard:
        flow.require(
            each.is_rst or each.is_syn_ack or (each.timestamps or (0, 0))[1] == CLOCK,
            "a segment of a connection with timestamps has none, or a wrong echo",
            f"timestamps that echo {CLOCK}",
            f"{each} with options {each.options.hex()}",
        )


@case("OPT-9", needs=["answer"], fixed=["sack", "shift", "times"])
async def what_was_not_agreed_stays_out(peer: Peer) -> None:
    """A fast open without offers: no segment of the target's has timestamps or SACK."""
    flow = await _conversation(peer, [])
    for each in flow.heard:
        kinds = {option.kind for option in opt.pull_options(each.options)}
        flow.require(
            not kinds & {opt.TIMESTAMPS, opt.SACK, opt.WINDOW_SCALE},
            "a segment has options that were not agreed on",
            "neither timestamps, nor SACK, nor window scale",
            f"{each} with options {each.options.hex()}",
        )

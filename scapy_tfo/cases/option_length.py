"""RFC 7413 section 4.1.1 with errata 4238 and 4239: valid and invalid lengths of the option.

A length is 2 plus the bytes of cookie: 2 asks for a cookie, 6 to 18 carry one. An option of
any other length is ignored, as if it were not there.
"""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo import option as opt
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.outcome import Absent, Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

LONGEST = opt.MAX_OPTIONS - 2
"""The longest cookie that the header has room for, when no other option goes with it."""


async def _cookie_bytes(peer: Peer) -> bytes:
    """A valid cookie three times over, so that any length begins with one; else made up."""
    try:
        return (await peer.cookie() * 10)[:LONGEST]
    except Unsupported:
        return bytes(range(1, LONGEST + 1))


async def _ignored(peer: Peer, sizes: Sequence[int], *, data: bool = True) -> None:
    """Cookies of each size, in bytes, are treated as if no option were there."""
    cookie = await _cookie_bytes(peer)

    async def one(size: int) -> None:
        flow = peer.flow()
        option = opt.fast_open(cookie[:size])
        room = opt.MAX_OPTIONS - 2 - size
        options = [opt.mss(flow.mss), option] if room >= 4 else [option]
        flow.syn_with(options, flow.app.request() if data else b"")
        await peer.falls_back(flow, f"on an option of length {2 + size}")

    await together(map(one, sizes))


@case("OPT-3")
async def length_3_is_ignored(peer: Peer) -> None:
    """An option of length 3 beside data: plain handshake, no cookie, data not accepted early."""
    await _ignored(peer, [1])


@case("OPT-3")
async def length_4_is_ignored(peer: Peer) -> None:
    """An option of length 4, a cookie under the minimum, beside data: as if it were absent."""
    await _ignored(peer, [2])


@case("OPT-3")
async def length_5_is_ignored(peer: Peer) -> None:
    """An option of length 5 beside data: as if it were absent."""
    await _ignored(peer, [3])


@case("OPT-3", "OPT-2")
async def odd_lengths_in_range_are_ignored(peer: Peer) -> None:
    """Options of length 7, 9, ... 17 that begin with a valid cookie: as if they were absent."""
    await _ignored(peer, range(5, 16, 2))


@case("OPT-3")
async def even_lengths_above_18_are_ignored(peer: Peer) -> None:
    """Options of length 20, 22, ... 40 that begin with a valid cookie: as if they were absent."""
    await _ignored(peer, range(18, LONGEST + 1, 2))


@case("OPT-3")
async def odd_lengths_above_18_are_ignored(peer: Peer) -> None:
    """Options of length 19, 21, ... 39 that begin with a valid cookie: as if they were absent."""
    await _ignored(peer, range(17, LONGEST + 1, 2))


@case("OPT-3")
async def invalid_lengths_without_data_get_no_cookie(peer: Peer) -> None:
    """Options of invalid length in SYNs without data: none is answered with a cookie."""
    await _ignored(peer, [1, 2, 3, 5, 7, 9, 15, 17, 18, 19, 24, LONGEST], data=False)


@case("OPT-3")
async def zeros_of_invalid_length_are_ignored(peer: Peer) -> None:
    """Cookies of zeros of 1, 2, 3, 5 and 18 bytes beside data: as if they were absent."""

    async def one(size: int) -> None:
        flow = peer.flow()
        flow.syn(cookie=bytes(size), data=flow.app.request())
        await peer.falls_back(flow, f"on {size} bytes of zeros")

    await together(map(one, [1, 2, 3, 5, 18]))


@case("OPT-1")
async def valid_lengths_never_break_the_handshake(peer: Peer) -> None:
    """Made-up cookies of 4, 6, ... 16 bytes beside data: a handshake, and data delivered once.

    Whether such a cookie may be accepted is for other cases to judge.
    """

    async def one(size: int) -> None:
        flow = peer.flow()
        flow.syn(cookie=b"\x5a\xa5" * (size // 2), data=flow.app.request())
        await flow.syn_ack(f"a SYN-ACK to a made-up cookie of {size} bytes")
        flow.resend()
        if flow.app.answers:
            await flow.finish()

    await together(map(one, range(opt.MIN_COOKIE, opt.MAX_COOKIE + 1, 2)))


async def _answers(peer: Peer) -> tuple[opt.FastOpen | opt.Broken, ...]:
    """The Fast Open options of the SYN-ACKs to a request and to made-up cookies."""
    found: tuple[opt.FastOpen | opt.Broken, ...] = ()
    for cookie in (b"", b"\x5a\xa5" * 2, b"\x5a\xa5" * 4, b"\x5a\xa5" * 8):
        flow = peer.flow()
        flow.syn(cookie=cookie)
        found += (await flow.syn_ack()).fast_open
    if not found:
        raise Absent("no SYN-ACK carries a Fast Open option")
    peer.record("options in SYN-ACKs", ", ".join(str(len(_cookie(each))) for each in found))
    return found


def _cookie(found: opt.FastOpen | opt.Broken) -> bytes:
    return found.cookie if isinstance(found, opt.FastOpen) else b""


@case("OPT-1", "SRV-8")
async def granted_option_has_a_legal_size(peer: Peer) -> None:
    """Each option that the target sends fits its length byte and holds 4 to 16 bytes or none."""
    for each in await _answers(peer):
        wrong = isinstance(each, opt.Broken) and each.rule != "OPT-2"
        reason = each.reason if isinstance(each, opt.Broken) else ""
        peer.require(
            not wrong,
            "a SYN-ACK carries an option of illegal length",
            expected="length 2, or 6 to 18",
            actual=reason,
        )


@case("OPT-2", "SRV-8")
async def granted_option_has_an_even_length(peer: Peer) -> None:
    """Each option that the target sends has an even length."""
    for each in await _answers(peer):
        odd = isinstance(each, opt.Broken) and each.rule == "OPT-2"
        reason = each.reason if isinstance(each, opt.Broken) else ""
        peer.require(
            not odd,
            "a SYN-ACK carries an option of odd length",
            expected="an even length",
            actual=reason,
        )

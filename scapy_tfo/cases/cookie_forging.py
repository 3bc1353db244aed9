"""RFC 7413 section 4.1.2 (1) and (2): a cookie is its client's own, made by the server."""

from __future__ import annotations

from collections.abc import Iterable

from scapy_tfo import option as opt
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.outcome import Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case


async def _refused(peer: Peer, cookies: Iterable[bytes], why: str, *, source: int = 0) -> None:
    """Data with each cookie is not accepted early."""

    async def one(cookie: bytes) -> None:
        flow = peer.flow(source=source)
        flow.syn(cookie=cookie, data=flow.app.request())
        syn_ack = await flow.syn_ack()
        if flow.acknowledged(syn_ack):
            await peer.must_not_be_cookieless(f"data accepted with {why}")
        flow.must_refuse(syn_ack, f"on {why} {cookie.hex()}")
        flow.hang_up()

    await together(map(one, cookies))


async def _cookies(peer: Peer) -> list[bytes]:
    """One cookie for each of our source addresses, four at most."""
    count = min(len(peer.sources), 4)
    return [await peer.cookie(source=source) for source in range(count)]


@case("SRV-1", needs=["two_addresses"])
async def another_address_cannot_use_it(peer: Peer) -> None:
    """A valid cookie presented from another address: its data is not accepted early."""
    ours, theirs = (await _cookies(peer))[:2]
    await _refused(peer, [ours], "another address's cookie", source=1)
    await _refused(peer, [theirs], "another address's cookie", source=0)


@case("SRV-1", needs=["two_addresses"])
async def another_address_cannot_use_it_after_its_owner(peer: Peer) -> None:
    """A cookie that its owner has just used, from another address: not accepted early."""
    ours = (await _cookies(peer))[0]
    flow = peer.flow()
    request = flow.app.request()
    flow.syn(cookie=ours, data=request)
    flow.must_accept(await flow.syn_ack(), len(request))
    flow.hang_up()
    await _refused(peer, [ours], "a cookie that another address has used", source=1)


@case("SRV-1", needs=["two_addresses"])
async def each_address_keeps_its_own(peer: Peer) -> None:
    """Cookies of several addresses, used in the order of asking: each is good for its own."""
    for source, cookie in enumerate(await _cookies(peer)):
        flow = peer.flow(source=source)
        request = flow.app.request()
        flow.syn(cookie=cookie, data=request)
        flow.must_accept(await flow.syn_ack(), len(request))


@case("SRV-2")
async def a_good_cookie_lends_no_trust(peer: Peer) -> None:
    """A made-up cookie from a client whose own was just accepted: not accepted early."""
    flow = await peer.open()
    flow.hang_up()
    await _refused(peer, [b"\x5a\xa5" * 4, b"\x5a\xa5" * 8], "a made-up cookie")


@case("SRV-2", needs=["two_addresses"])
async def cookies_of_neighbours_are_unlike(peer: Peer) -> None:
    """Cookies of neighbouring addresses differ in two bytes at least."""
    cookies = await _cookies(peer)
    for at, one in enumerate(cookies):
        for other in cookies[:at]:
            unlike = sum(a != b for a, b in zip(one, other, strict=False))
            peer.require(
                len(one) != len(other) or unlike >= 2,
                "two addresses have nearly the same cookie",
                expected="cookies unlike in two bytes or more",
                actual=f"{one.hex()} and {other.hex()}",
            )


@case("SRV-2", needs=["two_addresses"])
async def a_neighbours_cookie_does_not_tell_ours(peer: Peer) -> None:
    """A neighbour's cookie, changed as its address differs from ours: not accepted early."""
    theirs = await peer.cookie(source=1)
    size, width = len(theirs), 8 * len(theirs)
    ours, other = (each.packed for each in peer.sources[:2])
    change = bytes(a ^ b for a, b in zip(ours, other, strict=True))
    masks = {change[-size:].ljust(size, b"\0"), change[-size:].rjust(size, b"\0")}
    masks.add(change[:4][::-1].ljust(size, b"\0"))
    masks.add(change[-4:][::-1].ljust(size, b"\0"))
    guesses = {bytes(a ^ b for a, b in zip(theirs, mask, strict=True)) for mask in masks}
    step = int.from_bytes(ours, "big") - int.from_bytes(other, "big")
    for order in ("big", "little"):
        number = (int.from_bytes(theirs, order) + step) % (1 << width)
        guesses.add(number.to_bytes(size, order))
    await _refused(peer, sorted(guesses), "a cookie worked out from a neighbour's,")


@case("SRV-2")
async def every_flipped_bit_is_noticed(peer: Peer) -> None:
    """A valid cookie with any one bit changed: its data is not accepted early."""
    cookie = await peer.cookie()
    number, size = int.from_bytes(cookie, "big"), len(cookie)
    flipped = ((number ^ 1 << bit).to_bytes(size, "big") for bit in range(8 * size))
    await _refused(peer, flipped, "a cookie with one bit changed,")


@case("SRV-2")
async def every_changed_byte_is_noticed(peer: Peer) -> None:
    """A valid cookie with a byte inverted, the first half or the last: not accepted early."""
    cookie = await peer.cookie()
    half = len(cookie) // 2
    spans = [slice(at, at + 1) for at in range(len(cookie))]
    spans += [slice(half), slice(half, None), slice(None), slice(0, None, 2), slice(1, None, 2)]
    changed = []
    for span in spans:
        other = bytearray(cookie)
        other[span] = bytes(each ^ 0xFF for each in other[span])
        changed.append(bytes(other))
    await _refused(peer, changed, "a changed cookie")


@case("SRV-2")
async def a_rearranged_cookie_is_noticed(peer: Peer) -> None:
    """A valid cookie backwards, rotated, or with its halves swapped: not accepted early."""
    cookie = await peer.cookie()
    half = len(cookie) // 2
    orders = {cookie[::-1], cookie[half:] + cookie[:half], cookie[1:] + cookie[:1]}
    orders |= {cookie[:half] * 2, cookie[half:] * 2}
    await _refused(peer, orders - {cookie}, "a rearranged cookie")


@case("SRV-2")
async def guesses_are_refused(peer: Peer) -> None:
    """Zeros, ones, counting bytes and the addresses themselves as cookies: not accepted early."""
    try:
        size = len(await peer.cookie())
    except Unsupported:
        size = 8
    ours, theirs = peer.flow().source.packed, peer.address.packed
    guesses = {bytes(size), b"\xff" * size, bytes(range(size)), bytes(size - 1) + b"\1"}
    for address in (ours, theirs, ours + theirs, theirs + ours):
        for each in (address, address[::-1]):
            repeated = each * 4
            guesses |= {repeated[:size], repeated[-size:], each[:size].ljust(size, b"\0")}
            guesses |= {each[-size:].rjust(size, b"\0"), each[:4].ljust(size, b"\0")}
    await _refused(peer, guesses, "a guessed cookie")


@case("SRV-10")
async def a_cookie_cut_short_is_refused(peer: Peer) -> None:
    """A valid cookie cut to every shorter valid length, at either end: not accepted early."""
    cookie = await peer.cookie()
    sizes = range(opt.MIN_COOKIE, len(cookie), 2)
    if not sizes:
        raise Unsupported("the target's cookies are of the least length")
    cut = {cookie[:size] for size in sizes} | {cookie[-size:] for size in sizes}
    await _refused(peer, cut, "a cookie cut short,")


@case("SRV-10")
async def a_padded_cookie_is_refused(peer: Peer) -> None:
    """A valid cookie with zeros, ones or itself behind or before it: not accepted early."""
    cookie = await peer.cookie()
    sizes = range(len(cookie) + 2, opt.MAX_COOKIE + 1, 2)
    if not sizes:
        raise Unsupported("the target's cookies are of the greatest length")
    padded = set()
    for more in (size - len(cookie) for size in sizes):
        padded |= {cookie + bytes(more), cookie + b"\xff" * more, cookie + (cookie * 4)[:more]}
        padded |= {bytes(more) + cookie, cookie + b"\1" * more}
    await _refused(peer, padded, "a padded cookie")

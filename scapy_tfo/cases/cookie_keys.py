"""RFC 7413 sections 4.1.2 and 6.3.4, paper 4.2 and 5.1: the keys behind cookies."""

from __future__ import annotations

from scapy_tfo.cookie import AesCookie, SipHashCookie
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case
from scapy_tfo.suite.target import Service

OLD, NEW, OTHER = b"\x11" * 8 + b"\x12" * 8, b"\x21" * 8 + b"\x22" * 8, b"\x31\x32" * 8


async def _opened(peer: Peer, cookie: bytes, service: Service) -> Flow:
    """A flow, closed again, whose data was accepted; Refused where it was not."""
    flow = peer.flow(service)
    request = flow.app.request()
    flow.syn(cookie=cookie, data=request)
    flow.must_accept(await flow.syn_ack(), len(request))
    flow.hang_up()
    return flow


async def _refused(peer: Peer, cookie: bytes, service: Service, why: str) -> None:
    flow = peer.flow(service)
    flow.syn(cookie=cookie, data=flow.app.request())
    await peer.falls_back(flow, why, fresh=True)


@case("SRV-4", needs=["key_hook"])
async def a_new_key_ends_old_cookies(peer: Peer) -> None:
    """The key is replaced: a cookie of the old one falls back, data delivered once."""
    service = await peer.listen(keys=[OLD])
    cookie = await peer.cookie(service)
    await _opened(peer, cookie, service)
    await peer.hooks.set_keys(service.port, [NEW])
    await _refused(peer, cookie, service, "on a cookie of a key that is gone")


@case("SRV-4", needs=["key_hook"])
async def a_new_key_grants_new_cookies(peer: Peer) -> None:
    """The key is replaced: what is granted from then on is another cookie, and good."""
    service = await peer.listen(keys=[OLD])
    before = await peer.cookie(service)
    await peer.hooks.set_keys(service.port, [NEW])
    after = await peer.cookie(service)
    peer.require(
        before != after,
        "a new key makes the same cookie",
        expected=f"another cookie than {before.hex()}",
        actual=after.hex(),
    )
    await _opened(peer, after, service)


@case("SRV-4a", "SRV-11", needs=["key_hook"])
async def a_backup_key_keeps_old_cookies_good(peer: Peer) -> None:
    """K1, then K2 with K1 as backup, then K2 alone: K1's cookie is good until K1 is gone."""
    service = await peer.listen(keys=[OLD])
    cookie = await peer.cookie(service)
    await peer.hooks.set_keys(service.port, [NEW, OLD])
    flow = await _opened(peer, cookie, service)
    fresh = next(each.cookie for each in flow.heard if each.is_syn_ack)
    peer.record("a backup key's cookie is answered with a fresh one", bool(fresh))
    await _opened(peer, fresh or await peer.cookie(service), service)
    await peer.hooks.set_keys(service.port, [NEW])
    await _refused(peer, cookie, service, "on a cookie of a key that is gone")


@case("SRV-4a", needs=["key_hook"])
async def new_cookies_are_of_the_primary_key(peer: Peer) -> None:
    """With a backup key, what is granted outlives the backup's removal."""
    service = await peer.listen(keys=[NEW, OLD])
    cookie = await peer.cookie(service)
    await peer.hooks.set_keys(service.port, [NEW])
    await _opened(peer, cookie, service)


@case("SRV-11", needs=["key_hook"])
async def cookies_of_two_keys_are_good_at_once(peer: Peer) -> None:
    """With a primary and a backup key, a cookie of each is accepted, in turns."""
    service = await peer.listen(keys=[OLD])
    old = await peer.cookie(service)
    await peer.hooks.set_keys(service.port, [NEW, OLD])
    new = await peer.cookie(service)
    for cookie in (old, new):
        await _opened(peer, cookie, service)


@case("SRV-2", needs=["key_hook"])
async def a_cookie_of_another_key_is_refused(peer: Peer) -> None:
    """A cookie granted by a listener with another key falls back."""
    here, there = await peer.listen(keys=[OLD]), await peer.listen(keys=[OTHER])
    ours, theirs = await peer.cookie(here), await peer.cookie(there)
    await _refused(peer, theirs, here, "on a cookie of another listener's key")
    await _refused(peer, ours, there, "on a cookie of another listener's key")


@case("SRV-6", needs=["key_hook"])
async def a_known_key_tells_the_cookie(peer: Peer) -> None:
    """With a known key, the cookie is that of AES-128 or of SipHash, byte for byte; recorded."""
    names = []
    for key in (OLD, NEW, bytes(range(16))):
        service = await peer.listen(keys=[key])
        cookie = await peer.cookie(service)
        client = peer.flows[-1].source
        made = {
            "AES-128": AesCookie(len(cookie)).make(key, client, peer.address),
            "SipHash-2-4": SipHashCookie().make(key, client, peer.address),
        }
        names.append(", ".join(name for name in made if made[name] == cookie))
    if not all(names):
        raise Unsupported("cookies are made by a scheme that is not known")
    peer.record("cookies are made with", " / ".join(sorted(set(names))))


@case("SRV-7", "SRV-3", needs=["key_hook"])
async def servers_that_share_a_key_share_cookies(peer: Peer) -> None:
    """Two listeners of a host with one key accept their own cookies, and each other's."""
    one, two = await peer.listen(keys=[OLD]), await peer.listen(keys=[OLD])
    ours, theirs = await peer.cookie(one), await peer.cookie(two)
    await _opened(peer, ours, one)
    await _opened(peer, theirs, two)
    await _opened(peer, ours, two)
    await _opened(peer, theirs, one)


@case("SRV-7", needs=["key_hook"])
async def a_farm_keeps_its_cookies_across_a_rotation(peer: Peer) -> None:
    """Two listeners change from K1 to K2 one after the other: no cookie is refused on the way."""
    one, two = await peer.listen(keys=[OLD]), await peer.listen(keys=[OLD])
    old = await peer.cookie(one)
    for service in (one, two):
        # Each first learns to check the new key, and only then do they grant with it.
        await peer.hooks.set_keys(service.port, [OLD, NEW])
        for other in (one, two):
            await _opened(peer, old, other)
    await peer.hooks.set_keys(one.port, [NEW, OLD])
    new = await peer.cookie(one)
    for cookie in (old, new):
        await _opened(peer, cookie, two)
    await peer.hooks.set_keys(two.port, [NEW, OLD])
    for service in (one, two):
        for cookie in (old, new):
            await _opened(peer, cookie, service)


@case("AFT-11", "SRV-4", needs=["key_hook"])
async def a_new_key_leaves_accepted_fast_opens_alone(peer: Peer) -> None:
    """The key is replaced while a fast open is pending: what was accepted is delivered once."""
    service = await peer.listen(keys=[OLD])
    flow = await peer.open(service)
    await peer.hooks.set_keys(service.port, [NEW])
    flow.again()
    flow.request()
    await flow.finish()

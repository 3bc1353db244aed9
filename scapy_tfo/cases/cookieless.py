"""RFC 7413 section 7.3: a server whose operator lets it take data without a real cookie."""

from __future__ import annotations

from scapy_tfo.suite.outcome import Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

WAYS = {"no option": None, "an empty option": b"", "a made-up cookie": b"\x5a\xa5" * 4}


@case("OPT-11")
async def data_without_a_cookie_is_recognised(peer: Peer) -> None:
    """Data with no option, an empty one, a made-up cookie: which of them is accepted is named."""
    accepted = []
    for way, cookie in WAYS.items():
        flow = peer.flow()
        flow.syn(cookie=cookie, data=flow.app.request())
        if flow.acknowledged(await flow.syn_ack()):
            accepted.append(way)
    peer.record("accepts data with", ", ".join(accepted) or "none but a valid cookie")
    if not accepted:
        raise Unsupported("the target takes data with a valid cookie only")

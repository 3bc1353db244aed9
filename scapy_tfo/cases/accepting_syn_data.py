"""RFC 7413 section 4.2.2: data in a SYN with a valid cookie, before the handshake ends."""

from __future__ import annotations

from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case


@case("ACC-2")
async def syn_data_is_acknowledged(peer: Peer) -> None:
    """A valid cookie with data: the SYN-ACK acknowledges the SYN and all of its data."""
    flow = await peer.open()
    await flow.finish() if flow.app.answers else flow.ack()


@case("ACC-2", needs=["answer"])
async def answer_comes_before_our_ack(peer: Peer) -> None:
    """The application gets the SYN's data, and answers, before the handshake's ACK."""
    flow = await peer.open()
    await flow.answered(acking=False)

"""A case of this repository's own, which runs beside those of scapy-tfo."""

from scapy_tfo import Peer, case


@case("ACC-2", needs=["echo"])
async def our_longest_name_fits_into_the_syn(peer: Peer) -> None:
    """A SYN with the 255 bytes of our protocol's longest name is acknowledged whole."""
    flow = await peer.open(data=b"n" * 255)
    await flow.finish()

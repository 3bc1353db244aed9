"""Observes a real path: raw packets from this host to a far end with an agent, or to any server."""

from __future__ import annotations

import secrets

from scapy_tfo.errors import TargetError
from scapy_tfo.path.far import CONTROL
from scapy_tfo.path.near import observe
from scapy_tfo.path.observation import Observations
from scapy_tfo.path.prober import Patience, Prober
from scapy_tfo.path.remote import Remote
from scapy_tfo.runner.shared_keys import REQUESTS
from scapy_tfo.segment import Address
from scapy_tfo.wire.links.choose import open_link

_PATIENCE = Patience()


async def observe_live(
    address: Address,
    port: int,
    *,
    agent: bool,
    patience: Patience = _PATIENCE,
    requests: int = REQUESTS,
) -> Observations:
    """All connections of a run with one address.

    port: of the far end, or of the server. agent: `scapy-tfo path serve` runs there.
    requests: cookies asked for. Raises SetupError without CAP_NET_RAW or a route, TargetError where
    there should be an agent and is none.
    """
    remote = Remote(address, port)
    if agent and not await remote.greet():
        raise TargetError(
            f"no agent answers on TCP port {port + CONTROL} of {address}: run 'scapy-tfo path "
            "serve' there, or give HOST:PORT of a fast open server, to judge from this end only"
        )
    link = open_link([address])
    prober = Prober(link, address, echoes=agent, seed=secrets.randbits(32), patience=patience)
    try:
        if agent:
            return await observe(
                prober,
                address,
                port,
                mirror=remote.mirror,
                report=remote.report,
                requests=requests,
            )
        return await observe(prober, address, port, echoes=False, requests=requests)
    finally:
        prober.close()
        link.close()

"""What is asked of an exported script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scapy_tfo.pkt.export.prelude import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """side: the end that the kernel takes the place of, `server` or `client`. portable: nothing
    that packetdrill does not know. exact: with the target's windows and all else that its set-up
    decides. queues: by port of the server, for how many pending fast opens its listener has room,
    0 where fast open is off; of other ports, what the packets show. grants: port of the server at
    which cookies of kind 34 are asked for that were given before; None: where they are spent, as
    they are. literal: ports of clients whose ISNs stay what they were. asks: cookies to ask for,
    besides those that are spent. echoes: the server's application writes all that it reads, also
    what was never sent."""

    side: str = "server"
    portable: bool = False
    exact: bool = False
    queues: Mapping[int, int] = field(default_factory=dict)
    grants: int | None = None
    literal: frozenset[int] = frozenset()
    asks: tuple[Origin, ...] = ()
    echoes: bool = False

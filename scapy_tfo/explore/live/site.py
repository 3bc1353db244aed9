"""A target on the wire, opened: the way to it, its listeners, and what it is known to do."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network

from scapy_tfo.errors import TargetError
from scapy_tfo.lab.hooks import Hooks, HooksBrokenError, NotOfferedError, Session, Settling
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.segment import Address
from scapy_tfo.wire.links.batch import Batch

Peer = tuple[str, int]
"""Address and port of a client, as a session has them."""

_NEAR = {4: 24, 6: 64}
"""Length of the prefix that a target of our own shares with its clients, by family."""


@dataclass(slots=True, kw_only=True)
class Site:
    """name: as the user gave it. sources: addresses that schedules come from, by family; spare:
    others, for schedules that leave a mark on theirs. ports: of listeners, by application. old:
    the same, where the first key is one of which no client has a cookie; old_cookies: the listener
    that has the second key for its only one. room: pending fast opens for which the listeners that
    hooks opened have room, None where they opened none. roomy: pending fast opens that each
    listener takes, None where nobody knows. hooks: how applications are asked what they got, None
    where they cannot be. ours: a target of our own, whose network is ours. direct: packets come and
    go as they are sent. loop: on which hooks live. broken: why the target can be judged no more, or
    "". lacks: what left the model, and why.
    """

    name: str
    batch: Batch
    addresses: Mapping[int, Address]
    sources: Mapping[int, Sequence[Address]]
    spare: Mapping[int, Sequence[Address]]
    ports: dict[str, int]
    profile: Profile
    loop: asyncio.AbstractEventLoop
    close: Callable[[], None]
    old: dict[str, int] = field(default_factory=dict)
    old_cookies: int = 0
    room: int | None = None
    roomy: int | None = None
    hooks: Hooks | None = None
    ours: bool = False
    direct: bool = False
    broken: Callable[[], str] = lambda: ""
    lacks: dict[str, str] = field(default_factory=dict)
    _told: Counter[tuple[int, Peer]] = field(default_factory=Counter)

    def reaches(self, client: Address) -> bool:
        """Whether a client may have this address: answers to it come here."""
        if any(client in known for known in (*self.sources.values(), *self.spare.values())):
            return True
        target = self.addresses.get(client.version)
        if not self.ours or target is None or client == target:
            return False
        near = ip_network((target.packed, _NEAR[client.version]), strict=False)
        return client in near and client not in (near.network_address, near.broadcast_address)

    async def settled(self, port: int, peers: Collection[Peer]) -> dict[Peer, list[Session]]:
        """What an application got from each of some clients, which are done.

        Raises TargetError where the target does not say.
        """
        hooks = self.hooks
        assert hooks is not None
        try:
            if isinstance(hooks, Settling):
                sessions = await hooks.settle(port, peers)
            else:
                sessions = [each for each in await hooks.sessions(port) if each.peer in peers]
        except (HooksBrokenError, NotOfferedError) as error:
            raise TargetError(f"{self.name}: the hooks failed: {error}") from error
        found: dict[Peer, list[Session]] = {each: [] for each in peers}
        for each in sessions:
            found[each.peer].append(each)
        if not isinstance(hooks, Settling):
            self._leave_out_told(port, found)
        return found

    def _leave_out_told(self, port: int, found: dict[Peer, list[Session]]) -> None:
        """A client may come back by the same port; its earlier connections are still listed."""
        for peer, sessions in found.items():
            told = self._told[port, peer]
            self._told[port, peer] = max(told, len(sessions))
            del sessions[:told]

    def pump(self) -> None:
        """Let the hooks go on, where something has come for them."""
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

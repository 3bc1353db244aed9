"""Frees the one listener with a small limit that a target has for all cases."""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo.stacks.file import SMALL
from scapy_tfo.suite.outcome import Ending
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.target import Target

_STEP = 5.0
_TRIES = 15
"""Seconds between looks, and how many: fast opens that were reset may count for a minute
(RFC 7413 section 5.1), and abandoned ones until their SYN-ACK is sent no more."""


def used_small_port(peer: Peer) -> bool:
    """Whether a case has used the listener."""
    small = peer.target.small
    return small is not None and any(each.dport == small.port for each in peer.flows)


def waits_its_turn(target: Target, case: Case) -> bool:
    """Whether a case may use the listener, which others must not do meanwhile."""
    shared = target.small is not None and target.offers("standing")
    return shared and case.intrusive and "listeners" in case.needs


async def rest(make_peer: Callable[[], Peer]) -> None:
    """Wait until as many fast opens are accepted as the limit allows, or until it is in vain.

    Whoever comes next is judged by what it finds then.
    """
    for _ in range(_TRIES):
        peer = make_peer()
        accepted = 0
        try:
            pending = await peer.fill(peer.target.small, most=SMALL)
            accepted = len(pending)
        except Ending:
            pass
        finally:
            peer.hang_up()
        if accepted >= SMALL - 1:
            return
        await peer.wait(_STEP)

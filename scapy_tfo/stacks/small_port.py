"""Frees the one listener with a small limit that a target has for all cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from scapy_tfo.stacks.file import SMALL
from scapy_tfo.suite.outcome import Ending, Failed
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.target import Target

_PLENTY = 64
"""Pending fast opens that no small limit holds."""

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


def told_wait(
    target: Target, cases: Sequence[Case], families: Sequence[int] | None, *, slow: bool
) -> str:
    """How long the cases that may use the listener take at most, "" where there are none.

    families: that are judged, None for all. slow: whether slow cases are, too.
    """
    count = sum(waits_its_turn(target, each) for each in cases if slow or not each.slow)
    count *= len([each for each in families or (4, 6) if each in target.addresses])
    if not count or target.small is None:
        return ""
    most = _STEP * _TRIES
    minutes = math.ceil(count * most / 60)
    return (
        f"up to {count} cases use --small-port {target.small.port}, one after the other, and wait "
        f"until their fast opens count no more: {most:g} s each at most, {minutes} minutes in all; "
        "seconds, where the target does not count those that were reset (RFC 7413 section 5.1)"
    )


async def leave(ending: Ending | None, make_peer: Callable[[], Peer]) -> None:
    """Let it be free again for the next case; a failure of this one says what its limit seems to
    be."""
    if isinstance(ending, Failed):
        peer = make_peer()
        try:
            ending.reason += await _doubt(peer)
        finally:
            peer.hang_up()
    await _rest(make_peer)


async def _doubt(peer: Peer) -> str:
    """What a failure there should say of the listener, "" where its limit is as it should be.

    A stack that keeps to no limit shows the same, so this is no excuse.
    """
    small = peer.target.small
    assert small is not None
    try:
        pending = len(await peer.fill(small, most=_PLENTY))
    except Ending:
        return ""
    if pending <= SMALL:
        return ""
    told = f"{pending} or more" if pending == _PLENTY else str(pending)
    return (
        f"; {told} fast opens were pending at a time at --small-port {small.port}: is its limit "
        f"really {SMALL}?"
    )


async def _rest(make_peer: Callable[[], Peer]) -> None:
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

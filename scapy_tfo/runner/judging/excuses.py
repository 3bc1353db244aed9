"""Finds out what else than a fault explains that something was refused, or did not come.

A valid cookie may be good for one fast open (paper 7.1), a queue of pending fast opens may be full,
or fast open may have gone off for good. And no standard says how many connections a target holds at
a time (RFC 9293 section 3.9.1.1): one that drops the SYN for one more looks like a faulty one, or
like a path that loses packets.
"""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo.suite.outcome import Ending
from scapy_tfo.suite.peer import Peer

_PATTERN = (True, False, False)
"""What becomes of each cookie when it is used three times. Twice over, no refusal at random and
no full queue looks the same."""

LONGEST = 240
"""Seconds in which a queue empties, none of our flows being left: a SYN-ACK may be sent again for
three minutes (RFC 9293 section 3.8.3), and resets count for a minute (RFC 7413 section 5.1)."""
_STEP = 10

ENOUGH = 8
"""Connections held at a time that are no shortage: hardly a case opens more."""

_TRIES, _ROUNDS = 4, 2
"""SYNs without an answer that mean that there is no room, and rounds that must agree: 0.36 ** 8 is
below one in a thousand, where 20 % are lost each way."""


async def cookies_are_good_once(peer: Peer) -> bool:
    """Whether each of two cookies is accepted the first time, and refused from then on."""
    try:
        for _ in range(2):
            cookie = await peer.cookie()
            for wanted in _PATTERN:
                if await peer.accepts(cookie) is not wanted:
                    return False
    except Ending:
        return False
    return True


async def comes_back(peer: Peer) -> bool:
    """Whether the main listener grants a cookie and takes it, once what we left has timed out."""
    for _ in range(0, LONGEST, _STEP):
        try:
            if await peer.accepts(await peer.cookie()):
                return True
        except Ending:
            pass
        await peer.wait(_STEP)
    return False


async def connections_at_a_time(peer: Callable[[], Peer]) -> int | None:
    """How many plain connections the main listener holds, half open or open, whichever are fewer.

    `ENOUGH` where they are as many at least, None for no clear answer. peer: makes one for each
    round, which holds connections until no more are answered.
    """
    held = []
    for half_open in (False, True):
        counts = [await _held_by(peer(), half_open=half_open) for _ in range(_ROUNDS)]
        if len(set(counts)) > 1 or not counts[0]:
            return None
        held.append(counts[0])
    return min(held)


async def _held_by(peer: Peer, *, half_open: bool) -> int:
    try:
        for held in range(ENOUGH):
            if not await _opens(peer, half_open=half_open):
                return held
        return ENOUGH
    finally:
        peer.hang_up()


async def _opens(peer: Peer, *, half_open: bool) -> bool:
    for _ in range(_TRIES):
        flow = peer.flow()
        try:
            flow.syn()
            await flow.syn_ack()
        except Ending:
            flow.hang_up()
            continue
        if not half_open:
            flow.ack()
        return True
    return False

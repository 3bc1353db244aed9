"""Finds out why a valid cookie was refused: cookies that are good for one fast open each (paper
7.1), a queue of pending fast opens that is full, or fast open that has gone off for good.
"""

from __future__ import annotations

from scapy_tfo.suite.outcome import Ending
from scapy_tfo.suite.peer import Peer

_PATTERN = (True, False, False)
"""What becomes of each cookie when it is used three times. Twice over, no refusal at random and
no full queue looks the same."""

LONGEST = 240
"""Seconds in which a queue empties, none of our flows being left: a SYN-ACK may be sent again for
three minutes (RFC 9293 section 3.8.3), and resets count for a minute (RFC 7413 section 5.1)."""
_STEP = 10


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

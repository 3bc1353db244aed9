"""Servers whose cookies are good for one fast open each (paper 7.1)."""

from __future__ import annotations

from scapy_tfo.suite.outcome import Ending
from scapy_tfo.suite.peer import Peer

_PATTERN = (True, False, False)
"""What becomes of each cookie when it is used three times. Twice over, no refusal at random and
no full queue looks the same."""


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

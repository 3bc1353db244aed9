"""Cookies of the clients that schedules come from, asked for in the ordinary way."""

from __future__ import annotations

import time

from scapy_tfo import option as opt
from scapy_tfo.explore.live.site import Site
from scapy_tfo.packet import Ends, build, key_of, read
from scapy_tfo.segment import ACK, RST, SYN, Address

_FRESH = 30.0
"""Seconds for which a cookie is taken for good without asking again."""
_PATIENCE, _ATTEMPTS = 1.0, 3
_APART = 1.1
"""Seconds between two requests, where a target grants one a second."""
_SEQ = 1000


class Cookies:
    """Those of all clients at all ports."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._known: dict[tuple[Address, int], tuple[float, bytes]] = {}
        self._strangers: list[bytes] = []
        self._asked_at = 0.0

    def take_strangers(self) -> list[bytes]:
        """Packets for others that came while a cookie was waited for."""
        came, self._strangers = self._strangers, []
        return came

    def of(self, client: Address, port: int, anew: bool) -> bytes:
        """The cookie of a client; b"" where none is granted. anew: ask in any case."""
        profile = self._site.profile
        if not profile.fast_open:
            return b""
        now = time.monotonic()
        known = self._known.get((client, port))
        if known is not None and not (anew or profile.cookies_once) and now - known[0] < _FRESH:
            return known[1]
        if not profile.grants_each:
            time.sleep(max(0.0, self._asked_at + _APART - now))
        cookie = None
        for _ in range(_ATTEMPTS):
            cookie = self._ask(client, port)
            if cookie is not None:
                break
        self._asked_at = now = time.monotonic()
        self._known[client, port] = now, cookie or b""
        return cookie or b""

    def _ask(self, client: Address, port: int) -> bytes | None:
        """The cookie that came; b"" in an answer without one, None without an answer."""
        batch = self._site.batch
        sport = batch.reserve_port(client)
        try:
            target = self._site.addresses[client.version]
            ends = Ends(client.packed, target.packed, sport, port)
            request = opt.padded(opt.push_options([opt.mss(1220), opt.fast_open()]))
            came = batch.exchange([build(ends, _SEQ, 0, SYN, options=request)])
            until = time.monotonic() + _PATIENCE
            found: bytes | None = None
            while True:
                for packet in came:
                    if key_of(packet) != (ends.client, sport, port):
                        self._strangers.append(packet)
                        continue
                    reply = read(packet)
                    if found is None and reply.flags & (SYN | ACK) == SYN | ACK:
                        self._strangers += batch.exchange([build(ends, _SEQ + 1, 0, RST)])
                        valid = opt.find_fast_open(reply.options)
                        each = [one for one in valid if isinstance(one, opt.FastOpen)]
                        found = each[-1].cookie if each else b""
                left = until - time.monotonic()
                if found is not None or left <= 0:
                    return found
                came = batch.wait(left)
        finally:
            batch.release_port(client, sport)

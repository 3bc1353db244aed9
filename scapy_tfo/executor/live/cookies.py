"""Requests a cookie in the ordinary way from each address that programs are sent from."""

from __future__ import annotations

import time
from collections.abc import Mapping

from scapy_tfo import option as opt
from scapy_tfo.packet import Ends, build, key_of, read
from scapy_tfo.program.cookies import Client, Jar
from scapy_tfo.segment import ACK, RST, SYN, Address
from scapy_tfo.wire.links.batch import Batch

PATIENCE = 1.0
ATTEMPTS = 3
_SEQ = 1000


def gather(
    batch: Batch, sources: Mapping[Client, Address], addresses: Mapping[int, Address], port: int
) -> Jar:
    """Ask for a cookie from every source, and again where no answer comes. Raises TargetError.

    sources, addresses: by client, and by family. A client that is answered without a cookie has
    none in the jar.
    """
    jar = Jar()
    for client, source in sources.items():
        for _ in range(ATTEMPTS):
            cookie = _ask(batch, source, addresses[client[0]], port)
            if cookie is not None:
                break
        if cookie:
            jar.grant(client, cookie, time.monotonic())
    return jar


def _ask(batch: Batch, source: Address, target: Address, port: int) -> bytes | None:
    """The cookie that came; b"" in an answer without one, None without an answer."""
    sport = batch.reserve_port(source)
    try:
        ends = Ends(source.packed, target.packed, sport, port)
        request = opt.padded(opt.push_options([opt.mss(1220), opt.fast_open()]))
        came = batch.exchange([build(ends, _SEQ, 0, SYN, options=request)])
        until = time.monotonic() + PATIENCE
        while True:
            for packet in came:
                if key_of(packet) != (ends.client, sport, port):
                    continue
                reply = read(packet)
                if reply.flags & (SYN | ACK) == SYN | ACK:
                    batch.exchange([build(ends, _SEQ + 1, 0, RST)])
                    valid = opt.find_fast_open(reply.options)
                    found = [each for each in valid if isinstance(each, opt.FastOpen)]
                    return found[-1].cookie if found else b""
            left = until - time.monotonic()
            if left <= 0:
                return None
            came = batch.wait(left)
    finally:
        batch.release_port(source, sport)

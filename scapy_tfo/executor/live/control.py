"""Finds out, before anything is judged, whether a target on the wire accepts plain connections."""

from __future__ import annotations

import time
from collections.abc import Mapping

from scapy_tfo import option as opt
from scapy_tfo.errors import TargetError
from scapy_tfo.packet import Ends, build, key_of, read
from scapy_tfo.program.cookies import Client
from scapy_tfo.segment import ACK, RST, SYN, Address, endpoint
from scapy_tfo.wire.links.batch import Batch

PATIENCE = 1.5
"""Seconds to wait for the answer to a SYN: over the round trip by way of two satellites."""

AFTER_A_WRONG_ANSWER = 0.5
"""Seconds to the next attempt: a server may be about to start again."""

ATTEMPTS = 3
_SEQ = 500
_CLOSED = "the port is closed (RST in answer to a SYN); is the server running?"
_SILENT = "no answer to a plain SYN"
_WRONG = "a plain SYN is not answered by a SYN-ACK"


def greet(
    batch: Batch, sources: Mapping[Client, Address], addresses: Mapping[int, Address], port: int
) -> None:
    """Make a control handshake with each address of a target, and give it up with a RST.

    sources, addresses: by client, and by family. Raises TargetError where none of a few succeeds:
    whatever a program meets there says nothing about fast open.
    """
    for family, target in addresses.items():
        source = next(each for (version, _), each in sources.items() if version == family)
        failure = ""
        for _ in range(ATTEMPTS):
            failure = _handshake(batch, source, target, port)
            if not failure:
                break
        if failure:
            raise TargetError(f"{endpoint(target, port)} cannot be judged: {failure}")


def _handshake(batch: Batch, source: Address, target: Address, port: int) -> str:
    """ "" where a SYN-ACK comes, else what went wrong."""
    failure = _SILENT
    sport = batch.reserve_port(source)
    try:
        ends = Ends(source.packed, target.packed, sport, port)
        syn = build(ends, _SEQ, 0, SYN, options=opt.push_options([opt.mss(1220)]))
        came = batch.exchange([syn])
        until = time.monotonic() + PATIENCE
        while True:
            for packet in came:
                if key_of(packet) != (ends.client, sport, port):
                    continue
                flags = read(packet).flags & (SYN | ACK | RST)
                if flags == SYN | ACK:
                    batch.exchange([build(ends, _SEQ + 1, 0, RST)])
                    return ""
                failure = _CLOSED if flags & RST else _WRONG
                until = min(until, time.monotonic() + AFTER_A_WRONG_ANSWER)
            left = until - time.monotonic()
            if left <= 0:
                return failure
            came = batch.wait(left)
    finally:
        batch.release_port(source, sport)

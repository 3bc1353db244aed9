"""The near end of several paths at once, in a namespace of its own.

    python near_program.py PORT ADDRESS...

PORT: of servers without an agent, or 0 if all have one. Prints one JSON object: the result by
address.
"""

from __future__ import annotations

import asyncio
import json
import sys
from ipaddress import ip_address
from typing import Any

from scapy_tfo.path.live import observe_live
from scapy_tfo.path.prober import Patience
from scapy_tfo.path.text import as_json
from scapy_tfo.path.verdict import judge

STAGGER = 0.1
"""Seconds between the beginnings of two: what is busy looks late."""

PATIENCE = Patience(limit=2.2, longest=2.2, late=0.0)
PORT, REQUESTS = 7413, 4
"""Of the far end; fewer cookies than usual, and as many as usual of a farm."""


async def one(turn: int, text: str, given: int) -> dict[str, Any]:
    await asyncio.sleep(turn * STAGGER)
    seen = await observe_live(
        ip_address(text),
        given or PORT,
        agent=not given,
        patience=PATIENCE,
        requests=REQUESTS * (4 if given else 1),
    )
    return as_json(judge(seen))


async def main() -> dict[str, Any]:
    given, addresses = int(sys.argv[1]), sys.argv[2:]
    found = await asyncio.gather(*(one(*each, given) for each in enumerate(addresses)))
    return dict(zip(addresses, found, strict=True))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main())))

"""The near end of several paths at once, in a namespace of its own.

    python near_program.py ADDRESS...

Prints one JSON object: the result by address.
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

PATIENCE = Patience(limit=2.2, late=0.0)
PORT, REQUESTS = 7413, 4


async def one(turn: int, text: str) -> dict[str, Any]:
    await asyncio.sleep(turn * STAGGER)
    seen = await observe_live(
        ip_address(text), PORT, agent=True, patience=PATIENCE, requests=REQUESTS
    )
    return as_json(judge(seen))


async def main() -> dict[str, Any]:
    found = await asyncio.gather(*(one(*each) for each in enumerate(sys.argv[1:])))
    return dict(zip(sys.argv[1:], found, strict=True))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main())))

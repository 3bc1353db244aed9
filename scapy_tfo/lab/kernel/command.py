"""Runs a program to its end, for the agent."""

from __future__ import annotations

import asyncio
import os
import signal
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from scapy_tfo.lab.process.namespace import die_with_parent

LIMIT = 15.0
"""Seconds a program may take before it is killed, unless told otherwise: less than the agent has
for an answer."""


async def run_to_end(argv: Sequence[str], limit: float = LIMIT) -> dict[str, Any]:
    """Run a program to its end, without a standard input: status, output (base64) and errors.

    It is killed after `limit` seconds, and with the agent. Raises OSError where it cannot start.
    """
    agent = os.getpid()
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        preexec_fn=lambda: die_with_parent(agent),
    )
    timer = asyncio.get_running_loop().call_later(limit, process.send_signal, signal.SIGKILL)
    output, errors = await process.communicate()
    timer.cancel()
    return {
        "status": process.returncode,
        "output": b64encode(output).decode(),
        "errors": errors.decode(errors="replace"),
    }

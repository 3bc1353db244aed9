"""Meets the applications behind listeners that are handed out: each does what its name says."""

from __future__ import annotations

from scapy_tfo.lab.apps import pattern
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Ending

_WITHIN = 3.0
"""Seconds that an application may take for what it writes on accept."""

_SILENT = 0.5
"""Seconds in which an application that is not mute would have answered."""

_ABORT = ("abort", "send-abort")
_CLOSE = ("close", "send-close", "two-sends", "half-close")
_MUTE = ("mute", "never-reads")


async def oddity(flow: Flow, app: str) -> str:
    """What the application behind a plain connection does otherwise than the one of lab.apps with
    that name and size, such as `send-close:5000`; "" where it does the same, or where the path may
    have lost what it does.

    flow: its handshake is done, and nothing is sent on it yet.
    """
    name, _, size = app.partition(":")
    text = pattern(int(size or 0)) * (2 if name == "two-sends" else 1)
    if name not in _MUTE and await _acts(flow, name, text):
        if name == "send":
            # One that closes has done the same so far.
            await flow.pause(_SILENT)
        return _wrong(flow, name, text) or ""
    # One that accepts a connection only once there is data gets some.
    flow.request()
    if name in _MUTE:
        await flow.pause(_SILENT)
        return _wrong(flow, name, text) or ""
    acted = await _acts(flow, name, text)
    if flow.was_reset:
        return ""
    if acted or flow.their_rcv_nxt != flow.snd_nxt or 0 < len(flow.stream.data) < len(text):
        return _wrong(flow, name, text) or ""
    return f"{len(flow.stream.data)} bytes came, and no {'RST' if name in _ABORT else 'FIN'}"


async def _acts(flow: Flow, name: str, text: bytes) -> bool:
    """Whether it has done all that it should, or something else, before long."""

    def acted() -> bool:
        return _wrong(flow, name, text) != ""

    try:
        await flow.until("the application", acted, within=_WITHIN, acking=True, may_reset=True)
    except Ending:
        return False
    return True


def _wrong(flow: Flow, name: str, text: bytes) -> str | None:
    """What is wrong with what it did so far: None if complete and right, "" if incomplete."""
    data = bytes(flow.stream.data)
    if data[: len(text)] != text[: len(data)] or (len(data) > len(text) and name != "send"):
        return f"{len(data)} bytes came which it does not write"
    if flow.was_reset:
        return None if name in _ABORT else "it reset the connection"
    if flow.stream.ended:
        right = name in _CLOSE and len(data) == len(text)
        return None if right else f"it closed after {len(data)} bytes"
    return None if name == "send" and len(data) >= len(text) else ""

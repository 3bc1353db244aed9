"""Tells what a script needs of the stack to judge it (`--needs_cookie`, `--needs_timestamps`)."""

from __future__ import annotations

from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.segment import Segment


def refuse_what_lacks(segment: Segment, expected: tree.Packet, settings: Settings) -> None:
    """Raises SetupError where a SYN-ACK lacks what its script needs and the standards leave free:
    to grant cookies (RFC 7413 section 4.1.2), and timestamps (RFC 7323 section 3.2)."""
    if not segment.is_syn_ack:
        return
    options = expected.options or ()
    if settings.needs_cookie and any(map(_asks_for_cookie, options)) and not segment.fast_open:
        raise SetupError("the target grants no cookie, so this script cannot judge it")
    has_stamps = any(isinstance(each, fields.Timestamps) for each in options)
    if settings.needs_timestamps and has_stamps and segment.timestamps is None:
        raise SetupError("the target has no timestamps, so this script cannot judge it")


def _asks_for_cookie(option: fields.TcpOption) -> bool:
    return isinstance(option, fields.FastOpen) and isinstance(option.cookie, fields.Wildcard)

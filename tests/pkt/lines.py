"""Parses single lines of scripts, for tests."""

from __future__ import annotations

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.packets.live_numbers import Flow

LOCAL, REMOTE = Settings().addresses
LOCAL_6, REMOTE_6 = Settings(version="ipv6").addresses


def inbound(text: str) -> tree.Packet:
    """`S 0:0(0) win 5`, as a packet to the kernel."""
    return packet(f"< {text}")


def outbound(text: str) -> tree.Packet:
    """`S. 0:0(0) ack 1`, as a packet of the kernel."""
    return packet(f"> {text}")


def packet(text: str) -> tree.Packet:
    found = parse(f"+0 {text}").events[0].action
    assert isinstance(found, tree.Packet)
    return found


def flow_of(remote_isn: int, local_isn: int, *, family: int = 4) -> Flow:
    """A connection whose ISNs are both known, and the script's are those of the wire."""
    local, remote = (LOCAL, REMOTE) if family == 4 else (LOCAL_6, REMOTE_6)
    flow = Flow(local, remote, 8080, 40000)
    flow.remote_isn, flow.script_isn, flow.live_isn = remote_isn, local_isn, local_isn
    return flow


def seen_from_the_other_side(flow: Flow) -> Flow:
    """What the script's side is to `flow` is the kernel's side here."""
    other = Flow(flow.remote, flow.local, flow.remote_port, flow.local_port or 0)
    other.remote_isn = flow.live_isn
    other.script_isn = other.live_isn = flow.remote_isn
    return other

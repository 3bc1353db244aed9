"""The reference implementation of TCP Fast Open, sans-IO: packets and time in, packets out."""

from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.connection import Connection
from scapy_tfo.reference.parts.signatures import AoKey, Md5Key
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.settings import (
    AcceptFull,
    Icmp,
    InitialWindow,
    Settings,
    SynCookies,
    Undo,
)
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import (
    Accepted,
    Closed,
    Connected,
    EndOfStream,
    Event,
    Received,
    Reset,
    State,
)

__all__ = [
    "AcceptFull",
    "Accepted",
    "ActiveConnection",
    "AoKey",
    "Closed",
    "Connected",
    "Connection",
    "EndOfStream",
    "Event",
    "Icmp",
    "InitialWindow",
    "Listener",
    "Md5Key",
    "PassiveConnection",
    "Received",
    "Reset",
    "Settings",
    "Stack",
    "State",
    "SynCookies",
    "Undo",
]

"""The reference implementation of TCP Fast Open, sans-IO: packets and time in, packets out."""

from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.connection import Connection
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.settings import Cookieless, InitialWindow, Settings
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
    "Accepted",
    "ActiveConnection",
    "Closed",
    "Connected",
    "Connection",
    "Cookieless",
    "EndOfStream",
    "Event",
    "InitialWindow",
    "Listener",
    "PassiveConnection",
    "Received",
    "Reset",
    "Settings",
    "Stack",
    "State",
]

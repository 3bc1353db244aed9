"""Names that users can choose from: the ends of a link, and what emulates it."""

from __future__ import annotations

REFERENCE = "reference"
CLIENTS = ("kernel", REFERENCE)
SERVERS = ("nginx", "nginx-off", REFERENCE)
"""`nginx-off`: nginx on a kernel that has fast open off."""

WAY_NAMES = (
    "tcp",
    "tfo",
    "kept",
    "tls",
    "tls-tfo",
    "tls-early",
    "tls-early-tfo",
    "quic",
    "quic-early",
)
"""Of gain/secure/ways.py."""

AUTO, NETEM, OWN, VETH = "auto", "netem", "own", "veth"
VIRTUAL = "virtual"
"""The model of a link, on a virtual clock."""

LINKS = (AUTO, NETEM, OWN)
"""`auto` is netem if the kernel has it, else our own emulator. `VETH` is a pair with nothing in
between, for a link without any property."""

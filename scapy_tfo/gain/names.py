"""Names that users can choose from: the ends of a link, and what emulates it."""

from __future__ import annotations

CLIENTS = ("kernel", "reference")
SERVERS = ("nginx", "nginx-off", "reference")
"""`nginx-off`: nginx on a kernel that has fast open off."""

AUTO, NETEM, OWN, VETH = "auto", "netem", "own", "veth"
LINKS = (AUTO, NETEM, OWN)
"""`auto` is netem if the kernel has it, else our own emulator. `VETH` is a pair with nothing in
between, for a link without any property."""

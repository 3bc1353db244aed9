"""What can be asked for by name: ends of a link, and who makes it."""

from __future__ import annotations

CLIENTS = ("kernel", "reference")
SERVERS = ("nginx", "nginx-off", "reference")
"""`nginx-off`: the kernel under it has fast open off."""

AUTO, NETEM, OWN, VETH = "auto", "netem", "own", "veth"
LINKS = (AUTO, NETEM, OWN)
"""`auto` is netem where the kernel has it, else our own emulator. `VETH` is a pair with nothing
between, where nothing is asked of a link."""

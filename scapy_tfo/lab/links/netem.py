"""A link between two namespaces that the kernel itself provides, by veth pairs and netem."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from functools import cache

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.links.link_process import LinkProcess

DEVICE = "link0"
"""Its end in each of the two."""

_AGENT = "scapy_tfo.lab.links.netem_agent"


class NetemLink(LinkProcess):
    """A way between the namespaces of two processes, for IPv4, beside those that are there.

    client, server: their ids. to_client, to_server: networks that are reached by it. Goes with its
    process. Raises SetupError where the host does not allow it, or its kernel has no netem.
    """

    def __init__(
        self, client: int, server: int, to_client: Sequence[str], to_server: Sequence[str]
    ) -> None:
        config = {"client": client, "server": server, "onward": to_server, "homeward": to_client}
        super().__init__(_AGENT, [json.dumps(config)])
        try:
            self.greeting()
        except BaseException:
            self.close()
            raise


@cache
def missing() -> str:
    """Why there can be no `NetemLink` here, tried in a namespace of its own; "" where it can."""
    trial = LinkProcess(_AGENT, ["null"])
    with contextlib.closing(trial):
        try:
            trial.greeting()
        except SetupError as error:
            return str(error)
    return ""

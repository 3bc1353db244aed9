"""When a client asks for a cookie, in which form, and how often (RFC 7413 4.2.1)."""

from __future__ import annotations

import math

from scapy_tfo.client_variants.registry import add, client_variant
from scapy_tfo.option import Form
from scapy_tfo.reference.client import ActiveConnection, Plan

_MINUTE, _HOUR = 60.0, 3600.0


@client_variant({"client-data-at-request": "yes"})
class AsksWithData(ActiveConnection):
    """Beside a request for a cookie there is data, as servers that need no cookie take it."""

    def plan(self, now: float) -> Plan:
        plan = super().plan(now)
        return Plan(plan.option, data=plan.option is not None)

    def open(self, data: bytes, now: float) -> None:
        super().open(data, now)
        self.requested = self.tried and not self.cached.cookie


add(
    "asks-in-the-experimental-form",
    "The option is of kind 254, and no other kind is understood.",
    {"client-form": "254"},
    client_form=Form.EXPERIMENT_2,
    forms=frozenset({Form.EXPERIMENT_2}),
)
for _time, _told, _choice in ((_MINUTE, "a-minute", "60 s"), (_HOUR, "an-hour", "an hour")):
    add(
        f"asks-again-after-{_told}",
        f"A server that gave no cookie is asked again after {_told.replace('-', ' ')}.",
        {"client-asks-again": _choice},
        request_again_after=_time,
    )
add(
    "tries-again-after-a-minute",
    "A path that refused fast open is left alone for a minute.",
    {"client-off-time": "60 s"},
    negative_lifetime=_MINUTE,
)
add(
    "never-tries-again",
    "A path that refused fast open once is left alone for ever.",
    {"client-off-time": "for ever"},
    negative_lifetime=math.inf,
)

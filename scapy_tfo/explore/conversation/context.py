"""What a schedule holds beside applications and faults: addresses, ports, options, sizes.

Each factor has levels; the first is what is usual.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any

from scapy_tfo.address import known_address
from scapy_tfo.errors import SetupError
from scapy_tfo.reference.settings import Settings
from scapy_tfo.segment import Address


def _at(text: str) -> Address:
    return known_address(ip_address(text).packed)


_CLIENT = _at("192.0.2.10")


@dataclass(frozen=True, slots=True)
class Context:
    """family: 4 or 6. client: its address. port: its port, 0 for any that is free. settings: of the
    client's stack. mss: that the client believes the target to have."""

    family: int = 4
    client: Address = _CLIENT
    port: int = 0
    settings: Settings = field(default_factory=lambda: Settings(first_isn=0x10203040))
    mss: int = 1460


USUAL = Context()

FACTORS: dict[str, dict[str, dict[str, Any]]] = {
    "family": {"4": {}, "6": {"family": 6, "client": _at("fd00:7413::10")}},
    "timestamps": {"yes": {}, "no": {"timestamps": False}},
    "sack": {"yes": {}, "no": {"sack": False}},
    "window": {
        "2^18": {},
        "2^16-1": {"receive_window": 65535},
        "2^30": {"receive_window": 1 << 29},
        "unscaled": {"window_scaling": False},
        "536": {"receive_window": 536},
    },
    "mtu": {"1500": {}, "1280": {"mtu": 1280}},
    "isn": {
        "usual": {},
        "0": {"first_isn": 0},
        "2^32-1": {"first_isn": 0xFFFFFFFF},
        "2^32-50": {"first_isn": 0xFFFFFFFF - 49},
        "2^31-50": {"first_isn": 0x7FFFFFFF - 49},
    },
    "acks": {
        "at once": {},
        "after 40 ms": {"ack_delay": 0.04},
        "after 490 ms": {"ack_delay": 0.49},
    },
    "ecn": {"no": {}, "yes": {"ecn": True}},
    "dscp": {"0": {}, "46": {"dscp": 46}},
    "early text": {"kept": {}, "dropped": {"keep_early_text": False}},
    "dsack": {"no": {}, "yes": {"dsack": True}},
    "padding": {"0": {}, "4": {"other_syn_options": 4}},
    "nagle": {"no": {}, "yes": {"nagle": True}},
}

_SETTINGS = set(Settings.__dataclass_fields__)


@functools.lru_cache(4096)
def context_of(levels: tuple[tuple[str, str], ...]) -> Context:
    """The context of a schedule. Raises SetupError for a factor or level that there is not."""
    made = USUAL
    settings: dict[str, Any] = {}
    for name, level in levels:
        if level not in FACTORS.get(name, ()):
            raise SetupError(f"no such context: {name} {level}")
        for key, value in FACTORS[name][level].items():
            if key in _SETTINGS:
                settings[key] = value
            else:
                made = replace(made, **{key: value})
    return replace(made, settings=replace(made.settings, **settings))

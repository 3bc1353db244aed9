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
from scapy_tfo.explore.ends.dressing import EDITS
from scapy_tfo.explore.ends.opening import LATER
from scapy_tfo.reference.settings import Settings
from scapy_tfo.segment import Address


def _at(text: str) -> Address:
    return known_address(ip_address(text).packed)


_CLIENT = _at("192.0.2.10")
SAME = -1
_ROOM = {"mtu": 1360}
"""Of the client's packets, where something else takes room in them."""


@dataclass(frozen=True, slots=True)
class Context:
    """family: 4 or 6. client: its address. port: its port, 0 for any that is free, `SAME` for that
    of the target. settings: of the client's stack. mss: that the client believes the target to
    have. bit: of its address, counted from the lowest, that is another one. offers, clock, pushes:
    see `Client`. later: which Fast Open option stands in its segments behind the SYN. filling: the
    byte that its text is made of, None for bytes that tell their place. iss: the target's ISN, None
    for the target's choice. dress: names of `dressing.EDITS`."""

    family: int = 4
    client: Address = _CLIENT
    port: int = 0
    settings: Settings = field(default_factory=lambda: Settings(first_isn=0x10203040))
    mss: int = 1460
    bit: int | None = None
    offers: int = 0
    clock: int | None = None
    pushes: bool | None = None
    later: str = ""
    filling: int | None = None
    iss: int | None = None
    dress: tuple[str, ...] = ()


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
    "options": {
        "usual": {},
        **{
            each: {"dress": (each,), **_ROOM}
            for each in ("first 2", "first all", "last 2", "last 3", "last all")
        },
    },
    "below": {
        "usual": {},
        "short": {"dress": ("ip options 4", "hop by hop"), **_ROOM},
        "long": {"dress": ("ip options 40", "long extensions"), **_ROOM},
    },
    "fields": {
        "usual": {},
        **{
            each: {"dress": (each,)}
            for each in ("urgent pointer", "checksum 0", "checksum 65535", "reserved bits")
        },
    },
    "mtu": {"1500": {}, "1280": {"mtu": 1280}},
    "mss": {
        "of the link": {},
        "536": {"offers": 536},
        "1000": {"offers": 1000},
        "65535": {"offers": 65535},
    },
    "port": {
        "any": {},
        **{str(each): {"port": each} for each in (1, 1023, 1024, 32767, 65535)},
        "the target's": {"port": SAME},
    },
    "clock": {
        "any": {},
        "0": {"clock": 0},
        "2^32-5": {"clock": (1 << 32) - 5},
        "2^31-5": {"clock": (1 << 31) - 5},
    },
    "push": {"at the end": {}, "always": {"pushes": True}, "never": {"pushes": False}},
    "text": {"any": {}, "zeros": {"filling": 0}, "255": {"filling": 255}},
    "their isn": {
        "usual": {},
        "0": {"iss": 0},
        "2^32-1": {"iss": 0xFFFFFFFF},
        "2^32-50": {"iss": 0xFFFFFFFF - 49},
        "2^31-50": {"iss": 0x7FFFFFFF - 49},
    },
    "hop limit": {"64": {}, "1": {"ttl": 1}, "255": {"ttl": 255}},
    "label": {"none": {}, "one": {"flow_labels": True, "ip_ids": "counted"}},
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
    "later option": {"none": {}, **{each: {"later": each, **_ROOM} for each in LATER}},
}

ALONE: dict[str, dict[str, dict[str, Any]]] = {
    "port": {
        str(each): {"port": each}
        for power in range(1, 16)
        for each in ((1 << power) - 1, 1 << power, (1 << power) + 1)
    },
    "address": {str(bit): {"bit": bit} for bit in range(128)},
    "options": {
        each: {"dress": (each,), **_ROOM}
        for each in EDITS
        if each.startswith(("first", "last")) and not each.endswith("all")
    },
    "text": {str(each): {"filling": each} for each in (1, 0x0A, 0x22, 0x7F, 0x80, 0xFE)},
}
"""Levels that are played each by itself: there are too many to meet all others."""

_SETTINGS = set(Settings.__dataclass_fields__)


@functools.lru_cache(4096)
def context_of(given: tuple[tuple[str, str], ...]) -> Context:
    """The context of a schedule. Raises SetupError for a factor or level that there is not."""
    made = USUAL
    settings: dict[str, Any] = {}
    for name, level in given:
        levels = FACTORS.get(name, {}) | ALONE.get(name, {})
        if level not in levels:
            raise SetupError(f"no such context: {name} {level}")
        for key, value in levels[level].items():
            if key in _SETTINGS:
                settings[key] = value
            elif key == "dress":
                made = replace(made, dress=(*made.dress, *value))
            else:
                made = replace(made, **{key: value})
    return replace(made, settings=replace(made.settings, **settings))

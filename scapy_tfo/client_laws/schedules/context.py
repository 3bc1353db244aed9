"""What the server of a schedule has beside its application: options, sizes, numbers, timers.

Most are what the explorer of servers varies in its client. Each factor has levels; the first is
what is usual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scapy_tfo.explore.ends.context import FACTORS
from scapy_tfo.reference.settings import InitialWindow, Settings

_SETTINGS = set(Settings.__dataclass_fields__)
COOKIE = "cookie_size"
"""Not one of `Settings`: bytes of the cookies that the server grants."""


def _is_of_a_server(levels: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether nothing in it is of clients alone."""
    return all(set(each) <= _SETTINGS | {"dress"} for each in levels.values())


CONTEXT: dict[str, dict[str, dict[str, Any]]] = {
    **{name: levels for name, levels in FACTORS.items() if _is_of_a_server(levels)},
    # A limit of 1 is one that no server sends.
    "hop limit": {"64": {}, "255": {"ttl": 255}},
    "mss": {
        "of the link": {},
        "300": {"advertised_mss": 300},
        "536": {"advertised_mss": 536},
        "65535": {"advertised_mss": 65535},
    },
    "early window": {
        "usual": {},
        "0": {"syn_ack_window": 0, "window_opens_after": 0.3},
        "100": {"syn_ack_window": 100, "window_opens_after": 0.3},
    },
    "syn-ack": {"at once": {}, "late": {"syn_ack_delay": 0.3}, "again": {"syn_ack_delay": 1.3}},
    "taken": {"all": {}, "40": {"syn_data_limit": 40}, "1": {"syn_data_limit": 1}},
    "refused text": {"dropped": {}, "kept": {"keep_syn_data": True}},
    "answers": {"early": {}, "behind the handshake": {"wait_for_handshake": True}},
    "first flight": {
        "RFC 3390": {},
        "RFC 6928": {"initial_window": InitialWindow.RFC6928},
        "one": {"initial_window": 1},
    },
    "cookie": {str(size): {COOKIE: size} for size in (8, 4, 16)},
}


def settings_of(context: tuple[tuple[str, str], ...]) -> Settings:
    """Of the server's stack."""
    made: dict[str, Any] = {}
    for name, level in context:
        made |= {key: each for key, each in CONTEXT[name][level].items() if key in _SETTINGS}
    return replace(Settings(), **made)


def dress_of(context: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Names of edits of the server's packets, see `explore.ends.dressing`."""
    return tuple(edit for name, level in context for edit in CONTEXT[name][level].get("dress", ()))


def cookie_size_of(context: tuple[tuple[str, str], ...]) -> int:
    """Bytes of the server's cookies."""
    return next((CONTEXT[name][level][COOKIE] for name, level in context if name == "cookie"), 8)

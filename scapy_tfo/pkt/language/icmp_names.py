"""Types and codes of ICMP errors by the names that scripts give them (RFC 792, RFC 4443)."""

from __future__ import annotations

import re

_CODES_IPV4 = {
    "net_unreachable": 0,
    "host_unreachable": 1,
    "protocol_unreachable": 2,
    "port_unreachable": 3,
    "frag_needed": 4,
    "source_route_failed": 5,
    "net_unknown": 6,
    "host_unknown": 7,
    "source_host_isolated": 8,
    "net_prohibited": 9,
    "host_prohibited": 10,
    "net_tos": 11,
    "host_tos": 12,
    "packet_filtered": 13,
    "precedence_violation": 14,
    "precedence_cutoff": 15,
}
_IPV4: dict[str, tuple[int, dict[str, int]]] = {
    "unreachable": (3, _CODES_IPV4),
    "source_quench": (4, {}),
    "redirect": (5, {}),
    "time_exceeded": (11, {}),
    "parameter_problem": (12, {}),
}
_IPV6: dict[str, tuple[int, dict[str, int]]] = {
    "unreachable": (
        1,
        {
            "net_unreachable": 0,
            "no_route": 0,
            "admin_prohibited": 1,
            "not_neighbour": 2,
            "address_unreachable": 3,
            "port_unreachable": 4,
        },
    ),
    "packet_too_big": (2, {}),
    "time_exceeded": (3, {"exceeded_hop_limit": 0, "exceeded_frag_time": 1}),
    "parameter_problem": (4, {"header_field": 0, "unknown_next_header": 1, "unknown_option": 2}),
}


class IcmpNameError(ValueError):
    """A name that this IP version has not; the message lists those it has."""


def icmp_numbers(type_name: str, code_name: str | None, family: int) -> tuple[int, int]:
    """Type and code. family: 4 or 6. `type_3` and `code_4` name a number. Raises IcmpNameError."""
    kinds = _IPV4 if family == 4 else _IPV6
    codes: dict[str, int] = {}
    kind = _plain("type", type_name)
    if kind is None:
        if type_name not in kinds:
            raise IcmpNameError(f"IPv{family} has no ICMP type {type_name}: {_list(kinds, 'type')}")
        kind, codes = kinds[type_name]
    if code_name is None:
        return kind, 0
    code = _plain("code", code_name)
    if code is None:
        if code_name not in codes:
            raise IcmpNameError(
                f"this ICMP type of IPv{family} has no code {code_name}: {_list(codes, 'code')}"
            )
        code = codes[code_name]
    return kind, code


def icmp_names(kind: int, code: int, family: int) -> tuple[str, str | None]:
    """The names of a type and code, `type_9` and `code_9` where there are none."""
    for name, (number, codes) in (_IPV4 if family == 4 else _IPV6).items():
        if number == kind:
            found = [each for each, value in codes.items() if value == code]
            return name, found[-1] if found else f"code_{code}" if code else None
    return f"type_{kind}", f"code_{code}" if code else None


def _plain(word: str, name: str) -> int | None:
    found = re.fullmatch(rf"{word}_(\d+)", name)
    number = int(found[1]) if found else None
    return number if number is not None and number < 256 else None


def _list(names: dict[str, int] | dict[str, tuple[int, dict[str, int]]], word: str) -> str:
    return "write " + "".join(f"{name}, " for name in names) + f"or {word}_N with a number"

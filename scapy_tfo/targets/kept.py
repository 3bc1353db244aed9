"""Targets whose names were kept in a file or a store, and were not given by the user.

Such a file may come from anybody. Only a target that is on this machine is taken from it.
"""

from __future__ import annotations

from ipaddress import ip_address

from scapy_tfo.errors import SetupError
from scapy_tfo.executor.pair import AGAINST
from scapy_tfo.stacks.file import is_target_file
from scapy_tfo.targets.by_address import way_of
from scapy_tfo.targets.endpoint import parse_endpoint

_OURS = ("sim:", "lab:")
_LOCALHOST = "localhost"
_LOOPBACK = "lo"


def kept_target(name: object, where: str, option: str) -> str:
    """The target that `where` names, if it is a sim:, lab: or loopback target.

    option: with which a user names a target. Raises SetupError for any other target, and for what
    is none.
    """
    if not isinstance(name, str):
        raise SetupError(f"{where} names no target: give one with {option}")
    if not all(_is_here(each) for each in name.split(AGAINST, 1)):
        raise SetupError(
            f"{where} names the target {name!r}, which is not on this machine or runs commands: "
            f"if you trust it, name it yourself: {option} {name!r}"
        )
    return name


def _is_here(name: str) -> bool:
    if name.startswith(_OURS):
        return True
    # Its commands would be run.
    if is_target_file(name):
        return False
    try:
        way = way_of(name)
        host, _ = parse_endpoint(way.endpoint)
    except SetupError:
        return False
    hosts = (host, *way.sources)
    return way.iface in ("", _LOOPBACK) and all(_is_loopback(each) for each in hosts)


def _is_loopback(host: str) -> bool:
    if host.lower() == _LOCALHOST:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False

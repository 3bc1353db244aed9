"""Chooses the link to a target, by who owns the addresses to send from."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address

from scapy_tfo.errors import SetupError
from scapy_tfo.segment import Address
from scapy_tfo.wire.interfaces import inspect, next_hop
from scapy_tfo.wire.link import Link
from scapy_tfo.wire.links.bare import BareLink
from scapy_tfo.wire.links.ethernet import EthernetLink
from scapy_tfo.wire.links.host import HostLink
from scapy_tfo.wire.routes import is_ours, route_to, unscoped

_SECOND_LOOPBACK = (IPv4Address("127.0.0.2"), IPv4Address("127.0.0.3"))


def open_link(
    target: Address | Sequence[Address],
    *,
    iface: str | None = None,
    sources: Sequence[Address] = (),
    is_local: bool | None = None,
) -> Link:
    """Open the way to the addresses of one target.

    iface: the interface to use; needed where the sources are not this host's own, and where a
    link-local target does not name it itself (`fe80::7%eth0`). sources: the addresses to send
    from, the preferred first; empty for the kernel's own choice. is_local: whether the target is
    known to be on this machine (or not), None to ask the kernel.

    A family in which the target cannot be reached from here is left out: the link has no source
    of it. Raises SetupError where nothing is left, or something given does not fit.
    """
    targets = tuple(target) if isinstance(target, Sequence) else (target,)
    for each in targets:
        if each.is_multicast or each.is_unspecified or str(each) == "255.255.255.255":
            raise SetupError(f"{each} is not the address of one host")
        iface = iface or _scope(each)
    if iface is not None:
        inspect(iface)
    try:
        if not sources:
            return _from_kernels_choice(targets, iface, is_local)
        return _from_given(targets, iface, sources, is_local)
    except PermissionError as error:
        if error.errno == errno.EACCES:
            raise SetupError(
                f"{_listed(targets)} is a broadcast address: give that of one host"
            ) from error
        raise SetupError(
            "raw sockets need CAP_NET_RAW: run as root, or try lab:linux or sim:reference, which "
            "do not need it"
        ) from error
    except OSError as error:
        raise SetupError(
            f"cannot send to {_listed(targets)}: {os.strerror(error.errno or 0)}"
        ) from error


def _from_kernels_choice(
    targets: Sequence[Address], iface: str | None, is_local: bool | None
) -> Link:
    reachable: list[Address] = []
    sources: list[Address] = []
    why = ""
    for each in targets:
        # The kernel would send to any IPv4 address on any interface, from another one's address.
        if iface is not None and each.version == 4 and not inspect(iface).has_ipv4:
            why = "the interface has no address of its own"
            continue
        try:
            route = route_to(each, iface)
        except PermissionError:
            raise
        except OSError as error:
            why = os.strerror(error.errno or 0)
            continue
        reachable.append(each)
        sources.append(route.source)
        if each.is_loopback and each.version == 4:
            sources.append(next(at for at in _SECOND_LOOPBACK if at not in (each, route.source)))
    if not reachable:
        if iface is None:
            raise SetupError(f"no route to {_listed(targets)}: {why}")
        raise SetupError(
            f"no route to {_listed(targets)} through {iface} ({why}): "
            "give addresses to send from with --source"
        )
    return HostLink(reachable, sources, iface, is_local=is_local)


def _from_given(
    targets: Sequence[Address],
    iface: str | None,
    sources: Sequence[Address],
    is_local: bool | None,
) -> Link:
    for each in sources:
        if each.version not in {target.version for target in targets}:
            raise SetupError(
                f"source {each} is IPv{each.version}, but the target {_listed(targets)} is not"
            )
    targets = [unscoped(each) for each in targets if each.version in {at.version for at in sources}]
    foreign = [each for each in sources if not is_ours(each, iface)]
    if not foreign:
        return HostLink(targets, [unscoped(each) for each in sources], iface, is_local=is_local)
    if iface is None:
        raise SetupError(
            f"source {foreign[0]} is not an address of this host: "
            "give the interface to send on with --iface"
        )
    if len(foreign) < len(sources):
        owned = next(each for each in sources if each not in foreign)
        raise SetupError(
            f"source {owned} is this host's own and {foreign[0]} is not: give only one kind"
        )
    plain = [unscoped(each) for each in sources]
    if inspect(iface).is_bare:
        return BareLink(iface, plain, targets, is_local=bool(is_local))
    via = {each: hop for each in targets if (hop := next_hop(iface, each)) is not None}
    return EthernetLink(iface, plain, targets, via=via, is_local=bool(is_local))


def _scope(address: Address) -> str | None:
    """The interface that an address itself names (`fe80::7%eth0`, RFC 4007 section 11)."""
    scope = address.scope_id if isinstance(address, IPv6Address) else None
    if scope is None or not scope.isdecimal():
        return scope
    try:
        return socket.if_indextoname(int(scope))
    except OSError:
        return scope


def _listed(targets: Sequence[Address]) -> str:
    return " and ".join(str(each) for each in targets)

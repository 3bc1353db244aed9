"""The settings of a run, given by a script's options or on the command line."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scapy_tfo.address import Address, known_address
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.errors import ScriptError

IPV4, IPV6, MAPPED = "ipv4", "ipv6", "ipv4-mapped-ipv6"
ANY_SEGMENTS, ANY_ORDER = "any_segments", "any_order"
ADDED = (ANY_SEGMENTS, ANY_ORDER, "needs_cookie", "needs_timestamps")
"""The options that packetdrill does not have."""

VERSIONS = (IPV4, IPV6, MAPPED)


class SettingError(ValueError):
    """An option that cannot be; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a script is run; the defaults are packetdrill's.

    local, remote: addresses of the kernel under test and of the script's side, None: those of
    the IP version. tolerance: ns. tolerance_share: of the time since the event before, 0 to 1.
    tick: ns that one unit of the kernel's TS val takes, 0: not looked at. symbols: of `-D`.
    mtu: bytes, None: that of the IP version. strict_segments: no two packets for one of the script;
    any_segments: the kernel may divide its data as it likes; any_order: and order and pad options.
    needs_cookie, needs_timestamps: a stack that grants none, or has none, cannot be judged. piece:
    bytes in which a long packet is handed over, as a network card does that joins them; None:
    whole.
    """

    version: str = IPV4
    local: Address | None = None
    remote: Address | None = None
    prefix: int | None = None
    bind_port: int = 8080
    connect_port: int = 8080
    mtu: int | None = None
    piece: int | None = None
    tolerance: int = 4_000_000
    tolerance_share: float = 0.125
    tick: int = 0
    scaled_echoes: bool = False
    strict_segments: bool = False
    any_segments: bool = False
    any_order: bool = False
    needs_cookie: bool = False
    needs_timestamps: bool = False
    symbols: Mapping[str, str] = field(default_factory=dict)

    @property
    def family(self) -> int:
        """Of the packets: 4 or 6."""
        return 6 if self.version == IPV6 else 4

    @property
    def addresses(self) -> tuple[Address, Address]:
        """Of the kernel under test, and of the script's side."""
        local, remote = _DEFAULTS[self.family]
        return self.local or known_address(local), self.remote or known_address(remote)


_DEFAULTS = {
    4: (ipaddress.ip_address("192.168.0.1").packed, ipaddress.ip_address("192.0.2.1").packed),
    6: (
        ipaddress.ip_address("fd3d:a0b:17d6::1").packed,
        ipaddress.ip_address("fd3d:fa7b:d17d::1").packed,
    ),
}

_ADDRESSES = ("local_ip", "remote_ip")

_LATER = frozenset({"debug", "verbose", "dry_run", "send_omit_free", "non_fatal", "speed"})
"""Options of packetdrill about its own messages, or about what this engine always does."""

_ELSEWHERE = frozenset(
    {
        "code_command",
        "code_format",
        "code_sockopt",
        "init_scripts",
        "is_anyip",
        "psp_udp_port",
        "so_filename",
        "so_flags",
        "wire_client",
        "wire_client_dev",
        "wire_server",
        "wire_server_at",
        "wire_server_dev",
        "wire_server_ip",
        "wire_server_port",
    }
)
"""Options of packetdrill that mean nothing here."""


def with_options(base: Settings, options: Iterable[tree.Option], text: str, name: str) -> Settings:
    """The settings of a script: its own options win. text, name: for the message.

    Raises ScriptError at the first option that is unknown or has no such value.
    """
    settings = base
    for option in options:
        try:
            settings = with_option(settings, option.name, option.value)
        except SettingError as error:
            at = option.at
            raise ScriptError(
                str(error), name=name, text=text, line=at.line, column=at.column
            ) from None
    for option in options:
        if option.name in _ADDRESSES and option.value is not None:
            address = _address(option.name, option.value)
            if address.version != settings.family:
                raise ScriptError(
                    f"{address} does not match --ip_version={settings.version}",
                    name=name,
                    text=text,
                    line=option.at.line,
                    column=option.at.column,
                )
    return settings


def with_option(settings: Settings, name: str, value: str | None) -> Settings:
    """The settings with one more, as in a script: `tolerance_usecs`, `10000`.

    Raises SettingError.
    """
    if name in _LATER:
        return settings
    if name == "define":
        symbol, equals, meaning = (value or "").partition("=")
        if not equals or not symbol:
            raise SettingError("--define needs NAME=VALUE")
        return replace(settings, symbols={**settings.symbols, symbol: meaning.strip("\"'")})
    if name in ("tcp_ts_ecr_scaled", "strict_segments", *ADDED):
        if value is not None:
            raise SettingError(f"--{name} takes no value")
        switch = "scaled_echoes" if name == "tcp_ts_ecr_scaled" else name
        return _with(settings, switch, True)
    if name in _ELSEWHERE:
        raise SettingError(f"--{name} has a meaning only in packetdrill itself: leave it out")
    known = _READERS.get(name)
    if known is None:
        raise SettingError(f"unknown option --{name}")
    if value is None:
        raise SettingError(f"--{name} needs a value")
    field_name, read = known
    return _with(settings, field_name, read(name, value)) if field_name else settings


def _with(settings: Settings, name: str, value: Any) -> Settings:
    return replace(settings, **{name: value})


def _version(name: str, value: str) -> str:
    if value not in VERSIONS:
        raise SettingError(f"--{name} must be one of {', '.join(VERSIONS)}, not '{value}'")
    return value


def _address(name: str, value: str) -> Address:
    try:
        return known_address(ipaddress.ip_address(value.split("/")[0]).packed)
    except ValueError:
        raise SettingError(f"--{name}: '{value}' is not an IP address") from None


def _positive(name: str, value: str) -> int:
    size = _number(name, value)
    if size < 1:
        raise SettingError(f"--{name} must be 1 or more, not {value}")
    return size


def _prefix(name: str, value: str) -> int:
    try:
        return ipaddress.ip_network(f"0.0.0.0/{value}").prefixlen
    except ValueError:
        raise SettingError(f"--{name}: '{value}' is not a netmask") from None


def _number(name: str, value: str) -> int:
    if not value.isascii() or not value.isdecimal():
        raise SettingError(f"--{name} must be a number, not '{value}'")
    return int(value)


def _port(name: str, value: str) -> int:
    port = _number(name, value)
    if not 0 < port < 1 << 16:
        raise SettingError(f"--{name} must be from 1 to 65535, not {value}")
    return port


def _mtu(name: str, value: str) -> int:
    mtu = _number(name, value)
    if not 68 <= mtu < 1 << 16:
        raise SettingError(f"--{name} must be from 68 to 65535 bytes, not {value}")
    return mtu


def _micros(name: str, value: str) -> int:
    return _number(name, value) * 1000


def _percent(name: str, value: str) -> float:
    try:
        share = float(value) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise SettingError(f"--{name} must be a percentage from 0 to 100, not '{value}'")
    return share


_READERS = {
    "ip_version": ("version", _version),
    "local_ip": ("local", _address),
    "remote_ip": ("remote", _address),
    "gateway_ip": ("", _address),
    "netmask_ip": ("prefix", _prefix),
    "bind_port": ("bind_port", _port),
    "connect_port": ("connect_port", _port),
    "mtu": ("mtu", _mtu),
    "mss": ("piece", _positive),
    "tolerance_usecs": ("tolerance", _micros),
    "tolerance_percent": ("tolerance_share", _percent),
    "tcp_ts_tick_usecs": ("tick", _micros),
}

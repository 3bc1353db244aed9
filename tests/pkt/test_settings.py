"""Options of scripts."""

from __future__ import annotations

from typing import Any

import pytest

from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.icmp_names import IcmpNameError, icmp_names, icmp_numbers
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.settings import SettingError, Settings, with_option, with_options


def of(text: str, **base: Any) -> Settings:
    return with_options(Settings(**base), parse(text).options, text, "a.pkt")


@pytest.mark.parametrize(
    ("option", "name", "value"),
    [
        ("--ip_version=ipv6", "version", "ipv6"),
        ("--bind_port=80", "bind_port", 80),
        ("--connect_port=81", "connect_port", 81),
        ("--mtu=1280", "mtu", 1280),
        ("--tolerance_usecs=10000", "tolerance", 10_000_000),
        ("--tolerance_percent=2.5", "tolerance_share", 0.025),
        ("--tcp_ts_tick_usecs=1000", "tick", 1_000_000),
        ("--tcp_ts_ecr_scaled", "scaled_echoes", True),
        ("--strict_segments", "strict_segments", True),
        ("--netmask_ip=255.255.255.0", "prefix", 24),
        ("--define=A=5", "symbols", {"A": "5"}),
        ('--define=A="b"', "symbols", {"A": "b"}),
        ("--send_omit_free", "symbols", {}),
        ("--gateway_ip=192.168.0.9", "local", None),
    ],
)
def test_an_option_is_a_setting(option: str, name: str, value: object) -> None:
    assert getattr(of(option), name) == value


def test_addresses_are_those_of_the_ip_version_or_given() -> None:
    assert list(map(str, of("").addresses)) == ["192.168.0.1", "192.0.2.1"]
    six = of("--ip_version=ipv6\n--local_ip=fd00::1/64")
    assert list(map(str, six.addresses)) == ["fd00::1", "fd3d:fa7b:d17d::1"]
    assert six.family == 6
    mapped = of("--ip_version=ipv4-mapped-ipv6\n--remote_ip=192.0.2.9")
    assert list(map(str, mapped.addresses)) == ["192.168.0.1", "192.0.2.9"]
    assert mapped.family == 4


def test_the_script_wins() -> None:
    found = of("--mtu=1400\n--define=A=1", mtu=1300, symbols={"A": "2", "B": "3"})
    assert found.mtu == 1400
    assert found.symbols == {"A": "1", "B": "3"}


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("nonsense", "1", "unknown option --nonsense"),
        ("mtu", None, "--mtu needs a value"),
        ("mtu", "67", "from 68 to 65535"),
        ("mtu", "x", "must be a number, not 'x'"),
        ("mtu", "-5", "must be a number"),
        ("bind_port", "0", "from 1 to 65535"),
        ("bind_port", "65536", "from 1 to 65535"),
        ("ip_version", "ipv5", "must be one of ipv4, ipv6, ipv4-mapped-ipv6"),
        ("local_ip", "localhost", "'localhost' is not an IP address"),
        ("netmask_ip", "255.0.255.0", "is not a netmask"),
        ("tolerance_usecs", "1.5", "must be a number"),
        ("tolerance_percent", "101", "from 0 to 100"),
        ("tolerance_percent", "nan", "from 0 to 100"),
        ("define", "A", "needs NAME=VALUE"),
        ("define", "=A", "needs NAME=VALUE"),
        ("define", None, "needs NAME=VALUE"),
        ("tcp_ts_ecr_scaled", "1", "takes no value"),
        ("wire_server", None, "has a meaning only in packetdrill"),
    ],
)
def test_what_cannot_be_set_is_said(name: str, value: str | None, problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        with_option(Settings(), name, value)


def test_with_its_place_in_the_script() -> None:
    with pytest.raises(ScriptError) as caught:
        of("// A script.\n--mtu=1400\n--mtu=5")
    assert str(caught.value).startswith("a.pkt:3:1: --mtu must be from")
    assert caught.value.show().endswith("  --mtu=5\n  ^")


@pytest.mark.parametrize(
    "text",
    [
        "--local_ip=fd00::1",
        "--ip_version=ipv6\n--remote_ip=192.0.2.1",
        "--ip_version=ipv4-mapped-ipv6\n--local_ip=fd00::1",
    ],
)
def test_addresses_are_of_the_ip_version(text: str) -> None:
    with pytest.raises(ScriptError, match="does not match --ip_version="):
        of(text)


# Names of ICMP errors.


@pytest.mark.parametrize("family", [4, 6])
def test_each_number_of_an_icmp_error_has_a_name_that_means_it(family: int) -> None:
    for kind in range(256):
        for code in (*range(20), 255):
            assert icmp_numbers(*icmp_names(kind, code, family), family) == (kind, code)


@pytest.mark.parametrize(
    ("kind", "code", "family"),
    [
        ("nonsense", None, 4),
        ("unreachable", "nonsense", 4),
        ("source_quench", "port_unreachable", 4),
        ("packet_too_big", None, 4),
        ("type_256", None, 4),
        ("unreachable", "code_256", 6),
    ],
)
def test_others_are_none(kind: str, code: str | None, family: int) -> None:
    with pytest.raises(IcmpNameError, match=r"has no .*: write .*_N"):
        icmp_numbers(kind, code, family)

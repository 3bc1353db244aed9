"""This project's own scripts: their form, the requirements that they check, and their cookies."""

from __future__ import annotations

import tomllib
from ipaddress import ip_address

import pytest

from scapy_tfo import spec
from scapy_tfo.address import known_address
from scapy_tfo.cookie import SipHashCookie, key_from_sysctl
from scapy_tfo.pkt.checks.lint import refuse_nonsense
from scapy_tfo.pkt.checks.portable import refuse_additions
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.printing import show_script
from scapy_tfo.pkt.language.settings import VERSIONS
from scapy_tfo.pkt.library import SYMBOLS, ScriptFile, find_scripts, own_directory

SCRIPTS = find_scripts([str(own_directory())])


def name(script: ScriptFile) -> str:
    return f"{script.path.parent.name}/{script.path.stem}"


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_is_in_canonical_form(script: ScriptFile) -> None:
    tree = parse(script.text, script.path.name)
    refuse_nonsense(tree, script.text, script.path.name)
    assert show_script(tree) == script.text


def test_each_names_requirements_that_there_are() -> None:
    catalogue = spec.load()
    for script in SCRIPTS:
        assert script.requirements, f"{name(script)}: its first line names no requirement"
        unknown = [each for each in script.requirements if each not in catalogue]
        assert not unknown, f"{name(script)} names {unknown}"


def test_each_says_in_words_what_it_shows() -> None:
    for script in SCRIPTS:
        second = script.text.split("\n")[1]
        assert second.startswith("// "), f"{name(script)}: its second line says nothing"


def test_most_can_be_run_by_packetdrill_itself() -> None:
    own = [each for each in SCRIPTS if each.path.parent.name in ("server", "client")]
    portable = 0
    for script in own:
        try:
            refuse_additions(parse(script.text), script.text, name(script))
        except ScriptError:
            continue
        portable += 1
    assert portable >= 90
    assert portable >= len(own) // 2


KEYS = {
    "TFO_COOKIE": "10111213-14151617-18191a1b-1c1d1e1f",
    "TFO_COOKIE_KEY2": "80818283-84858687-88898a8b-8c8d8e8f",
    "TFO_COOKIE_ZERO_KEY": "00000000-00000000-00000000-00000000",
}
ENDS = {4: ("192.0.2.1", "192.168.0.1"), 6: ("fd3d:fa7b:d17d::1", "fd3d:a0b:17d6::1")}


@pytest.mark.parametrize("version", VERSIONS)
def test_cookies_are_those_of_their_keys(version: str) -> None:
    table = tomllib.loads((own_directory() / SYMBOLS).read_text())[version]
    client, server = (
        known_address(ip_address(each).packed) for each in ENDS[6 if version == "ipv6" else 4]
    )
    for symbol, key in KEYS.items():
        cookie = SipHashCookie().make(key_from_sysctl(key), client, server)
        assert table[symbol] == cookie.hex(), symbol

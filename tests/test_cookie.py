"""Cookies: published vectors, and the laws that every scheme and key ring obeys."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scapy_tfo.cookie import (
    AesCookie,
    Cookies,
    CookieScheme,
    KeyMatch,
    KeyRing,
    OneTimeCookies,
    SipHashCookie,
    key_from_sysctl,
    key_to_sysctl,
)
from scapy_tfo.segment import Address

VECTORS = json.loads((Path(__file__).parent / "vectors" / "cookies.json").read_text())

OLD, NEW, NEWER = bytes(range(16)), bytes(range(16, 32)), bytes(range(32, 48))
CLIENT, OTHER_CLIENT = IPv4Address("192.0.2.7"), IPv4Address("192.0.2.8")
SERVER, OTHER_SERVER = IPv4Address("198.51.100.1"), IPv4Address("198.51.100.2")
CLIENT_6, SERVER_6 = IPv6Address("2001:db8::7"), IPv6Address("2001:db8::1")

# A machine that stalls must not fail a law.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

keys = st.binary(min_size=16, max_size=16)
pairs = st.one_of(
    st.tuples(st.ip_addresses(v=4), st.ip_addresses(v=4)),
    st.tuples(st.ip_addresses(v=6), st.ip_addresses(v=6)),
)
schemes = st.one_of(
    st.just(SipHashCookie()), st.sampled_from(range(4, 17, 2)).map(lambda size: AesCookie(size))
)


def scheme_of(vector: dict[str, str]) -> CookieScheme:
    return SipHashCookie() if vector["scheme"] == "siphash" else AesCookie(int(vector["size"]))


@pytest.mark.parametrize("vector", VECTORS["cookies"], ids=lambda vector: vector["source"])
def test_a_published_vector_gives_its_cookie(vector: dict[str, str]) -> None:
    made = scheme_of(vector).make(
        bytes.fromhex(vector["key"]), ip_address(vector["client"]), ip_address(vector["server"])
    )
    assert made.hex() == vector["cookie"]


@pytest.mark.parametrize("vector", VECTORS["sysctl"], ids=lambda vector: vector["text"])
def test_a_key_reads_and_writes_as_linux_prints_it(vector: dict[str, str]) -> None:
    assert key_to_sysctl(bytes.fromhex(vector["key"])) == vector["text"]
    assert key_from_sysctl(vector["text"]).hex() == vector["key"]


@patient
@given(keys)
def test_any_key_survives_its_sysctl_text(key: bytes) -> None:
    assert key_from_sysctl(key_to_sysctl(key)) == key


def test_short_words_are_read_as_linux_reads_them() -> None:
    assert key_from_sysctl("1-2-3-f") == key_from_sysctl("00000001-00000002-00000003-0000000F")


@pytest.mark.parametrize(
    "text", ["", "1-2-3", "1-2-3-4-5", "1-2-3-g", "1-2-3-123456789", "1-2-3-4,5-6-7-8", "1-2-3-4\n"]
)
def test_a_text_that_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a key"):
        key_from_sysctl(text)


@pytest.mark.parametrize("size", [0, 2, 3, 5, 15, 17, 18])
def test_a_cookie_size_the_option_cannot_carry_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="4 to 16"):
        AesCookie(size)


@pytest.mark.parametrize("key", [b"", b"k" * 15, b"k" * 17])
@pytest.mark.parametrize("scheme", [AesCookie(), SipHashCookie()])
def test_a_key_of_another_size_is_refused(key: bytes, scheme: CookieScheme) -> None:
    with pytest.raises(ValueError, match="key"):
        scheme.make(key, CLIENT, SERVER)
    with pytest.raises(ValueError, match="key"):
        KeyRing([OLD, key], scheme)
    with pytest.raises(ValueError, match="key"):
        key_to_sysctl(key)


def test_a_ring_needs_a_primary() -> None:
    with pytest.raises(ValueError, match="no key"):
        KeyRing([])


@patient
@given(schemes, keys, pairs)
def test_a_client_gets_the_same_cookie_again_and_it_works(
    scheme: CookieScheme, key: bytes, pair: tuple[Address, Address]
) -> None:
    ring = KeyRing([key], scheme)
    cookie = ring.cookie_for(*pair)
    assert ring.cookie_for(*pair) == cookie
    assert ring.check(cookie, *pair) is KeyMatch.PRIMARY
    assert ring.check(cookie, *pair) is KeyMatch.PRIMARY


@patient
@given(schemes, keys, pairs, st.data())
def test_one_flipped_bit_is_refused(
    scheme: CookieScheme, key: bytes, pair: tuple[Address, Address], data: st.DataObject
) -> None:
    ring = KeyRing([key, OLD], scheme)
    cookie = bytearray(ring.cookie_for(*pair))
    bit = data.draw(st.integers(0, len(cookie) * 8 - 1))
    cookie[bit // 8] ^= 1 << bit % 8
    assert ring.check(bytes(cookie), *pair) is KeyMatch.NONE


@patient
@given(schemes, keys, pairs, st.integers(0, 15), st.binary(min_size=1, max_size=12))
def test_a_cut_or_padded_cookie_is_refused(
    scheme: CookieScheme, key: bytes, pair: tuple[Address, Address], cut: int, padding: bytes
) -> None:
    ring = KeyRing([key], scheme)
    cookie = ring.cookie_for(*pair)
    assume(cut < len(cookie))
    assert ring.check(cookie[:cut], *pair) is KeyMatch.NONE
    assert ring.check(cookie + padding, *pair) is KeyMatch.NONE


def test_a_long_aes_cookie_is_no_short_one() -> None:
    full = AesCookie(16).make(OLD, CLIENT, SERVER)
    ring = KeyRing([OLD], AesCookie(8))
    assert ring.check(full, CLIENT, SERVER) is KeyMatch.NONE
    assert ring.check(full[:8], CLIENT, SERVER) is KeyMatch.PRIMARY


@pytest.mark.parametrize("scheme", [AesCookie(), SipHashCookie()])
def test_another_client_cannot_use_the_cookie(scheme: CookieScheme) -> None:
    ring = KeyRing([OLD], scheme)
    cookie = ring.cookie_for(CLIENT, SERVER)
    assert ring.check(cookie, OTHER_CLIENT, SERVER) is KeyMatch.NONE


def test_only_linux_binds_the_cookie_to_the_server_address() -> None:
    paper, linux = KeyRing([OLD], AesCookie()), KeyRing([OLD], SipHashCookie())
    from_paper, from_linux = (ring.cookie_for(CLIENT, SERVER) for ring in (paper, linux))
    assert paper.check(from_paper, CLIENT, OTHER_SERVER) is KeyMatch.PRIMARY
    assert linux.check(from_linux, CLIENT, OTHER_SERVER) is KeyMatch.NONE


@patient
@given(schemes, pairs)
def test_an_old_cookie_lives_as_long_as_its_key(
    scheme: CookieScheme, pair: tuple[Address, Address]
) -> None:
    ring = KeyRing([OLD], scheme)
    old = ring.cookie_for(*pair)

    ring.rotate(NEW)
    assert ring.keys == (NEW, OLD)
    assert ring.check(old, *pair) is KeyMatch.BACKUP
    assert ring.check(ring.cookie_for(*pair), *pair) is KeyMatch.PRIMARY

    ring.drop_backups()
    assert list(ring.keys) == [NEW]
    assert ring.check(old, *pair) is KeyMatch.NONE


def test_a_second_rotation_pushes_the_oldest_key_out_unless_it_is_kept() -> None:
    short, long = KeyRing([NEW, OLD]), KeyRing([NEW, OLD])
    short.rotate(NEWER)
    long.rotate(NEWER, keep=2)
    assert short.keys == (NEWER, NEW)
    assert long.keys == (NEWER, NEW, OLD)


def test_a_farm_that_shares_its_keys_shares_its_cookies() -> None:
    here, there = KeyRing([OLD]), KeyRing([OLD])
    cookie = here.cookie_for(CLIENT, SERVER)
    there.rotate(NEW)
    assert there.check(cookie, CLIENT, SERVER) is KeyMatch.BACKUP


@patient
@given(keys, pairs)
def test_a_one_time_cookie_is_good_once(key: bytes, pair: tuple[Address, Address]) -> None:
    server = OneTimeCookies([key])
    first, second = server.cookie_for(*pair), server.cookie_for(*pair)
    assert first != second
    assert server.check(second, *pair) is KeyMatch.PRIMARY
    assert server.check(second, *pair) is KeyMatch.NONE
    assert server.check(first, *pair) is KeyMatch.PRIMARY
    assert server.check(first, *pair) is KeyMatch.NONE


@patient
@given(pairs, st.integers(0, 127))
def test_a_refused_guess_does_not_spend_the_cookie(pair: tuple[Address, Address], bit: int) -> None:
    server = OneTimeCookies([OLD])
    cookie = server.cookie_for(*pair)
    guess = bytearray(cookie)
    guess[bit // 8] ^= 1 << bit % 8
    for wrong in (bytes(guess), cookie[:8], cookie + b"\0", b""):
        assert server.check(wrong, *pair) is KeyMatch.NONE
    assert server.check(cookie, *pair) is KeyMatch.PRIMARY


@pytest.mark.parametrize(
    ("client", "server"), [(OTHER_CLIENT, SERVER), (CLIENT, OTHER_SERVER), (CLIENT_6, SERVER_6)]
)
def test_a_one_time_cookie_is_for_one_client_and_server(client: Address, server: Address) -> None:
    cookies = OneTimeCookies([OLD])
    cookie = cookies.cookie_for(CLIENT, SERVER)
    assert cookies.check(cookie, client, server) is KeyMatch.NONE
    assert cookies.check(cookie, CLIENT, SERVER) is KeyMatch.PRIMARY


def test_a_one_time_cookie_stays_one_across_a_rotation() -> None:
    server = OneTimeCookies([OLD])
    spent, kept, late = (server.cookie_for(CLIENT_6, SERVER_6) for _ in range(3))
    assert server.check(spent, CLIENT_6, SERVER_6) is KeyMatch.PRIMARY
    server.rotate(NEW)
    assert server.check(spent, CLIENT_6, SERVER_6) is KeyMatch.NONE
    assert server.check(kept, CLIENT_6, SERVER_6) is KeyMatch.BACKUP
    assert server.check(kept, CLIENT_6, SERVER_6) is KeyMatch.NONE
    server.drop_backups()
    assert server.check(late, CLIENT_6, SERVER_6) is KeyMatch.NONE


def test_a_one_time_cookie_is_forgotten_when_the_window_has_passed_it() -> None:
    server = OneTimeCookies([OLD], window=4)
    oldest, old, *_ = issued = [server.cookie_for(CLIENT, SERVER) for _ in range(5)]
    assert server.check(oldest, CLIENT, SERVER) is KeyMatch.NONE
    assert server.check(old, CLIENT, SERVER) is KeyMatch.PRIMARY
    assert server.check(issued[-1], CLIENT, SERVER) is KeyMatch.PRIMARY


def test_a_one_time_cookie_that_was_never_issued_here_is_refused() -> None:
    elsewhere, here = OneTimeCookies([OLD]), OneTimeCookies([OLD])
    assert here.check(elsewhere.cookie_for(CLIENT, SERVER), CLIENT, SERVER) is KeyMatch.NONE


def test_a_window_of_none_is_refused() -> None:
    with pytest.raises(ValueError, match="window"):
        OneTimeCookies([OLD], window=0)


@patient
@given(st.lists(st.one_of(st.none(), st.integers(0, 30)), max_size=60))
def test_no_order_of_issue_and_use_makes_a_one_time_cookie_good_twice(
    steps: list[int | None],
) -> None:
    server = OneTimeCookies([OLD], window=5)
    issued: list[bytes] = []
    accepted: list[bytes] = []
    for step in steps:
        if step is None:
            issued.append(server.cookie_for(CLIENT, SERVER))
        elif step < len(issued) and server.check(issued[step], CLIENT, SERVER).is_valid:
            accepted.append(issued[step])
            assert step >= len(issued) - 5
    assert len(set(accepted)) == len(accepted)


def test_a_server_takes_either() -> None:
    either: list[Cookies] = [KeyRing([OLD]), OneTimeCookies([OLD])]
    assert [each.one_time for each in either] == [False, True]
    for each in either:
        assert each.check(each.cookie_for(CLIENT, SERVER), CLIENT, SERVER).is_valid

"""Symbolic options become the bytes that `scapy_tfo.option` makes, and are read back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_tfo import option as opt
from scapy_tfo.program.cookies import EDITS, LONGEST, Jar
from scapy_tfo.program.options import Offer, Times, offer_of, render
from scapy_tfo.program.program import Cookie, Option
from tests.program.strategies import options, u8

OURS, OTHER = (4, 0), (4, 1)
GRANTED = bytes.fromhex("1122334455667788")
ANOTHER = bytes.fromhex("99aabbccddeeff00")
SEEN = bytes.fromhex("a1a2a3a4")
TIMES = Times(1000, 2000)


def jar() -> Jar:
    held = Jar()
    held.grant(OURS, GRANTED, 0.0)
    held.grant(OTHER, ANOTHER, 0.0)
    return held


def made(*some: Option) -> bytes | None:
    return render(some, TIMES, jar(), OURS, {2: SEEN})


SAME = {
    "mss": (Option("mss", 1460), opt.mss(1460)),
    "window scale": (Option("ws", 7), opt.window_scale(7)),
    "SACK permitted": (Option("sackok"), opt.sack_permitted()),
    "NOP": (Option("nop"), opt.nop()),
    "timestamps": (Option("ts", 5), opt.timestamps(1005, 2000)),
    "timestamps before zero": (Option("ts", -2000), opt.timestamps(-1000, 2000)),
    "a request": (Option("fo"), opt.fast_open()),
    "a request, experimental": (
        Option("fo", kind=254),
        opt.fast_open(form=opt.Form.EXPERIMENT_2),
    ),
    "a cookie": (Option("fo", cookie=Cookie()), opt.fast_open(GRANTED)),
    "a cookie, experimental": (
        Option("fo", kind=253, cookie=Cookie()),
        opt.fast_open(GRANTED, form=opt.Form.EXPERIMENT_1),
    ),
    "a cookie whose length is a lie": (
        Option("fo", cookie=Cookie(), length=30),
        opt.fast_open(GRANTED, length=30),
    ),
    "another client's": (Option("fo", cookie=Cookie("other")), opt.fast_open(ANOTHER)),
    "one that came": (Option("fo", cookie=Cookie("flow:2")), opt.fast_open(SEEN)),
    "one in digits": (Option("fo", cookie=Cookie("0102")), opt.fast_open(b"\1\2")),
    "two edits": (
        Option("fo", cookie=Cookie("own", (("cut", 4), ("reverse", 0)))),
        opt.fast_open(GRANTED[3::-1]),
    ),
    "a stranger": (
        Option("raw", kind=99, data=b"ab"),
        opt.RawOption(99, 4, b"ab"),
    ),
    "a cookie in disguise": (
        Option("raw", kind=99, data=b"ab", cookie=Cookie()),
        opt.RawOption(99, 12, b"ab" + GRANTED),
    ),
}


@pytest.mark.parametrize(("symbolic", "raw"), SAME.values(), ids=SAME)
def test_one_option(symbolic: Option, raw: opt.RawOption) -> None:
    assert made(symbolic) == opt.padded(opt.push_options([raw]))


@settings(max_examples=50)
@given(st.lists(st.sampled_from(list(SAME.values())), max_size=8))
def test_lists_of_options(some: list[tuple[Option, opt.RawOption]]) -> None:
    whole = opt.push_options(raw for _, raw in some)
    assert made(*(symbolic for symbolic, _ in some)) == opt.padded(whole[: opt.MAX_OPTIONS])


@settings(max_examples=100)
@given(st.lists(options(3), max_size=6))
def test_any_list_fits_into_a_header(some: list[Option]) -> None:
    block = made(*some)
    if block is not None:
        assert len(block) <= opt.MAX_OPTIONS
        assert len(block) % 4 == 0
        offer_of(block)


def test_what_was_never_granted_cannot_be_sent() -> None:
    for cookie in (Cookie(), Cookie("other"), Cookie("flow:0")):
        assert render((Option("fo", cookie=cookie),), TIMES, Jar(), OURS, {}) is None


def test_a_kind_alone_is_one_byte() -> None:
    assert made(Option("nop"), Option("raw", kind=34, length=0)) == b"\x01\x22\0\0"


class TestOffers:
    def test_all_that_every_stack_knows(self) -> None:
        block = made(
            Option("mss", 1460), Option("sackok"), Option("ts"), Option("nop"), Option("ws", 7)
        )
        assert block is not None
        assert offer_of(block) == Offer(1460, 7, True, (1000, 2000), (), (), False, False, ())

    @pytest.mark.parametrize(
        ("some", "field", "value"),
        [
            ((Option("ws", 15),), "scale", 14),
            ((Option("mss", 7, length=3),), "unsound", True),
            ((Option("ts", length=38),), "unsound", True),
            ((Option("raw", kind=99, length=1, data=b"ab"),), "unsound", True),
            ((Option("raw", kind=99, data=b"ab"),), "strange", (99,)),
            ((Option("raw", kind=254, data=b"ab"),), "strange", (254,)),
            ((Option("eol"), Option("fo")), "ended", True),
            ((Option("eol"), Option("fo")), "fast_open", ()),
            ((Option("nop"), Option("eol")), "ended", False),
            ((Option("fo"),), "fast_open", (opt.FastOpen(opt.Form.IANA, b""),)),
            (
                (Option("raw", kind=5, data=bytes(7) + b"\1" + bytes(7) + b"\2"),),
                "blocks",
                ((0, 1), (0, 2)),
            ),
        ],
    )
    def test_one_thing(self, some: tuple[Option, ...], field: str, value: object) -> None:
        block = made(*some)
        assert block is not None
        assert getattr(offer_of(block), field) == value

    @settings(max_examples=100)
    @given(st.binary(max_size=40))
    def test_any_bytes_are_read(self, block: bytes) -> None:
        assert offer_of(block).fast_open == opt.find_fast_open(block)

    def test_the_quick_way_is_the_long_one(self) -> None:
        block = made(Option("nop"), Option("nop"), Option("ts"))
        assert block is not None
        assert offer_of(block) == offer_of(block + bytes(4)) == offer_of(bytes((1,)) * 4 + block)


class TestCookies:
    @settings(max_examples=100)
    @given(st.sampled_from(sorted(EDITS)), st.binary(max_size=16), st.integers(0, 100))
    def test_edits_take_any_number(self, name: str, cookie: bytes, number: int) -> None:
        held = jar()
        found = held.resolve(Cookie(cookie.hex(), ((name, number),)), OURS, {})
        assert found is not None
        assert len(found) <= LONGEST
        assert not cookie or EDITS[name](cookie, number)[:LONGEST] == found

    @pytest.mark.parametrize(
        ("name", "number", "made_of_it"),
        [
            ("flip", 0, "1022334455667788"),
            ("flip", 64, "1022334455667788"),
            ("flip", 63, "1122334455667708"),
            ("cut", 3, "112233"),
            ("tail", 3, "667788"),
            ("pad", 2, "11223344556677880000"),
            ("lead", 2, "00001122334455667788"),
            ("repeat", 10, "11223344556677881122"),
            ("repeat", 4, "11223344"),
            ("reverse", 0, "8877665544332211"),
            ("invert", 0, "eeddccbbaa998877"),
            ("turn", 1, "2233445566778811"),
            ("zero", 6, "1122334455660000"),
            ("xor-pair", 0x11, "0033225544776699"),
        ],
    )
    def test_each_edit(self, name: str, number: int, made_of_it: str) -> None:
        assert EDITS[name](GRANTED, number).hex() == made_of_it

    def test_what_was_granted_stays_good(self) -> None:
        held = jar()
        held.grant(OURS, SEEN, 0.0)
        assert held.resolve(Cookie(), OURS, {}) == SEEN
        assert held.is_good(OURS, GRANTED)
        assert held.is_good(OURS, SEEN)
        assert not held.is_good(OTHER, GRANTED)
        assert not held.is_good((6, 0), GRANTED)

    @given(u8)
    def test_one_bit_makes_it_another(self, bit: int) -> None:
        found = jar().resolve(Cookie("own", (("flip", bit),)), OURS, {})
        assert found is not None
        between = int.from_bytes(found, "big") ^ int.from_bytes(GRANTED, "big")
        assert between.bit_count() == 1

"""The option's two views: the raw one loses nothing, the strict one names the broken rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scapy_tfo import option as opt
from scapy_tfo.option import Broken, FastOpen, Form, RawOption

VECTORS = Path(__file__).parent / "vectors"


def vectors(name: str) -> list[Any]:
    table = json.loads((VECTORS / name).read_text())
    return [pytest.param(row, id=row["name"]) for row in table]


# Kinds and lengths that mean something come up often, so that options do line up.
TELLING = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 8, 10, 18, 19, 34, 253, 254, 0xF9, 0x89])
blocks = st.one_of(
    st.binary(max_size=60),
    st.lists(st.one_of(TELLING, st.integers(0, 255)), max_size=40).map(bytes),
    st.lists(
        st.builds(
            opt.fast_open,
            st.binary(max_size=20),
            form=st.sampled_from(Form),
            length=st.none() | st.integers(0, 40),
        ),
        max_size=4,
    ).map(opt.push_options),
)


class TestRawView:
    @pytest.mark.parametrize("row", vectors("option-raw.json"))
    def test_reads_and_writes_the_vector(self, row: dict[str, Any]) -> None:
        wire = bytes.fromhex(row["wire"])
        options = tuple(
            RawOption(each["kind"], each["length"], bytes.fromhex(each["data"]))
            for each in row["options"]
        )
        assert opt.pull_options(wire) == options
        assert opt.push_options(options) == wire

    @given(blocks)
    @example(b"\x00\x22\x02")
    @example(b"\x22\x00\x22\x02")
    @example(b"\x22")
    def test_any_bytes_come_back(self, block: bytes) -> None:
        assert opt.push_options(opt.pull_options(block)) == block

    @given(blocks)
    def test_only_the_last_option_may_be_unsound(self, block: bytes) -> None:
        assert all(option.is_sound for option in opt.pull_options(block)[:-1])

    @given(st.binary(max_size=38), st.integers(0, 255), st.sampled_from(Form))
    def test_a_lie_is_written_as_told(self, cookie: bytes, length: int, form: Form) -> None:
        wire = opt.push_options([opt.fast_open(cookie, form=form, length=length)])
        assert wire[:2] == bytes([form, length])
        assert wire.endswith(cookie)

    def test_a_length_that_fits_no_byte_is_refused(self) -> None:
        with pytest.raises(ValueError, match="range"):
            opt.push_options([opt.fast_open(bytes(300))])

    @given(blocks)
    def test_padding_fills_whole_words(self, block: bytes) -> None:
        for fill in (opt.EOL, opt.NOP):
            full = opt.padded(block, fill)
            assert len(full) % 4 == 0
            assert 0 <= len(full) - len(block) < 4
            assert full == block + bytes([fill]) * (len(full) - len(block))


class TestStrictView:
    @pytest.mark.parametrize("row", vectors("option-strict.json"))
    def test_judges_the_vector(self, row: dict[str, Any]) -> None:
        found = opt.find_fast_open(bytes.fromhex(row["wire"]))
        assert [as_data(verdict) for verdict in found] == row["verdicts"]

    @pytest.mark.parametrize("row", vectors("option-strict.json"))
    def test_writes_the_vector(self, row: dict[str, Any]) -> None:
        """Where the field is one valid option, naming it gives its bytes."""
        wire = bytes.fromhex(row["wire"])
        verdicts = opt.find_fast_open(wire)
        if [type(each) for each in verdicts] != [FastOpen] or len(opt.pull_options(wire)) != 1:
            return
        (valid,) = verdicts
        assert opt.push_options([opt.fast_open(valid.cookie, form=valid.form)]) == wire

    @given(blocks)
    @example(b"\x01\x22\x00\x22\x02")
    @example(b"\x02\x04\x05\xb4\xfe")
    @example(b"\xff\x04\xf9\x89")
    def test_the_fast_walk_judges_what_the_raw_view_holds(self, block: bytes) -> None:
        judged = [opt.judge(option) for option in opt.pull_options(block)]
        assert list(opt.find_fast_open(block)) == [each for each in judged if each is not None]

    @given(st.binary(max_size=16), st.sampled_from(Form))
    def test_valid_means_empty_or_even_and_4_to_16(self, cookie: bytes, form: Form) -> None:
        (verdict,) = opt.find_fast_open(opt.push_options([opt.fast_open(cookie, form=form)]))
        if len(cookie) in (0, 4, 6, 8, 10, 12, 14, 16):
            assert verdict == FastOpen(form, cookie)
            assert verdict.is_request == (not cookie)
        else:
            assert isinstance(verdict, Broken)

    @given(blocks)
    def test_padding_between_options_changes_nothing(self, block: bytes) -> None:
        assert opt.find_fast_open(b"\x01\x01\x01" + block) == opt.find_fast_open(block)


def as_data(verdict: FastOpen | Broken) -> dict[str, Any]:
    if isinstance(verdict, FastOpen):
        return {"form": int(verdict.form), "cookie": verdict.cookie.hex()}
    assert verdict.reason
    return {"form": int(verdict.form), "breaks": verdict.rule}


def test_the_options_of_a_plain_syn() -> None:
    options = [
        opt.mss(1460),
        opt.sack_permitted(),
        opt.timestamps(1 << 32, 7),
        opt.nop(),
        opt.window_scale(7),
    ]
    assert opt.push_options(options).hex() == "020405b40402080a000000000000000701030307"
    assert all(option.is_sound for option in options)

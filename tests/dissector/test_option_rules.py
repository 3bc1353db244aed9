"""Options that break a rule, and options that are not Fast Open's."""

from __future__ import annotations

from pathlib import Path

import pytest
from crafted import ANOTHER, COOKIE, DATA, Talk, write
from tshark import connections, fields, needs_tshark, table

from scapy_tfo import option as opt
from scapy_tfo.option import Form, RawOption

pytestmark = needs_tshark

EXPERIMENTAL = Form.EXPERIMENT_2


def block(*options: RawOption) -> bytes:
    return opt.padded(opt.push_options(options), opt.NOP)


def rules(capture: Path) -> dict[int, set[str]]:
    """The ids of the rules that are broken, by frame."""
    found: dict[int, set[str]] = {}
    for connection in connections(capture):
        for each in connection["problems"]:
            found.setdefault(each["frame"], set()).add(each["rule"].partition(":")[0])
    return found


def of_syn(options: bytes, tmp_path: Path, data: bytes = b"") -> set[str]:
    talk = Talk()
    talk.syn(data=data, options=options)
    talk.syn_ack()
    return rules(write(tmp_path / "one.pcapng", [talk])).get(1, set())


@pytest.mark.parametrize("form", [Form.IANA, EXPERIMENTAL], ids=["kind 34", "kind 254"])
def test_every_length_byte_is_judged_as_the_codec_judges_it(form: Form, tmp_path: Path) -> None:
    talks, wanted = [], []
    for length in range(256):
        # 36 bytes behind the head of the option, so that only lengths over 38 are lies.
        body = b"" if form is Form.IANA else opt.EXID.to_bytes(2, "big")
        options = bytes([form, length]) + body + b"\x01" * (38 - len(body))
        talk = Talk(sport=40000 + length, when=1_700_000_000 + length)
        talk.syn(options=options)
        talks.append(talk)
        found = opt.find_fast_open(options)[:1]
        wanted += [f"{each.rule}: {each.reason}" for each in found if isinstance(each, opt.Broken)]
        wanted += [""] * (len(wanted) == length)
    rows = fields(write(tmp_path / "lengths.pcapng", talks), "tfo.valid", "tfo.rule")
    assert [rule.split("|")[0] for _, rule in rows] == wanted
    assert ["False" in valid or "0" in valid for valid, _ in rows] == [
        bool(rule) for rule in wanted
    ]


def test_the_expert_information_has_the_same_words(tmp_path: Path) -> None:
    talk = Talk()
    talk.syn(options=block(RawOption(34, 5, b"abc")))
    capture = write(tmp_path / "one.pcapng", [talk])
    ((message, name),) = fields(capture, "_ws.expert.message", "tfo.expert.odd_length")
    assert "OPT-2: length 5 is odd" in message
    assert name


class TestMoreThanOneOption:
    def test_twice(self, tmp_path: Path) -> None:
        assert of_syn(block(opt.fast_open(), opt.fast_open(COOKIE)), tmp_path) == {"OPT-8"}

    def test_both_forms(self, tmp_path: Path) -> None:
        options = block(opt.fast_open(COOKIE), opt.fast_open(COOKIE, form=EXPERIMENTAL))
        assert of_syn(options, tmp_path) == {"OPT-8"}

    def test_behind_the_end_of_the_list(self, tmp_path: Path) -> None:
        options = block(opt.fast_open(), RawOption(0, None, b"\x22\x0a" + COOKIE))
        assert of_syn(options, tmp_path) == {"OPT-10"}

    def test_padding_behind_the_end_is_nothing(self, tmp_path: Path) -> None:
        assert of_syn(opt.padded(opt.push_options([opt.fast_open(COOKIE)])), tmp_path) == set()


class TestWhereItHasNoBusiness:
    def test_on_segments_without_syn(self, tmp_path: Path) -> None:
        talk = Talk()
        talk.syn()
        talk.syn_ack()
        talk.data(DATA, options=block(opt.fast_open(COOKIE)))
        capture = write(tmp_path / "stray.pcapng", [talk])
        assert rules(capture) == {3: {"OPT-4"}}
        assert fields(capture, "tfo.role") == [[""], [""], ["stray"]]

    def test_a_cookie_that_nobody_asked_for(self, tmp_path: Path) -> None:
        talk = Talk(stamped=True)
        talk.syn()
        talk.syn_ack(0, COOKIE)
        assert rules(write(tmp_path / "unsolicited.pcapng", [talk])) == {2: {"SRV-8"}}

    def test_nothing_says_so_where_the_request_may_not_have_been_captured(
        self, tmp_path: Path
    ) -> None:
        talk, named = Talk(), Talk(sport=40001, stamped=True)
        for each in (talk, named):
            each.syn()
            each.echo = 17
            each.syn_ack(0, COOKIE)
        assert rules(write(tmp_path / "asked.pcapng", [talk, named])) == {}


class TestWhatIsAcknowledged:
    @pytest.mark.parametrize(
        ("acked", "severity"), [(7, "note"), (len(DATA) + 5, "error"), (-300, "warning")]
    )
    def test_anything_but_all_or_nothing_is_told(
        self, acked: int, severity: str, tmp_path: Path
    ) -> None:
        talk = Talk(stamped=True)
        talk.syn(COOKIE, DATA)
        talk.syn_ack(acked)
        (found,) = connections(write(tmp_path / "ack.pcapng", [talk]))
        ((frame, rule, graded),) = [tuple(each.values()) for each in found["problems"]]
        assert (frame, rule.partition(":")[0], graded) == (2, "CLI-15", severity)

    def test_more_data_than_the_mss(self, tmp_path: Path) -> None:
        talk = Talk()
        talk.syn(COOKIE, bytes(600))
        talk.syn_ack(600, options=block(opt.mss(536)))
        assert rules(write(tmp_path / "mss.pcapng", [talk])) == {2: {"CLI-4"}}


def test_a_cookie_of_two_clients(tmp_path: Path) -> None:
    first, second = Talk(), Talk(client="192.0.2.77", when=1_700_000_010.0)
    for talk in (first, second):
        talk.syn(COOKIE, DATA)
        talk.syn_ack(len(DATA))
    capture = write(tmp_path / "shared.pcapng", [first, second])
    assert rules(capture) == {3: {"SRV-1"}}
    assert fields(capture, "tfo.cookie.shared_with")[2] == ["192.0.2.1"]


def test_where_a_cookie_was_met_before_and_which_came_before_it(tmp_path: Path) -> None:
    talks = [Talk(sport=40000 + n, when=1_700_000_000.0 + 10 * n) for n in range(3)]
    talks[0].syn(b"")
    talks[0].syn_ack(0, COOKIE)
    talks[1].syn(COOKIE, DATA)
    talks[1].syn_ack(0, ANOTHER)
    talks[2].syn(ANOTHER, DATA)
    capture = write(tmp_path / "cookies.pcapng", talks)
    rows = fields(capture, "tfo.cookie.seen_in", "tfo.cookie.age", "tfo.cookie.changed")
    seen = [(seen, age and round(float(age), 2), changed) for seen, age, changed in rows]
    assert seen == [
        ("", "", ""),
        ("", "", ""),
        ("2", 9.98, ""),
        ("", "", "2"),
        ("4", 9.98, ""),
    ]


@pytest.mark.parametrize(
    ("option", "name"),
    [
        (RawOption(11, 6, b"abcd"), "T/TCP CC"),
        (RawOption(12, 6, b"abcd"), "T/TCP CC.NEW"),
        (RawOption(13, 6, b"abcd"), "T/TCP CC.ECHO"),
        (RawOption(253, 10, b"12345678"), "TCPCT cookie"),
        (RawOption(253, 2), "TCPCT cookie"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_related_options_are_named_and_are_no_fast_open(
    option: RawOption, name: str, tmp_path: Path
) -> None:
    talk = Talk()
    talk.syn(data=DATA, options=block(option))
    talk.syn_ack(len(DATA))
    capture = write(tmp_path / "related.pcapng", [talk])
    assert fields(capture, "tfo.other", "tfo.role", "tfo.outcome")[0] == [name, "", ""]
    assert connections(capture) == []


def test_the_table_counts_each_rule(tmp_path: Path) -> None:
    talks = [Talk(sport=40000 + n) for n in range(3)]
    for talk in talks:
        talk.syn(options=block(RawOption(34, 5, b"abc")))
    assert table(write(tmp_path / "three.pcapng", talks), "problems") == [
        ["3", "error", "OPT-2:", "length", "5", "is", "odd", "1,2,3"]
    ]

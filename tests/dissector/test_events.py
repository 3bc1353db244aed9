"""What is told of connections that break no rule: expert information, short words, one count."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from crafted import ANOTHER, COOKIE, DATA, Talk, write
from tshark import connections, fields, needs_tshark, table, tshark

from scapy_tfo import option as opt
from scapy_tfo.dissector import files
from scapy_tfo.option import Form

pytestmark = needs_tshark

NOTE, WARNING, ERROR = "4194304", "6291456", "8388608"
"""Severities, as Wireshark numbers them."""

ODD = opt.padded(bytes([Form.IANA, 7]) + COOKIE[:5], opt.NOP)


def events(capture: Path) -> list[tuple[str, str]]:
    """The severity and the first word of the plugin's expert information."""
    rows = fields(capture, "_ws.expert.severity", "_ws.expert.message", arguments=("-Y", "tfo"))
    found = []
    for severities, messages in rows:
        for severity, message in zip(severities.split("|"), messages.split("|"), strict=False):
            found.append((severity, message))
    return found


def refused(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(0, ANOTHER)
    talk.data(DATA)


def lost(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.wait()
    talk.syn()
    talk.syn_ack()
    talk.data(DATA)


def partial(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(7)
    talk.data(DATA[7:], at=7)


def invalid(talk: Talk) -> None:
    talk.syn(data=DATA, options=ODD)
    talk.syn_ack(len(DATA))
    talk.data(at=len(DATA))


def cookieless(talk: Talk) -> None:
    talk.syn(data=DATA)
    talk.syn_ack(len(DATA))
    talk.data(at=len(DATA))


def accepted(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(len(DATA))
    talk.data(at=len(DATA))


@pytest.mark.parametrize(
    ("tell", "severity", "begins"),
    [
        (refused, NOTE, "refused-cookie: "),
        (lost, NOTE, "syn-lost-fallback: "),
        (partial, NOTE, "CLI-15: 7 of "),
        (invalid, WARNING, "the SYN's option is not valid: OPT-2"),
        (cookieless, NOTE, "data without a cookie"),
    ],
)
def test_what_befell_a_connection_is_expert_information(
    tell: object, severity: str, begins: str, tmp_path: Path
) -> None:
    talk = Talk()
    tell(talk)  # type: ignore[operator]
    found = events(write(tmp_path / "one.pcapng", [talk]))
    assert [each[0] for each in found if each[1].startswith(begins)] == [severity], found


def unanswered(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.wait()
    talk.syn()


def reset(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.reset()


def cut_off(talk: Talk) -> None:
    """Only the client was captured."""
    talk.syn(COOKIE, DATA)
    talk.data(at=len(DATA))


@pytest.mark.parametrize(
    ("tell", "text"),
    [
        (unanswered, "no answer to the SYN, nor to the next"),
        (reset, "answered by RST"),
        (cut_off, None),
        (accepted, None),
    ],
)
def test_a_syn_that_is_never_answered_has_a_note(
    tell: object, text: str | None, tmp_path: Path
) -> None:
    """In two passes; in one, nothing is known yet when the SYN comes."""
    talk = Talk()
    tell(talk)  # type: ignore[operator]
    capture = write(tmp_path / "one.pcapng", [talk])
    names = ("frame.number", "tfo.expert.unanswered", "_ws.expert.message")
    rows = fields(capture, *names, arguments=("-2",))
    told = [(number, message.split("|")) for number, item, message in rows if item]
    assert [number for number, _ in told] == (["1"] if text else [])
    assert all(text in messages for _, messages in told)
    once = fields(capture, "tfo.expert.unanswered")
    assert {value for (value,) in once} == {""}


def test_nothing_is_told_of_data_that_was_accepted(tmp_path: Path) -> None:
    talk = Talk()
    accepted(talk)
    capture = write(tmp_path / "one.pcapng", [talk])
    names = ("refused", "lost", "blackhole", "cookieless", "invalid", "changed", "partial")
    rows = fields(capture, *(f"tfo.expert.{name}" for name in names))
    assert {value for row in rows for value in row} <= {""}


def test_syns_lost_one_after_the_other_are_a_blackhole(tmp_path: Path) -> None:
    talks = [Talk(40000 + number, when=1_700_000_000 + 10 * number) for number in range(3)]
    for talk in talks:
        lost(talk)
    found = events(write(tmp_path / "lost.pcapng", talks))
    assert [severity for severity, text in found if "SYNs with data are lost" in text] == [
        WARNING,
        WARNING,
    ]


def test_one_that_came_through_between_them_makes_it_none(tmp_path: Path) -> None:
    talks = [Talk(40000 + number, when=1_700_000_000 + 10 * number) for number in range(3)]
    for talk, tell in zip(talks, (lost, accepted, lost), strict=True):
        tell(talk)
    found = events(write(tmp_path / "lost.pcapng", talks))
    assert not [text for _, text in found if "SYNs with data are lost" in text]


def test_severities_are_those_of_the_list_of_problems(tmp_path: Path) -> None:
    names = {NOTE: "note", WARNING: "warning", ERROR: "error"}
    for acked in (7, len(DATA) + 5):
        talk = Talk(sport=40000 + acked)
        talk.syn(COOKIE, DATA)
        talk.syn_ack(acked)
        capture = write(tmp_path / f"{acked}.pcapng", [talk])
        (problem,) = connections(capture)[0]["problems"]
        shown = {names[severity] for severity, text in events(capture) if "CLI-15" in text}
        assert shown == {problem["severity"]}


def test_a_connection_is_counted_once() -> None:
    capture = files.sample()
    counted = Counter(
        outcome for (outcome,) in fields(capture, "tfo.connection", arguments=("-2",)) if outcome
    )
    assert counted == {row[0]: int(row[1]) for row in table(capture, "outcome")}
    wanted = counted["accepted"]
    how = 'io,stat,0,COUNT(tfo.connection)tfo.connection=="accepted"'
    last = tshark(capture, "-2", "-q", "-z", how).splitlines()[-2]
    assert str(wanted) in last.split()


def test_short_words_differ_where_a_column_cuts_them() -> None:
    rows = fields(files.sample(), "tfo.outcome", "tfo.short", arguments=("-2", "-Y", "tfo"))
    words: dict[str, str] = dict(rows)
    assert len({short[:8] for short in words.values()}) == len(words)
    assert words["requested-granted"] == "granted"
    assert words["requested-not-granted"] == "not granted"

"""The tables of `-z tfo,...`."""

from __future__ import annotations

from pathlib import Path

import pytest
from crafted import ADDRESSES, ANOTHER, COOKIE, DATA, PORT, Talk, write
from tshark import connections, needs_tshark, table, tshark

pytestmark = needs_tshark

ALL = len(DATA)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """Two that are accepted and one whose cookie is refused, and one of another client over
    IPv6."""
    talks = [Talk(sport=40000 + n, when=1_700_000_000.0 + n) for n in range(3)]
    talks.append(Talk(family=6))
    for talk in talks:
        talk.syn(COOKIE, DATA)
        refused = talk is talks[2]
        talk.syn_ack(0, ANOTHER) if refused else talk.syn_ack(ALL)
        if refused:
            talk.data(DATA)
    return write(tmp_path / "four.pcapng", talks)


def test_outcomes(capture: Path) -> None:
    assert table(capture, "outcome") == [
        ["accepted", "3", "60", "60", "0", "3", "0.000"],
        ["refused-cookie", "1", "20", "0", "20", "0", "0.000"],
    ]


def test_a_filter_chooses_connections(capture: Path) -> None:
    assert table(capture, "outcome", "ipv6") == [["accepted", "1", "20", "20", "0", "1", "0.000"]]
    assert table(capture, "outcome", "tfo.outcome == refused-cookie") == [
        ["refused-cookie", "1", "20", "0", "20", "0", "0.000"]
    ]
    assert table(capture, "outcome", "udp") == []


def test_by_server_and_by_client(capture: Path) -> None:
    (client4, server4), (client6, server6) = ADDRESSES[4], ADDRESSES[6]
    assert table(capture, "servers") == [
        [f"{server4}:{PORT}", "3", "0", "2", "1", "0", "0", "0"],
        [f"[{server6}]:{PORT}", "1", "0", "1", "0", "0", "0", "0"],
    ]
    assert table(capture, "clients") == [
        [client4, "3", "0", "2", "1", "0", "0", "0"],
        [client6, "1", "0", "1", "0", "0", "0", "0"],
    ]


def test_no_line_is_wider_than_a_window_of_wireshark(tmp_path: Path) -> None:
    """Six whose data was taken twice, of a client whose address is as long as can be."""
    client = "2001:db8:1111:2222:3333:4444:5555:6666"
    talks = [Talk(sport=40000 + n, family=6, client=client) for n in range(6)]
    for talk in talks:
        talk.syn(COOKIE, DATA)
        talk.syn_ack(ALL)
        talk.syn_ack(ALL, isn=900_000)
    capture = write(tmp_path / "twice.pcapng", talks)
    names = ("outcome", "servers", "clients", "problems")
    lines = tshark(
        capture, "-q", *(w for name in names for w in ("-z", f"tfo,{name}"))
    ).splitlines()
    assert [line for line in lines if len(line) > 72] == []
    (problem,) = (line for line in lines if "DUP-3" in line)
    assert problem.split()[:3] == ["6", "error", "DUP-3:"]
    assert problem.endswith(",...")
    assert lines[lines.index(client) + 1].split() == ["6", "0", "6", "0", "0", "0", "6"]


def test_json_says_all_of_a_connection(capture: Path) -> None:
    found = connections(capture)
    assert [each["stream"] for each in found] == [0, 1, 2, 3]
    six = found[1]
    assert (six["client"], six["client_port"]) == (ADDRESSES[6][0], 40000)
    assert (six["server"], six["port"]) == (ADDRESSES[6][1], PORT)
    assert (six["cookie"], six["problems"]) == (COOKIE.hex(), [])


def test_several_at_once_and_the_same_when_the_file_is_read_twice(capture: Path) -> None:
    taps = ("-q", "-z", "tfo,outcome", "-z", "tfo,servers", "-z", "tfo,json")
    once, twice = tshark(capture, *taps), tshark(capture, "-2", *taps)
    assert once == twice
    assert once.count("TCP Fast Open:") == 2
    assert "tfo-json-end" in once


def test_a_capture_without_any_has_empty_tables(tmp_path: Path) -> None:
    talk = Talk()
    talk.syn()
    talk.syn_ack()
    plain = write(tmp_path / "plain.pcapng", [talk])
    assert [table(plain, name) for name in ("outcome", "servers", "clients", "problems")] == [
        []
    ] * 4


@pytest.mark.parametrize("version", ["lua52", "lua54"])
def test_no_row_is_wrapped_in_a_window(version: str) -> None:
    """Rich text says so; where a window takes plain text only, it gets the bare table."""
    pytest.importorskip("lupa", reason="lupa is not installed: scripts/setup.sh test")
    from plain import PlainLua

    lua = PlainLua(version, in_window=True)
    talk = Talk()
    talk.syn(COOKIE, DATA)
    talk.syn_ack(ALL)
    lua.connections((each.when, each.data) for each in talk.packets)
    bare = lua.window("outcome", plain=True)[1]
    assert "\naccepted " in bare
    assert not bare.startswith("<")
    for name in ("outcome", "servers", "clients", "problems", "judge"):
        title, text = lua.window(name)
        assert title == f"TCP Fast Open: {name}"
        assert text.startswith('<p style="white-space:pre">')
        assert text.endswith("</p>")
        assert "<" not in text[1:-4]

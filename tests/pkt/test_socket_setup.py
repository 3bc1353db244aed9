"""Assumptions of an exported script about the target's sockets and kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK, PSH, RST, SYN
from tests.pkt.captures import GRANT, MSS, REQUEST, Talk, events, exported, saved


def fast_open(port: int, when: float, *, taken: bool = True) -> Talk:
    talk = Talk(port)
    talk.out(SYN, when=when, options=GRANT, payload=b"hello")
    talk.back(SYN | ACK, 0, 6 if taken else 1, when, options=MSS)
    return talk


def all_flows(*talks: Talk) -> list[str]:
    names = [f"192.0.2.1:{talk.ends[True]['sport']}>192.0.2.7:80" for talk in talks]
    return [word for name in names for word in ("--flow", name)]


def test_the_limit_is_what_waited_when_one_was_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talks = [fast_open(5000 + at, at) for at in range(3)]
    talks[0].out(ACK, 6, 1, 2.5)
    talks.append(fast_open(6000, 4, taken=False))
    text = exported(saved(tmp_path, *talks), capsys, *all_flows(*talks))
    assert "setsockopt(3, SOL_TCP, TCP_FASTOPEN, [2], 4) = 0" in events(text)


def test_nobody_listens_where_syns_are_reset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Talk()
    talk.isns[False] = 0
    talk.out(SYN, options=REQUEST)
    talk.back(RST | ACK, 0, 1, window=0)
    assert events(exported(saved(tmp_path, talk), capsys)) == [
        "0 < S 0:0(0) win 65535 <mss 1460,FO,eol,eol>",
        "> R. 0:0(0) ack 1 win 0",
    ]


def test_small_writes_one_after_another_were_not_held_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Talk()
    talk.shake_hands()
    talk.back(ACK | PSH, 1, 1, payload=b"one")
    once = events(exported(saved(tmp_path, talk), capsys))
    assert not any("TCP_NODELAY" in each for each in once)
    talk.back(ACK | PSH, 4, 1, payload=b"two")
    twice = events(exported(saved(tmp_path, talk), capsys))
    assert twice[7:9] == [
        "accept(3, ..., ...) = 4",
        "setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0",
    ]
    assert [each for each in twice if "write" in each] == ["write(4, ..., 3) = 3"] * 2


OFFERED = opt.padded(
    opt.push_options([opt.sack_permitted(), opt.window_scale(7), opt.timestamps(1)])
)


@pytest.mark.parametrize(
    ("answered", "settings"),
    [
        (OFFERED, []),
        (MSS, ["tcp_timestamps=0", "tcp_sack=0", "tcp_window_scaling=0"]),
    ],
)
def test_what_was_offered_and_not_taken_is_switched_off(
    answered: bytes, settings: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Talk()
    talk.out(SYN, options=OFFERED)
    talk.back(SYN | ACK, 0, 1, options=answered)
    text = exported(saved(tmp_path, talk), capsys)
    for name in ("tcp_timestamps=0", "tcp_sack=0", "tcp_window_scaling=0"):
        assert (name in text) == (name in settings)


@pytest.mark.parametrize(("size", "option"), [(1460, ""), (536, "--mtu=576\n"), (9, None)])
def test_the_mss_tells_the_mtu(
    size: int, option: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Talk()
    talk.out(SYN, options=MSS)
    talk.back(SYN | ACK, 0, 1, options=opt.push_options([opt.mss(size)]))
    text = exported(saved(tmp_path, talk), capsys)
    assert ("<mss *>" in text) == (option is None)
    assert ("--mtu" in text) == bool(option)
    assert (option or "") in text


def test_ports_may_be_used_again_after_a_reset_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for reset in (True, False):
        talk = Talk()
        talk.shake_hands()
        if reset:
            talk.out(RST, 1)
        talk.isns[False] += 1000
        talk.out(SYN, 1000, when=1, options=MSS)
        talk.back(SYN | ACK, 0, 1001, 1, options=MSS)
        text = exported(saved(tmp_path, talk), capsys)
        assert ("Port 5000 was used again: its next user has 65535." in text) is not reset
        assert ("+1 < 5000 > 80 S" in text) is reset

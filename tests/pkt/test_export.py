"""`scapy-tfo pkt export`: connections of a capture become scripts that replay them."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from scapy_tfo import option as opt
from scapy_tfo.cli import main
from scapy_tfo.icmp import unreachable
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, Segment
from tests.pkt.captures import COOKIE, MSS, MY_ISN, Sent, Talk, events, exported, fast_opens, saved

LISTENER = [
    "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
    "setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0",
    "bind(3, ..., ...) = 0",
    "listen(3, 1024) = 0",
]
FAST_LISTENER = [*LISTENER, "setsockopt(3, SOL_TCP, TCP_FASTOPEN, [1024], 4) = 0"]


def test_a_conversation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk = Talk()
    talk.shake_hands()
    talk.out(ACK | PSH, 1, 1, 0.1, payload=b"request")
    talk.back(ACK, 1, 8, 0.1)
    talk.back(ACK | PSH, 1, 8, 0.3501, payload=b"answer")
    talk.out(ACK, 8, 7, 0.3502)
    talk.out(ACK | FIN, 8, 7, 0.4)
    talk.back(ACK | FIN, 7, 9, 0.4)
    talk.out(ACK, 9, 8, 0.4)
    text = exported(saved(tmp_path, talk), capsys)
    assert events(text) == [
        *LISTENER,
        "< S 0:0(0) win 65535 <mss 1460>",
        "> S. 0:0(0) ack 1 <mss 1460>",
        "< . 1:1(0) ack 1 win 65535",
        "accept(3, ..., ...) = 4",
        "+0.1 < P. 1:8(7) ack 1 win 65535",
        "read(4, ..., 7) = 7",
        "> . 1:1(0) ack 8",
        "+0.25 write(4, ..., 6) = 6",
        "> P. 1:7(6) ack 8",
        "< . 8:8(0) ack 7 win 65535",
        "+0.05 < F. 8:8(0) ack 7 win 65535",
        "close(4) = 0",
        "> F. 7:7(0) ack 9",
        "< . 9:9(0) ack 8 win 65535",
    ]
    assert "The kernel is the server of 192.0.2.1:5000>192.0.2.7:80." in text
    assert "sysctl" not in text


def test_cookies_become_variables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = saved(tmp_path, *fast_opens())
    flows = ["--flow", "192.0.2.1:5000>192.0.2.7:80", "--flow", "192.0.2.1:5001>192.0.2.7:80"]
    text = exported(capture, capsys, *flows)
    assert events(text) == [
        *FAST_LISTENER,
        "< 5000 > 80 S 0:0(0) win 65535 <mss 1460,FO,eol,eol>",
        "> 80 > 5000 S. 0:0(0) ack 1 <mss 1460,FO *=$C,eol,eol>",
        "< 5000 > 80 R 1:1(0) win 65535",
        "+1 < 5001 > 80 S 0:5(5) win 65535 <mss 1460,FO $C,eol,eol>",
        "> 80 > 5001 S. 0:0(0) ack 6 <mss 1460>",
        "accept(3, ..., ...) = 4",
        "read(4, ..., 5) = 5",
        "write(4, ..., 2) = 2",
        "> 80 > 5001 P. 1:3(2) ack 6",
        "< 5001 > 80 . 6:6(0) ack 3 win 65535",
    ]
    assert "--bind_port=80\n" in text
    assert "`sysctl -q net.ipv4.tcp_fastopen=2`\n" in text


def test_portable_scripts_have_cookies_as_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = saved(tmp_path, *fast_opens())
    flow = ["--flow", "192.0.2.1:5000>192.0.2.7:80"]
    text = exported(capture, capsys, "--portable", *flow)
    assert f"> S. 0:0(0) ack 1 <mss 1460,FO {COOKIE.hex()},eol,eol>" in events(text)
    other = ["--flow", "192.0.2.1:5001>192.0.2.7:80"]
    text = exported(capture, capsys, "--portable", *other)
    assert f"< S 0:5(5) win 65535 <mss 1460,FO {COOKIE.hex()},eol,eol>" in events(text)
    told = " ".join(text.replace("//", "").split())
    assert f"The cookie {COOKIE.hex()} is not granted in this script" in told
    assert main(["pkt", "export", str(capture), "--portable", *flow, *other]) == 2
    assert "supports one connection to a listener, but the capture has 2" in capsys.readouterr().err


def test_a_server_gives_the_cookie_that_it_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, second = fast_opens()
    found = events(exported(saved(tmp_path, second), capsys))
    assert found[5:9] == [
        "< 65535 > 80 S 1000000000:1000000000(0) win 65535 <mss 1460,FO,nop,nop>",
        "> 80 > 65535 S. 0:0(0) ack 1000000001 <mss *,FO *=$C,nop,nop>",
        "< 65535 > 80 R 1:1(0) win 65535",
        "< 5001 > 80 S 0:5(5) win 65535 <mss 1460,FO $C,eol,eol>",
    ]


def test_a_client_under_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = Talk()
    plain.shake_hands()
    plain.out(ACK | PSH, 1, 1, payload=b"request")
    plain.back(ACK | FIN, 1, 8)
    plain.out(ACK | RST, 8, 2, 0.1)
    assert events(exported(saved(tmp_path, plain), capsys, "--side", "client")) == [
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
        "fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0",
        "connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)",
        "> S 0:0(0) <mss 1460>",
        "< S. 0:0(0) ack 1 win 65535 <mss 1460>",
        "> . 1:1(0) ack 1",
        "write(3, ..., 7) = 7",
        "> P. 1:8(7) ack 1",
        "< F. 1:1(0) ack 8 win 65535",
        "+0.1 setsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0",
        "close(3) = 0",
        "> R. 8:8(0) ack 2",
    ]


def test_a_client_that_has_its_cookie_is_given_it_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, second = fast_opens()
    text = exported(saved(tmp_path, second), capsys, "--side", "client", "--portable")
    assert events(text)[2:9] == [
        "sendto(3, ..., 0, MSG_FASTOPEN, ..., ...) = -1 EINPROGRESS (Operation now in progress)",
        "> S 0:0(0) <...>",
        f"+0.01 < S. 0:0(0) ack 1 win 65535 <mss 1460,FO {COOKIE.hex()},nop,nop>",
        "> . 1:1(0) ack 1 <...>",
        "+0.01 close(3) = 0",
        "> F. 1:1(0) ack 1 <...>",
        "+0.01 < F. 1:1(0) ack 2 win 65535",
    ]
    assert events(text)[10:14] == [
        "+0.1 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
        "fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0",
        "sendto(3, ..., 5, MSG_FASTOPEN, ..., ...) = 5",
        f"> S 0:5(5) <mss 1460,FO {COOKIE.hex()},eol,eol>",
    ]


def stamped(value: int, echo: int) -> bytes:
    return opt.padded(opt.push_options([opt.nop(), opt.nop(), opt.timestamps(value, echo)]))


def test_timestamps_of_the_target_count_from_1000(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Talk()
    talk.out(SYN, options=stamped(70, 0))
    talk.back(SYN | ACK, 0, 1, options=stamped(4_000_000_000, 70))
    talk.out(ACK, 1, 1, options=stamped(71, 4_000_000_000))
    found = events(exported(saved(tmp_path, talk), capsys))
    assert [each.split("<")[-1] for each in found if "TS val" in each] == [
        "nop,nop,TS val 70 ecr 0>",
        "nop,nop,TS val 1000 ecr 70>",
        "nop,nop,TS val 71 ecr 1000>",
    ]
    talk.out(ACK, 1, 1, options=stamped(72, 9))
    assert "--tcp_ts_ecr_scaled\n" in exported(saved(tmp_path, talk), capsys)


def test_an_echo_of_nothing_is_sent_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Talk()
    talk.shake_hands()
    talk.out(ACK, 1, 1, options=stamped(1, 2))
    raw = struct.pack("!II", 1, 2).hex()
    assert f"< . 1:1(0) ack 1 win 65535 <nop,nop,kind 8 hex {raw}>" in events(
        exported(saved(tmp_path, talk), capsys)
    )


def test_numbers_run_past_zero_where_they_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Talk()
    talk.isns[True] = 2**32 - 3
    talk.shake_hands()
    talk.out(ACK | PSH, 1, 1, payload=b"request")
    assert [each for each in events(exported(saved(tmp_path, talk), capsys)) if "win" in each] == [
        "< S 4294967293:4294967293(0) win 65535 <mss 1460>",
        "< . 1:1(0) ack 1 win 65535",
        "< P. 1:8(7) ack 1 win 65535",
    ]


def test_broken_packets_stay_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk = Talk()
    lie = opt.padded(opt.push_options([opt.fast_open(b"", length=9)]))
    talk.out(SYN, options=lie)
    talk.out(SYN, checksum=0xBAD, payload=b"x")
    talk.out(SYN, data_offset=4)
    right = Segment(**talk.ends[True], flags=SYN, seq=MY_ISN)
    # As a host leaves it to a device that computes checksums: the sum of the pseudo-header.
    half = sum(struct.unpack("!6H", right.src.packed + right.dst.packed + b"\0\6\0\x14"))
    talk.packets.append(Sent(0, True, replace(right, checksum=half % 0xFFFF).to_bytes()))
    capture = saved(tmp_path, talk)
    text = exported(capture, capsys)
    assert events(text)[4:] == [
        "< S 0:0(0) win 65535 <kind 34 len 9 hex 0000>",
        "< S 0:1(1) win 65535 with checksum 0xbad",
        "< S 0:0(0) win 65535 with doff 4",
        "< S 0:0(0) win 65535",
    ]
    assert "checksums that were left to a network device" in text
    assert main(["pkt", "export", str(capture), "--portable"]) == 2
    assert "frame 1 needs an option given as 'kind'" in capsys.readouterr().err


def test_icmp_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk = Talk()
    talk.out(SYN, options=MSS)
    answer = talk.back(SYN | ACK, 0, 1, options=MSS)
    talk.packets.append(Sent(0.5, True, unreachable(answer.to_bytes(), code=3).to_bytes()))
    assert events(exported(saved(tmp_path, talk), capsys))[-1] == (
        "+0.5 < icmp unreachable port_unreachable [0:4(4)]"
    )


def test_a_capture_from_far_away_tells_the_targets_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Talk()
    talk.out(SYN, options=MSS)
    talk.back(SYN | ACK, 0, 1, 0.1, options=MSS)
    talk.out(ACK | PSH, 1, 1, 0.1, payload=b"one")
    talk.out(ACK | PSH, 4, 1, 0.15, payload=b"two")
    talk.back(ACK, 1, 4, 0.2)
    talk.back(ACK, 1, 7, 0.25)
    assert events(exported(saved(tmp_path, talk), capsys))[4:] == [
        "< S 0:0(0) win 65535 <mss 1460>",
        "> S. 0:0(0) ack 1 <mss 1460>",
        "+0.1 < P. 1:4(3) ack 1 win 65535",
        "accept(3, ..., ...) = 4",
        "read(4, ..., 3) = 3",
        "> . 1:1(0) ack 4",
        "+0.05 < P. 4:7(3) ack 1 win 65535",
        "read(4, ..., 3) = 3",
        "> . 1:1(0) ack 7",
    ]


def test_what_was_sent_in_one_go_is_one_packet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Talk()
    talk.shake_hands()
    talk.back(ACK, 1, 1, payload=bytes(1460))
    talk.back(ACK | PSH, 1461, 1, payload=bytes(1460))
    talk.back(ACK | PSH | FIN, 2921, 1, 0.01, payload=bytes(80))
    capture = saved(tmp_path, talk)
    assert events(exported(capture, capsys))[-4:] == [
        "write(4, ..., 3000) = 3000",
        "close(4) = 0",
        "> P. 1:2921(2920) ack 1",
        "+0~+0.01 > FP. 2921:3001(80) ack 1",
    ]
    exact = events(exported(capture, capsys, "--exact"))
    assert "> . 1:1461(1460) ack 1 win 65535" in exact

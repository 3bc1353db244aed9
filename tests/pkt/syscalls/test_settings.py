"""Socket options, fcntl(), ioctl(), capabilities."""

from __future__ import annotations

import os
import threading

import pytest

from pkt.syscalls.conftest import Script
from scapy_tfo.pkt.syscalls import CallError

SET = [
    (
        "setsockopt(3, SOL_TCP, TCP_FASTOPEN, [5], 4) = 0",
        "getsockopt(3, SOL_TCP, TCP_FASTOPEN, [5], [4]) = 0",
    ),
    (
        r'setsockopt(3, SOL_TCP, TCP_FASTOPEN_KEY, "0123456789abcdef", 16) = 0',
        r'getsockopt(3, SOL_TCP, TCP_FASTOPEN_KEY, "0123456789abcdef", [16]) = 0',
    ),
    ('setsockopt(3, SOL_TCP, TCP_FASTOPEN_KEY, "", 3) = -1 EINVAL (Invalid argument)',),
    ("setsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0",),
    (
        "setsockopt(3, SOL_SOCKET, SO_TIMESTAMPING, "
        "[SOF_TIMESTAMPING_TX_ACK|SOF_TIMESTAMPING_SOFTWARE], 4) = 0",
        "getsockopt(3, SOL_SOCKET, SO_TIMESTAMPING, "
        "[SOF_TIMESTAMPING_TX_ACK|SOF_TIMESTAMPING_SOFTWARE], [4]) = 0",
    ),
    ("setsockopt(3, SOL_IP, IP_TOS, [4], 1) = 0", "getsockopt(3, SOL_IP, IP_TOS, [4], [4]) = 0"),
    (
        "setsockopt(3, SOL_TCP, TCP_NOTSENT_LOWAT, [0xffffffff], 4) = 0",
        "getsockopt(3, SOL_TCP, TCP_NOTSENT_LOWAT, [0xffffffff], [4]) = 0",
    ),
    ("setsockopt(3, IPPROTO_TCP, TCP_SYNCNT, [1], 2) = -1 EINVAL (Invalid argument)",),
    (
        "fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0",
        "fcntl(3, F_GETFL) = O_RDWR|O_NONBLOCK",
        "fcntl(3, F_GETFL) = 0x802",
    ),
    ("ioctl(3, FIONBIO, [1]) = 0", "fcntl(3, F_GETFL) = 0x802"),
    ("ioctl(3, FIOCLEX) = 0", "fcntl(3, F_GETFD) = FD_CLOEXEC"),
]


@pytest.mark.parametrize("lines", SET)
def test_what_is_set_is_there(script: Script, lines: tuple[str, ...]) -> None:
    script.goes("socket(..., SOCK_STREAM, IPPROTO_TCP) = 3", *lines)


def test_how_much_waits(talking: Script) -> None:
    talking.goes("write(5, ..., 10) = 10", "ioctl(4, SIOCINQ, [10]) = 0")
    assert talking.says("ioctl(4, SIOCINQ, [9]) = 0") == ["value of ioctl(): expected 9, got 10"]


WRONG = [
    ("setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = -1", "setsockopt(): expected -1, got 0"),
    (
        "getsockopt(3, SOL_TCP, TCP_NODELAY, [1], [4]) = 0",
        "value of the socket option: expected 1, got 0",
    ),
    (
        "getsockopt(3, SOL_SOCKET, SO_TYPE, [SOCK_DGRAM], [4]) = 0",
        "value of the socket option: expected SOCK_DGRAM (2), got 1",
    ),
    (
        'getsockopt(3, SOL_TCP, TCP_FASTOPEN_KEY, "0123456789abcdef", [16]) = 0',
        "length of the socket option: expected 16, got 0",
    ),
    (
        'getsockopt(3, SOL_TCP, TCP_CONGESTION, "swift\\x00\\x00\\x00\\x00\\x00\\x00", [11]) = 0',
        'value of the socket option: expected "',
    ),
    ("fcntl(3, F_GETFL) = 0x2", "result of fcntl(): expected 0x2, got 0x802"),
    ("fcntl(3, F_GETFL) = O_RDWR", "result of fcntl(): expected O_RDWR (2), got 2050"),
    (
        "fcntl(3, F_GETFL) = O_RDWR|O_APPEND",
        "result of fcntl(): expected O_RDWR|O_APPEND (0x402), got 0x802",
    ),
    ("ioctl(3, 1) = 0", "result of ioctl(): expected 0, got -1 ENOTTY"),
    ("cap_set(CAP_PERMITTED, CAP_BPF, CAP_SET) = 1", "result of cap_set(): expected 1, got "),
]


@pytest.mark.parametrize(("line", "difference"), WRONG)
def test_what_is_expected_and_is_not(script: Script, line: str, difference: str) -> None:
    script.goes("socket(..., SOCK_STREAM, IPPROTO_TCP) = 3", "fcntl(3, F_SETFL, O_NONBLOCK) = 0")
    (found,) = script.says(line)
    assert difference in found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to give away")
def test_a_capability_is_gone_until_the_end() -> None:
    found: list[str] = []

    def play() -> None:
        script = Script()
        script.goes("socket(..., SOCK_STREAM, IPPROTO_TCP) = 3")
        mark = "setsockopt(3, SOL_SOCKET, SO_MARK, [1], 4) = "
        script.goes(mark + "0", "cap_set(CAP_EFFECTIVE, CAP_NET_ADMIN, CAP_CLEAR) = 0")
        script.goes("cap_set(CAP_EFFECTIVE, CAP_NET_RAW, CAP_CLEAR) = 0")
        found.extend(script.says(mark + "0"))
        script.goes("cap_set(CAP_EFFECTIVE, CAP_NET_ADMIN, CAP_SET) = 0", mark + "0")
        script.goes("cap_set(CAP_EFFECTIVE, CAP_NET_ADMIN, CAP_CLEAR) = 0")
        script.process.close()
        script.goes("socket(..., SOCK_STREAM, IPPROTO_TCP) = 3", mark + "0")
        script.process.close()
        found.append("done")

    thread = threading.Thread(target=play)
    thread.start()
    thread.join()
    assert found == [
        "result of setsockopt(): expected 0, got -1 EPERM (Operation not permitted)",
        "done",
    ]


REFUSED = [
    ("setsockopt(3, SOL_TCP, TCP_NODELAY, 1, 4) = 0", r"1 is not \[value\]"),
    ("setsockopt(3, SOL_TCP, TCP_NODELAY, [1, 2], 4) = 0", r"is not \[value\]"),
    ("setsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1}, 8) = 0", "is not {onoff=, linger=}"),
    ("getsockopt(3, SOL_TCP, TCP_NODELAY, [1], [2]) = 0", r"length is 2, but \[value\] has 4"),
    ('getsockopt(3, SOL_TCP, TCP_ULP, "a", [2]) = 0', "length is 2, but its value has 1"),
    ("ioctl(3, SIOCINQ, 5) = 0", r"5 is not \[value\]"),
    ("cap_set(CAP_EFFECTIVE, 64, CAP_SET) = 0", "64 is not a capability"),
]


@pytest.mark.parametrize(("line", "problem"), REFUSED)
def test_what_cannot_be_called_at_all(script: Script, line: str, problem: str) -> None:
    script.goes("socket(..., SOCK_STREAM, IPPROTO_TCP) = 3")
    with pytest.raises(CallError, match=problem):
        script.prepare(line)

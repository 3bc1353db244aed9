"""poll() and epoll."""

from __future__ import annotations

import pytest

from pkt.syscalls.conftest import Script
from scapy_tfo.pkt.syscalls import CallError

POLLED = [
    "poll([{fd=4, events=POLLIN|POLLOUT, revents=POLLOUT}], 1, 0) = 1",
    "poll([{fd=4, events=POLLIN}], 1, 0) = 0",
    "poll([{fd=4, events=POLLIN, revents=0}, {fd=5, events=POLLOUT, revents=POLLOUT}], 2, 0) = 1",
    "poll([], 0, 0) = 0",
]


@pytest.mark.parametrize("line", POLLED)
def test_poll(talking: Script, line: str) -> None:
    talking.goes(line)


def test_poll_tells_what_else_there_was(talking: Script) -> None:
    talking.goes("write(5, ..., 1) = 1")
    assert talking.says("poll([{fd=4, events=POLLIN|POLLOUT, revents=POLLOUT}], 1, 0) = 1") == [
        "revents of file descriptor 4: expected POLLOUT, got POLLIN|POLLOUT"
    ]
    assert talking.says("poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 0) = 0") == [
        "result of poll(): expected 0, got 1"
    ]


def test_epoll_by_each_kind_of_data(talking: Script) -> None:
    talking.goes("epoll_create(1) = 6")
    talking.goes("epoll_ctl(6, EPOLL_CTL_ADD, 4, {events=EPOLLIN|EPOLLET, fd=4}) = 0")
    talking.goes("epoll_wait(6, {events=0, ptr=0}, 1, 0) = 0")
    talking.goes("write(5, ..., 1) = 1")
    talking.goes("epoll_wait(6, {events=EPOLLIN, fd=4}, 1, 0) = 1")
    for kind in ("ptr=0x123456789a", "u64=7", "u32=0xffffffff"):
        talking.goes(f"epoll_ctl(6, EPOLL_CTL_MOD, 4, {{events=EPOLLIN, {kind}}}) = 0")
        talking.goes(f"epoll_wait(6, {{events=EPOLLIN, {kind}}}, 3, 0) = 1")
    talking.goes("epoll_ctl(6, EPOLL_CTL_DEL, 4, {events=0, fd=4}) = 0", "close(6) = 0")


WRONG = [
    ("epoll_create(0) = 7", ["result of epoll_create(): expected 7, got -1 EINVAL (Invalid"]),
    (
        "epoll_ctl(6, EPOLL_CTL_ADD, 4, {events=EPOLLIN, fd=4}) = 0",
        ["result of epoll_ctl(): expected 0, got -1 EEXIST (File exists)"],
    ),
    (
        "epoll_wait(6, {events=EPOLLIN, fd=4}, 1, 0) = 0",
        ["result of epoll_wait(): expected 0, got 1"],
    ),
    (
        "epoll_wait(6, {events=EPOLLIN|EPOLLERR, fd=5}, 1, 0) = 1",
        [
            "events of epoll_wait(): expected EPOLLIN|EPOLLERR, got EPOLLOUT",
            "fd of epoll_wait(): expected 5, got 4",
        ],
    ),
    (
        "epoll_wait(6, {events=EPOLLOUT, u32=100000}, 1, 0) = 1",
        ["u32 of epoll_wait(): expected 100000, got "],
    ),
]


@pytest.mark.parametrize(("line", "differences"), WRONG)
def test_what_is_expected_and_does_not_happen(
    talking: Script, line: str, differences: list[str]
) -> None:
    talking.goes("epoll_create(1) = 6")
    talking.goes("epoll_ctl(6, EPOLL_CTL_ADD, 4, {events=EPOLLOUT, fd=4}) = 0")
    found = talking.says(line)
    assert len(found) == len(differences)
    for each, beginning in zip(found, differences, strict=True):
        assert each.startswith(beginning)


REFUSED = [
    ("poll([{fd=4, events=POLLIN}], 2, 0) = 0", "announces 2 descriptors, but has 1"),
    ("poll([{fd=9, events=POLLIN}], 1, 0) = 0", "no open file descriptor 9"),
    ("poll([{fd=4}], 1, 0) = 0", "is not {fd=, events=, revents=}"),
    ("poll([{fd=4, fd=4}], 1, 0) = 0", "'fd' is given twice"),
    ("poll([{4}], 1, 0) = 0", "4 is not name=value"),
    ("poll(4, 1, 0) = 0", r"4 is not \[{fd="),
    ("epoll_ctl(4, EPOLL_CTL_ADD, 4, {events=0, fd=5}) = 0", "not the fd that the call is about"),
    ("epoll_ctl(4, EPOLL_CTL_ADD, 4, {events=0}) = 0", "is not {events=, fd=}"),
    ("epoll_wait(4, {events=0, fd=4}, 5000, 0) = 0", "at most 4096"),
]


@pytest.mark.parametrize(("line", "problem"), REFUSED)
def test_what_cannot_be_called_at_all(talking: Script, line: str, problem: str) -> None:
    with pytest.raises(CallError, match=problem):
        talking.prepare(line)

"""Calls that read or write bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pkt.syscalls.conftest import Script
from scapy_tfo.pkt.syscalls import CallError

MOVED = [
    ("write(5, ..., 1000) = 1000", "read(4, ..., 2000) = 1000"),
    ("write(5, ..., 10) = 10", "read(4, ..., 4) = 4"),
    ("send(5, ..., 10, MSG_NOSIGNAL) = 10", "recv(4, ..., 10, MSG_PEEK) = 10"),
    ("sendto(5, ..., 10, MSG_DONTWAIT, ..., ...) = 10", "recvfrom(4, ..., 9, 0, ..., ...) = 9"),
    ("writev(5, [{..., 3}, {..., 4}], 2) = 7", "readv(4, [{..., 1}, {..., 9}], 2) = 7"),
    ("write(5, ..., 0) = 0", "write(5, NULL, 0) = 0"),
    ("write(5, ..., 10) = 10", "recv(4, ..., 10, MSG_TRUNC|MSG_WAITALL) = 10"),
]


@pytest.mark.parametrize(("there", "here"), MOVED)
def test_what_one_end_sends_the_other_gets(talking: Script, there: str, here: str) -> None:
    talking.goes(there, here)


FAULTS = [
    "write(5, NULL, 10) = -1 EFAULT (Bad address)",
    "send(5, 0, 10, 0) = -1 EFAULT (Bad address)",
    "sendto(5, NULL, 10, 0, ..., ...) = -1 EFAULT (Bad address)",
    "read(4, NULL, 10) = -1 EFAULT (Bad address)",
    "recv(4, NULL, 10, 0) = -1 EFAULT (Bad address)",
    "recvfrom(4, NULL, 10, 0, ..., ...) = -1 EFAULT (Bad address)",
    "read(4, NULL, -1) = -1 EFAULT (Bad address)",
]


@pytest.mark.parametrize("line", FAULTS)
def test_bad_pointers_are_the_kernels_business(talking: Script, line: str) -> None:
    talking.goes("write(5, ..., 10) = 10", line)


WRONG = [
    ("write(5, ..., 10) = 9", "result of write(): expected 9, got 10"),
    ("read(4, ..., 10) = 9", "result of read(): expected 9, got 3"),
    ("send(5, ..., 10, 0) = -1 EPIPE (Broken pipe)", "expected -1 EPIPE, got 10"),
    ("recv(4, ..., 10, 0) = 2", "result of recv(): expected 2, got 3"),
    ("sendto(5, ..., 10, 0, ..., ...) = 1", "result of sendto(): expected 1, got 10"),
    ("recvfrom(4, ..., 2, 0, ..., ...) = 3", "result of recvfrom(): expected 3, got 2"),
    ("writev(5, [{..., 3}, {..., 4}], 2) = 8", "result of writev(): expected 8, got 7"),
    ("readv(4, [{..., 1}, {..., 1}], 2) = 3", "result of readv(): expected 3, got 2"),
    ("splice(4, NULL, 5, NULL, 9, 0) = 9", "expected 9, got -1 EINVAL (Invalid argument)"),
    ('open("/", O_WRONLY) = 9', "expected 9, got -1 EISDIR (Is a directory)"),
]


@pytest.mark.parametrize(("line", "difference"), WRONG)
def test_what_is_expected_and_does_not_happen(talking: Script, line: str, difference: str) -> None:
    talking.goes("write(5, ..., 3) = 3")
    (found,) = talking.says(line)
    assert found.endswith(difference)


def test_through_a_pipe_into_the_other_socket(talking: Script) -> None:
    talking.goes("pipe([8, 9]) = 0", "write(5, ..., 100) = 100")
    talking.goes("splice(4, NULL, 9, NULL, 100, SPLICE_F_MOVE) = 100")
    talking.goes("splice(8, NULL, 4, NULL, 100, SPLICE_F_NONBLOCK) = 100")
    talking.goes("read(5, ..., 200) = 100", "close(8) = 0", "close(9) = 0")
    assert talking.says("pipe([8, 9]) = 1") == ["result of pipe(): expected 1, got 0"]


def test_a_file_is_sent(talking: Script, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(50))
    talking.goes(f'open("{tmp_path}/file", O_RDONLY) = 7', "sendfile(4, 7, [10], 100) = 40")
    talking.goes("read(5, ..., 200) = 40")
    assert talking.says("sendfile(4, 7, [0], 10) = 9") == [
        "result of sendfile(): expected 9, got 10"
    ]


def test_a_symbol_stands_for_a_number_a_string_or_a_constant(tmp_path: Path) -> None:
    script = Script(PATH=bytes(tmp_path / "file"), FLAGS="O_RDONLY", FD=7, PROBLEM="ENOENT")
    script.goes("open(PATH, FLAGS) = -1 PROBLEM (x)")
    (tmp_path / "file").touch()
    script.goes("open(PATH, FLAGS) = FD", "close(FD) = 0")


@pytest.mark.parametrize("fd", ["8", "0x8", "010"])
def test_a_symbol_as_the_command_line_gives_it(fd: str) -> None:
    script = Script(PATH='"/dev/null"', FD=fd, PROBLEM="2")
    script.goes("open(PATH, O_RDONLY) = FD", "close(8) = 0")
    script.goes('open("/dev/nul", O_RDONLY) = -1 PROBLEM (x)')


REFUSED = [
    ('write(5, "abc", 3) = 3', r"\"abc\" is not '...' or NULL"),
    ("write(5, ..., -1) = -1", "a buffer of -1 bytes"),
    ("read(5, ..., 0x7fffffff) = -1", "a buffer of 2147483647 bytes"),
    ("writev(5, [{..., 3}], 2) = 3", "announces 2 pieces, but has 1"),
    ("writev(5, [3], 1) = 3", "3 is not {..., length}"),
    ("writev(5, 3, 1) = 3", r"3 is not \[{..., length}"),
    ("sendfile(5, 4, 0, 1) = 1", r"0 is not \[value\]"),
    ("open(1, O_RDONLY) = 9", '1 is not a "path"'),
    ("pipe(8) = 0", r"8 is not \[fd, fd\]"),
    ("pipe([4, 8]) = 0", "file descriptor 4 is open already"),
]


@pytest.mark.parametrize(("line", "problem"), REFUSED)
def test_what_cannot_be_called_at_all(talking: Script, line: str, problem: str) -> None:
    with pytest.raises(CallError, match=problem):
        talking.prepare(line)

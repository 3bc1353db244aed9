"""Calls from socket() to close(): expected results, and results that differ."""

from __future__ import annotations

import errno
import os
import socket
from ipaddress import ip_address

import pytest

from pkt.syscalls.conftest import Script, free_port
from scapy_tfo.pkt.syscalls import CallError, Connects, Endpoints, Listens

SOCKET = "socket(..., SOCK_STREAM, IPPROTO_TCP)"


def test_two_ends_of_one_connection(script: Script) -> None:
    script.talks()
    script.goes("write(5, ..., 10) = 10", "read(4, ..., 100) = 10")
    script.goes("shutdown(5, SHUT_WR) = 0", "read(4, ..., 100) = 0")
    script.goes("close(4) = 0", "close(5) = 0", "close(3) = 0")


@pytest.mark.parametrize(("address", "mapped"), [("::1", False), ("127.0.0.1", True)])
def test_over_ipv6_and_with_ipv4_mapped_into_it(address: str, mapped: bool) -> None:
    script = Script(address, mapped=mapped)
    script.talks()
    script.goes("write(5, ..., 1) = 1", "read(4, ..., 2) = 1")
    script.process.close()


def test_the_domain_is_the_scripts_unless_it_names_one() -> None:
    script = Script("::1")
    script.goes(f"{SOCKET} = 3", "socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 4")
    script.goes("getsockopt(3, SOL_SOCKET, SO_DOMAIN, [AF_INET6], [4]) = 0")
    script.goes("getsockopt(4, SOL_SOCKET, SO_DOMAIN, [AF_INET], [4]) = 0")
    script.process.close()


def test_mapped_addresses_stand_in_sockaddr_in6() -> None:
    other = Endpoints(ip_address("192.0.2.1"), ip_address("192.0.2.2"), 1, 2, True).other()
    assert other[8:24] == bytes(10) + b"\xff\xff" + bytes([192, 0, 2, 2])


WRONG = [
    (
        "socket(..., SOCK_STREAM, IPPROTO_TCP) = -1 EPERM (Operation not permitted)",
        "result of socket(): expected -1 EPERM, got ",
    ),
    (
        "socket(..., SOCK_STREAM, 1000) = 9",
        "result of socket(): expected 9, got -1 EINVAL (Invalid argument)",
    ),
    (
        "socket(..., SOCK_STREAM, 1000) = -1 EPERM (Operation not permitted)",
        "errno of socket(): expected EPERM, got EINVAL (Invalid argument)",
    ),
    ("bind(5, ..., ...) = 0", "result of bind(): expected 0, got -1 EINVAL (Invalid argument)"),
    ("listen(3, 1) = -1", "result of listen(): expected -1, got 0"),
    ("accept(5, ..., ...) = 8", "result of accept(): expected 8, got -1 EINVAL"),
    ("accept4(5, ..., ..., SOCK_NONBLOCK) = 8", "result of accept4(): expected 8, got -1 EINVAL"),
    (
        "connect(5, ..., ...) = 0",
        "result of connect(): expected 0, got -1 EISCONN (Transport endpoint is already connected)",
    ),
    ("shutdown(3, SHUT_RD) = -1 ENOTCONN (x)", "result of shutdown(): expected -1 ENOTCONN, got 0"),
    ("shutdown(5, 9) = 0", "result of shutdown(): expected 0, got -1 EINVAL (Invalid argument)"),
    ("close(5) = -1 EBADF (Bad file descriptor)", "result of close(): expected -1 EBADF, got 0"),
    ("close(5) = 0 EIO (x)", "errno of close(): expected EIO, got none"),
]


@pytest.mark.parametrize(("line", "difference"), WRONG)
def test_what_is_expected_and_does_not_happen(talking: Script, line: str, difference: str) -> None:
    (found,) = talking.says(line)
    assert found.startswith(difference)


def test_accept4_sets_flags(script: Script) -> None:
    script.listens()
    script.goes(f"{SOCKET} = 5", "connect(5, ..., ...) = 0")
    script.goes("accept4(3, ..., ..., SOCK_NONBLOCK) = 4")
    script.goes("read(4, ..., 1) = -1 EAGAIN (Resource temporarily unavailable)")


def test_a_result_that_is_not_looked_at(script: Script) -> None:
    script.goes(f"{SOCKET} = ...", "socket(..., SOCK_STREAM, 1000) = ...")


def test_a_number_is_free_after_close(script: Script) -> None:
    script.goes(f"{SOCKET} = 3", "close(3) = 0", f"{SOCKET} = 3")
    with pytest.raises(CallError, match="file descriptor 3 is open already"):
        script.prepare(f"{SOCKET} = 3")


def test_a_descriptor_that_the_script_does_not_have(talking: Script) -> None:
    with pytest.raises(CallError, match="no open file descriptor 6; it has: 3, 4, 5"):
        talking.prepare("close(6) = 0")


def test_what_the_packet_side_learns_before_a_call_runs(script: Script) -> None:
    assert script.prepare(f"{SOCKET} = 3").effect is None
    script.goes(f"{SOCKET} = 3", f"{SOCKET} = 4", f"{SOCKET} = 5", f"{SOCKET} = 6")
    port = script.process._state.endpoints.connect_port
    connects = Connects(ip_address("127.0.0.1"), port)
    assert script.prepare("listen(3, 1) = 0").effect == Listens()
    assert script.prepare("connect(4, ..., ...) = 0").effect == connects
    assert script.prepare("connect(4, ..., ...) = 0").effect is None
    assert script.prepare("sendto(5, ..., 1, MSG_FASTOPEN, ..., ...) = 1").effect == connects
    sent = "sendmsg(6, {msg_name(...)=..., msg_iov(1)=[{..., 1}], msg_flags=0}, MSG_FASTOPEN) = 1"
    assert script.prepare(sent).effect == connects
    assert script.prepare(sent).effect is None


def test_a_socket_is_new_again_when_it_is_disconnected(script: Script) -> None:
    script.listens()
    script.goes(f"{SOCKET} = 5", "connect(5, ..., ...) = 0")
    script.goes("connect(5, AF_UNSPEC, ...) = 0")
    assert isinstance(script.prepare("connect(5, ..., ...) = 0").effect, Connects)


def test_nothing_stays_open(script: Script) -> None:
    script.talks()
    script.says(f"{SOCKET} = -1")
    live = list(script.process._state.all_live())
    assert len(live) == 4
    script.process.close()
    for each in live:
        with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
            os.fstat(each)


REFUSED = [
    ("frobnicate(3) = 0", "unknown system call 'frobnicate'"),
    ("conect(3, ..., ...) = 0", "unknown system call 'conect': did you mean 'connect'"),
    ("bind(3, ...) = 0", r"bind\(\) takes 3 arguments, not 2"),
    ("bind(3, 4, ...) = 0", "4 is not '...'"),
    ("socket(..., SOCK_STREAM, IPPROTO_TPC) = 7", "IPPROTO_TPC': did you mean 'IPPROTO_TCP'"),
    ("listen(3, 4294967296) = 0", "4294967296 does not fit into 32 bits"),
    ('listen(3, "1") = 0', '"1" is not a number'),
    ("listen(3, 1) = -1 EAGIAN (x)", "unknown errno 'EAGIAN': did you mean 'EAGAIN'"),
]


@pytest.mark.parametrize(("line", "problem"), REFUSED)
def test_what_cannot_be_called_at_all(talking: Script, line: str, problem: str) -> None:
    with pytest.raises(CallError, match=problem):
        talking.prepare(line)


def test_a_listener_on_another_port_than_the_scripts(script: Script) -> None:
    script.listens()
    script.goes("socket(..., SOCK_STREAM, IPPROTO_TCP) = 4")
    port = free_port("127.0.0.1")
    script.goes(f"bind(4, {{sin_port=htons({port})}}, ...) = 0", "listen(4, 1) = 0")
    assert script.says("bind(4, {sin_port=htons(1)}, ...) = 0")
    socket.create_connection(("127.0.0.1", port)).close()

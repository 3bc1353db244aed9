"""Calls that block, in threads of their own; the values that code sees; the end of a process."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable

import pytest

from pkt.syscalls.conftest import PATIENCE, Script, until_asleep
from scapy_tfo.pkt.syscalls import CallError, Prepared
from scapy_tfo.pkt.syscalls.tcp_info import decode_congestion_control, decode_tcp_info

BLOCKING = [
    ("...1 accept(3, ..., ...) = 7", "connect(6, ..., ...) = 0"),
    ("...1 read(4, ..., 100) = 10", "write(5, ..., 10) = 10"),
    ("...1 recv(4, ..., 5, 0) = 10", "write(5, ..., 10) = 10"),
    ("...1 poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, -1) = 1", "write(5, ..., 10) = 10"),
    ("...1 read(4, ..., 100) = 0", "shutdown(5, SHUT_WR) = 0"),
]


def blocked(script: Script, line: str) -> tuple[Prepared, Callable[[], list[str]]]:
    """A call that waits in a thread of its own, and how to learn what was different."""
    prepared = script.prepare(line)
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.extend(map(str, prepared.run())), daemon=True)
    thread.start()
    until_asleep(prepared)

    def end() -> list[str]:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "it blocks for ever"
        return found

    return prepared, end


@pytest.mark.parametrize(("line", "what_ends_it"), BLOCKING)
def test_a_call_waits_for_another(talking: Script, line: str, what_ends_it: str) -> None:
    talking.goes("socket(..., SOCK_STREAM, IPPROTO_TCP) = 6")
    prepared, end = blocked(talking, line)
    assert prepared.timing is None
    began = time.time_ns()
    talking.goes(what_ends_it)
    wrong = ["result of recv(): expected 10, got 5"] if "recv" in line else []
    assert end() == wrong
    assert not prepared.is_asleep
    assert prepared.timing is not None
    assert prepared.timing.before < began < prepared.timing.after
    assert 0 <= prepared.timing.queued <= prepared.timing.after - prepared.timing.before


def test_a_call_that_returns_at_once_has_its_times(script: Script) -> None:
    before = time.time_ns()
    prepared = script.prepare("socket(..., SOCK_STREAM, IPPROTO_TCP) = 3")
    assert prepared.run() == ()
    assert prepared.timing is not None
    assert before <= prepared.timing.before <= prepared.timing.after <= time.time_ns()
    assert prepared.timing.queued == 0


def test_the_end_wakes_what_still_waits(talking: Script) -> None:
    _, end = blocked(talking, "...1 read(4, ..., 100) = 10")
    talking.process.close()
    (found,) = end()
    assert found.startswith("result of read(): expected 10, got ")


def test_the_end_resets_connections(script: Script) -> None:
    script.listens()
    with socket.create_connection(
        ("127.0.0.1", script.process._state.endpoints.bind_port), PATIENCE
    ) as peer:
        script.goes("accept(3, ..., ...) = 4")
        script.goes("setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, linger=60}, 8) = 0")
        script.process.close()
        with pytest.raises(ConnectionResetError):
            peer.recv(1)


def test_code_sees_the_socket_that_was_made_last_or_accepted_after_it(script: Script) -> None:
    with pytest.raises(CallError, match="has made no socket"):
        script.process.tcp_info()
    script.listens()
    info = script.process.tcp_info()
    assert info["tcpi_state"] == info["TCP_LISTEN"]
    port = script.process._state.endpoints.bind_port
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as peer:
        script.goes("accept(3, ..., ...) = 4", "epoll_create(1) = 6")
        peer.sendall(bytes(300))
        script.goes("write(4, ..., 100) = 100", "read(4, ..., 1) = 1")
        info = script.process.tcp_info()
        assert info["tcpi_state"] == info["TCP_ESTABLISHED"] == 1
        assert info["tcpi_ca_state"] == info["TCP_CA_Open"] == 0
        assert info["tcpi_options"] & info["TCPI_OPT_SACK"]
        assert info["tcpi_bytes_received"] == 300
        assert info["tcpi_snd_cwnd"] >= 10
        assert info["SK_MEMINFO_RCVBUF"] > info["SK_MEMINFO_RMEM_ALLOC"] > 0
        accepted = script.process.current
        with socket.create_connection(("127.0.0.1", port), PATIENCE):
            script.goes("accept(3, ..., ...) = 7")
            assert script.process.current not in (None, accepted)


def test_a_socket_that_was_made_later_stays_the_one_that_code_sees(talking: Script) -> None:
    info = talking.process.tcp_info()
    talking.goes("write(5, ..., 70) = 70")
    assert talking.process.tcp_info()["tcpi_bytes_sent"] == info["tcpi_bytes_sent"] + 70
    talking.goes("close(5) = 0")
    with pytest.raises(CallError, match="cannot read TCP_INFO for the code: EBADF"):
        talking.process.tcp_info()


def test_a_kernels_shorter_answer_has_fewer_fields() -> None:
    whole = bytes([1, 2, 3, 4, 5, 6, 0x87, 0b101]) + bytes(range(1, 255))
    info = decode_tcp_info(whole)
    assert (info["tcpi_state"], info["tcpi_backoff"]) == (1, 5)
    assert (info["tcpi_snd_wscale"], info["tcpi_rcv_wscale"]) == (7, 8)
    assert (info["tcpi_delivery_rate_app_limited"], info["tcpi_fastopen_client_fail"]) == (1, 2)
    assert info["tcpi_rto"] == 0x04030201
    assert {"tcpi_snd_wnd", "tcpi_total_rto_time"} <= set(info)
    for size in range(len(whole)):
        assert decode_tcp_info(whole[:size]).items() <= info.items()
    assert set(decode_tcp_info(whole[:104])) >= {"tcpi_total_retrans"}
    assert "tcpi_pacing_rate" not in decode_tcp_info(whole[:104])


@pytest.mark.parametrize(("name", "used"), [("reno", "reno"), ("", None)])
def test_a_socket_is_given_a_congestion_control(
    script: Script, name: str, used: str | None
) -> None:
    script.goes("socket(..., SOCK_STREAM, IPPROTO_TCP) = 3")
    assert script.process.current is not None
    before = _control(script.process.current)
    script.process.use_control(name)
    assert _control(script.process.current) == (used or before)


def _control(live: int) -> str:
    with socket.socket(fileno=os.dup(live)) as same:
        return same.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).decode().strip("\0")


def test_congestion_control_by_the_length_of_the_answer() -> None:
    assert decode_congestion_control(b"") == {}
    assert set(decode_congestion_control(bytes(16))) >= {"dctcp_alpha", "tcpv_enabled"}
    assert decode_congestion_control(b"\1\0\0\0\2\0\0\0" + bytes(12))["bbr_bw"] == 2 << 32 | 1

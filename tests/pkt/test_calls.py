"""What would fail only when its turn comes is refused by `pkt check`."""

from __future__ import annotations

import pytest

from scapy_tfo.pkt.checks.calls import _ARITY, refuse_wrong_calls
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.library import find_scripts, own_directory
from scapy_tfo.pkt.syscalls.arguments import Arguments
from scapy_tfo.pkt.syscalls.table import CALLS

SOCKET = "+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
WRONG = [
    ("listen(3) = 0", r"listen\(\) takes 2 arguments, not 1"),
    ("fcntl(3) = 0", r"fcntl\(\) takes 2 or 3 arguments, not 1"),
    ("listen(4, 1) = 0", "nothing has opened the file descriptor 4"),
    ("accept(7, ..., ...) = 8", "nothing has opened the file descriptor 7"),
    ("%{ assert tcpi_unacked = 1 }%", "the code is not Python"),
    ("%{ print 'x' }%", "the code is not Python"),
    ("< icmp unreachable frag_neded mtu 1200 [0:0(0)]", "no code frag_neded"),
    ("< icmp unreachble host_unreachable [0:0(0)]", "no ICMP type unreachble"),
]
RIGHT = [
    "+0 accept(3, ..., ...) = 4\n+0 close(4) = 0\n+0 close(3) = 0",
    # What fails may have been meant to.
    "+0 close(9) = -1 EBADF (Bad file descriptor)",
    "+0 pipe([5, 6]) = 0\n+0 write(6, ..., 1) = 1",
    "+0 epoll_create(1) = 4\n+0 epoll_ctl(4, EPOLL_CTL_ADD, 3, {events=EPOLLIN, fd=3}) = 0",
    "+0 write(2, ..., 1) = 1",
    "+0 accept(3, ..., ...) = ...\n+0 close(4) = 0",
    "+0 < icmp unreachable CODE [0:0(0)]",
    "+0 < icmp unreachable type_3 [0:0(0)]".replace("type_3", "code_3"),
    "+0 < icmp packet_too_big mtu 1280 [0:0(0)]",
    "+0 %{\nif tcpi_unacked:\n    assert tcpi_unacked == 1\n}%",
]


def check(text: str) -> None:
    refuse_wrong_calls(parse(text), text, "a.pkt")


@pytest.mark.parametrize(("event", "problem"), WRONG)
def test_what_no_run_gets_past_is_refused(event: str, problem: str) -> None:
    with pytest.raises(ScriptError, match=problem) as caught:
        check(f"{SOCKET}  +0 {event}\n")
    assert (caught.value.line, caught.value.column) == (2, 3)


@pytest.mark.parametrize("text", RIGHT)
def test_what_runs_is_not(text: str) -> None:
    check(SOCKET + text + "\n")


def test_none_of_our_scripts_is_refused() -> None:
    scripts = find_scripts([str(own_directory())])
    assert len(scripts) > 200
    for script in scripts:
        refuse_wrong_calls(parse(script.text), script.text, script.path.name)


class _CountedError(Exception):
    pass


class _Counting(Arguments):
    def count(self, *allowed: int) -> None:
        raise _CountedError(*allowed)


@pytest.mark.parametrize("name", sorted(_ARITY))
def test_calls_take_as_many_arguments_as_the_engine_wants(name: str) -> None:
    with pytest.raises(_CountedError) as counted:
        CALLS[name](_Counting.__new__(_Counting))
    assert counted.value.args == _ARITY[name]

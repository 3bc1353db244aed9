"""Scripts that could be written but never run are refused before anything runs."""

from __future__ import annotations

import pytest

from scapy_tfo.pkt.checks.lint import refuse_nonsense
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.parse import parse

NONSENSE = [
    ("> . 1:11(3)", "1:11 has a length of 10, not 3"),
    ("> . 1:11(10) ack 4294967296", "ack 4294967296 is too large"),
    ("< . 1:1(0) win 65536", "win 65536 is too large: at most 65535"),
    ("> 70000 > 1 . 1:1(0)", "port 70000"),
    ("> S 0:0(0) <mss 65536>", "mss 65536"),
    ("> S 0:0(0) <wscale 256>", "wscale 256"),
    ("> S 0:0(0) <TS val 1 ecr 4294967296>", "ecr 4294967296"),
    ("> S 0:0(0) <TS val 1 ecr 2,FO " + "00" * 29 + ">", "options take 41 bytes"),
    ("< S 0:0(0) <FO $C>", r"\$C has no value: write .\*=\$C. in an earlier packet"),
    ("> R 1:1(0) or > R 1:2(0)", "length of 1, not 0"),
    ("< icmp unreachable [0:5(4)]", "length of 5, not 4"),
    ("frobnicate(3) = 0", "unknown system call 'frobnicate'$"),
    ("conect(3, ..., ...) = 0", r"unknown system call 'conect': did you mean 'connect'\?"),
    ("close(3) = -1 EAGIAN (x)", r"unknown errno 'EAGIAN': did you mean 'EAGAIN'\?"),
    ("close(3) = -1 SOMETHING (x)", "unknown errno 'SOMETHING'$"),
    ("setsockopt(3, SOL_TPC, TCP_NODELAY, [1], 4) = 0", r"'SOL_TPC': did you mean 'SOL_TCP'\?"),
    ("poll([{fd=4, events=POLLIN|POLLERRR}], 1, 0) = 0", r"'POLLERRR': did you mean 'POLLERR'\?"),
    ("fcntl(3, F_GETFL) = O_RDWRR", r"'O_RDWRR': did you mean 'O_RDWR'\?"),
    ("ioctl(3, SIOCINQ, [htons(O_RDWRR)]) = 0", r"'O_RDWRR': did you mean 'O_RDWR'\?"),
]

SENSE = [
    "+0 > . 4294967295:9(10)",
    "+0 > . 1:SIZE(SIZE)",
    "+0 < S 0:0(0) <FO TFO_COOKIE,TS val 1 ecr 2>",
    "+0 > S 0:0(0) <FO *=$C>\n+0 < S 0:0(0) <FO $C>",
    "+0 > S 0:0(0) <FO " + "00" * 38 + ">",
    "+0 recvmsg(5, {msg_iov(0)=[], msg_flags=CMSG_LEVEL_IP}, CMSG_TYPE_RECVERR) = TFO_COOKIE",
    "--define=SOL_TPC=6 --define=EBADD=EBADF\n+0 close(SOL_TPC) = -1 EBADD (x)",
]


def check(text: str) -> None:
    refuse_nonsense(parse(text), text, "a.pkt")


@pytest.mark.parametrize(("event", "problem"), NONSENSE)
def test_nonsense_is_refused_at_its_event(event: str, problem: str) -> None:
    with pytest.raises(ScriptError, match=problem) as caught:
        check(f"+0 close(3) = 0\n  +0 {event}")
    assert (caught.value.line, caught.value.column) == (2, 3)


@pytest.mark.parametrize("text", SENSE)
def test_sense_is_not(text: str) -> None:
    check(text)

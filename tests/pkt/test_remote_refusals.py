"""Actions that no application of a target would take are refused before anything is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.local.run import Task
from scapy_tfo.pkt.play.outcome import Outcome
from scapy_tfo.pkt.remote.run import run_remote
from tests.pkt.remotely import LISTENER, run_text

OPENED = f"""\
{LISTENER}\
+0 < S 0:0(0) win 65535 <mss 1460>
+0 > S. 0:0(0) ack 1 <...>
+0 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
"""
"""Eight lines: a handshake, accepted."""

SENT = f"{OPENED}+0 < P. 1:11(10) ack 1 win 65535\n+0 read(4, ..., 512) = 10\n"
"""Ten lines: and ten bytes that the application has read."""

ENDED = "+0 < F. 11:11(0) ack 11 win 65535\n"

REFUSED = [
    pytest.param(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 connect(3, ..., ...) = 0\n+0 > S 0:0(0)\n",
        2,
        "does not connect",
        id="connect",
    ),
    pytest.param(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
        "+0 sendto(3, ..., 10, MSG_FASTOPEN, ..., ...) = 10\n+0 > S 0:0(0)\n",
        2,
        "does not connect",
        id="fast open of a client",
    ),
    pytest.param(
        f"{OPENED}+0 setsockopt(3, SOL_TCP, TCP_FASTOPEN_KEY, ..., 16) = 0\n",
        9,
        "keeps its options",
        id="another key",
    ),
    pytest.param(
        f"{OPENED}+0 `sysctl -q net.ipv4.tcp_fastopen=0`\n",
        9,
        "commands after the first packet",
        id="sysctl",
    ),
    pytest.param(f"{OPENED}+0 write(4, ..., 5) = 5\n", 9, "0 bytes, not 5", id="speaks first"),
    pytest.param(f"{SENT}+0 write(4, ..., 20) = 20\n", 11, "10 bytes, not 20", id="more than read"),
    pytest.param(f"{SENT}+0 expect none for 50ms\n", 10, "sends back", id="reads and says nothing"),
    pytest.param(
        f"{OPENED}+0 < P. 1:11(10) ack 1 win 65535\n"
        "+0 > . 1:1(0) ack 11\n+0 expect none for 50ms\n",
        11,
        "reads and sends back all 10 bytes",
        id="does not read",
    ),
    pytest.param(
        f"{OPENED}+0 < P. 1:11(10) ack 1 win 65535\n+0 read(4, ..., 512) = 11\n",
        10,
        "only 10 bytes were sent",
        id="reads more than there is",
    ),
    pytest.param(
        LISTENER.replace("listen(3, 5) = 0", "listen(3, 5) = -1 EINVAL (Invalid argument)")
        + "+0 < S 0:0(0) win 9\n+0 > R. 0:0(0) ack 1\n",
        4,
        r"listen\(\) does not fail in a target's application",
        id="cannot listen",
    ),
    pytest.param(f"{SENT}{ENDED}", 10, "not 0, before line 11", id="answers too late"),
    pytest.param(f"{OPENED}+0 close(4) = 0\n", 9, "closes after its client", id="closes first"),
    pytest.param(
        f"{LISTENER}+0 close(3) = 0\n+0 < S 0:0(0) win 9\n+0 > R. 0:0(0) ack 1\n",
        6,
        "listener stays open",
        id="closes its listener",
    ),
    pytest.param(
        f"{LISTENER}+0 < S 0:0(0) win 9 <FO TFO_COOKIE,nop,nop>\n+0 > S. 0:0(0) ack 1\n",
        5,
        r"write 'FO \*=\$C'",
        id="a cookie by symbol",
    ),
    pytest.param(
        f"{LISTENER}+0 < S 0:0(0) win 9\n+0 %{{ assert tcpi_state == 1 }}%\n",
        1,
        "nothing else of it can be checked",
        id="nothing to look at",
    ),
]


@pytest.mark.parametrize(("text", "line", "problem"), REFUSED)
def test_what_an_echo_would_not_do_is_refused_with_its_line(
    text: str, line: int, problem: str
) -> None:
    answer = run_text(text)
    assert isinstance(answer, ScriptError), answer
    assert answer.line == line
    with pytest.raises(ScriptError, match=problem):
        raise answer


def test_what_an_echo_does_is_not_refused() -> None:
    text = (
        f"{SENT}+0 write(4, ..., 10) = 10\n+0 > P. 1:11(10) ack 11\n{ENDED}"
        "+0 read(4, ..., 512) = 0\n+0 close(4) = 0\n+0 > F. 11:11(0) ack 12\n"
    )
    answer = run_text(text)
    assert isinstance(answer, Outcome), answer
    assert not answer.failures


@pytest.mark.parametrize("app", ["http", "none"])
def test_nobody_knows_what_others_than_an_echo_send(app: str) -> None:
    answer = run_text(f"{SENT}+0 write(4, ..., 10) = 10\n+0 > P. 1:11(10) ack 11\n", app=app)
    assert isinstance(answer, ScriptError)
    assert answer.line == 11


def test_where_nothing_is_known_a_handshake_can_be_judged() -> None:
    answer = run_text(OPENED, app="none")
    assert isinstance(answer, Outcome)
    assert not answer.failures


def test_set_up_is_assumed_and_a_new_listener_may_have_its_options() -> None:
    text = f"{OPENED}+0 close(3) = 0\n{LISTENER.replace('0 socket', '+0 socket')}"
    text += "+0 < S 0:0(0) win 65535 <mss 1460>\n+0 > S. 0:0(0) ack 1 <...>\n"
    answer = run_text(text)
    assert isinstance(answer, Outcome), answer
    assert not answer.failures


def test_one_script_that_is_refused_keeps_no_other_from_running() -> None:
    texts = [OPENED, f"{OPENED}+0 close(4) = 0\n", OPENED.replace("win", "wim"), OPENED]
    tasks = [Task("it.pkt", text, Path(), Settings()) for text in texts]
    answers = dict(run_remote(tasks, "sim:reference"))
    assert [type(answers[number]) for number in range(4)] == [
        Outcome,
        ScriptError,
        ScriptError,
        Outcome,
    ]

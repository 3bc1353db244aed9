"""sendmsg(), recvmsg() and the control messages that come with them."""

from __future__ import annotations

import struct
import time
from socket import SOL_SOCKET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkt.syscalls.conftest import PATIENCE, Script, call_of
from scapy_tfo.pkt.syscalls import CallError, control
from scapy_tfo.pkt.syscalls.state import State
from scapy_tfo.pkt.syscalls.values import Values

PIECES = "msg_name(...)=..., msg_iov(2)=[{..., 3}, {..., 20}]"
EMPTY = "msg_name(...)=..., msg_iov(1)=[{..., 0}]"
RECVERR = "cmsg_level=CMSG_LEVEL_IP, cmsg_type=CMSG_TYPE_RECVERR"
COMPLETION = (
    f"{{{RECVERR}, cmsg_data={{ee_errno=0, ee_origin=SO_EE_ORIGIN_ZEROCOPY, ee_type=0, "
    "ee_code=SO_EE_CODE_ZEROCOPY_COPIED, ee_info=0, ee_data=%d}}"
)


def test_in_pieces(talking: Script) -> None:
    talking.goes(f"sendmsg(5, {{{PIECES}, msg_flags=0}}, MSG_MORE|MSG_DONTWAIT) = 23")
    talking.goes("sendmsg(5, {msg_iov(1)=[{..., 1}], msg_flags=0}, 0) = 1")
    talking.goes(f"recvmsg(4, {{{PIECES}, msg_flags=0, msg_control=[]}}, 0) = 23")


def test_more_was_sent_than_expected(talking: Script) -> None:
    assert talking.says(f"sendmsg(5, {{{PIECES}, msg_flags=0}}, 0) = 22") == [
        "result of sendmsg(): expected 22, got 23"
    ]


def test_what_waits_is_told(talking: Script) -> None:
    talking.goes("setsockopt(4, SOL_TCP, TCP_INQ, [1], 4) = 0", "write(5, ..., 30) = 30")
    inq = "{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=%d}"
    read = "recvmsg(4, {msg_iov(1)=[{..., 10}], msg_flags=%s, msg_control=[%s]}, 0) = 10"
    talking.goes(read % (0, inq % 20))
    assert talking.says(read % (0, inq % 11)) == ["data in control message 0: expected 11, got 10"]
    assert talking.says(read % (0, "")) == ["msg_flags: expected 0, got MSG_CTRUNC"]


WRONG = [
    (f"{{{PIECES}, msg_flags=MSG_OOB}}, 0) = 3", ["msg_flags: expected MSG_OOB, got 0"]),
    (f"{{{PIECES}, msg_flags=0}}, 0) = 4", ["result of recvmsg(): expected 4, got 3"]),
    (
        f"{{{PIECES}, msg_flags=0, msg_control=["
        "{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=1}]}, 0) = 3",
        ["control messages: expected 1, got 0"],
    ),
]


@pytest.mark.parametrize(("rest", "differences"), WRONG)
def test_what_is_expected_and_does_not_come(
    talking: Script, rest: str, differences: list[str]
) -> None:
    talking.goes("write(5, ..., 3) = 3")
    assert talking.says(f"recvmsg(4, {rest}") == differences


def test_zero_copy_is_reported_done(script: Script) -> None:
    script.process = Script(CMSG_LEVEL_IP="SOL_IP", CMSG_TYPE_RECVERR="IP_RECVERR").process
    script.talks()
    queue = f"recvmsg(5, {{{EMPTY}, msg_flags=MSG_ERRQUEUE, msg_control=[%s]}}, MSG_ERRQUEUE) = %s"
    script.goes(queue % ("", "-1 EAGAIN (Resource temporarily unavailable)"))
    script.goes("setsockopt(5, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0")
    script.goes("send(5, ..., 4000, MSG_ZEROCOPY) = 4000")
    script.goes("poll([{fd=5, events=POLLERR, revents=POLLERR}], 1, 5000) = 1")
    script.goes(queue % (COMPLETION % 0, 0))
    script.goes("send(5, ..., 4000, MSG_ZEROCOPY) = 4000")
    script.goes("poll([{fd=5, events=POLLERR, revents=POLLERR}], 1, 5000) = 1")
    assert script.says(queue % (COMPLETION.replace("ee_info=0", "ee_info=2") % 3, 0)) == [
        "ee_info in control message 0: expected 2, got 1",
        "ee_data in control message 0: expected 3, got 1",
    ]


def test_the_time_of_an_acknowledgement(talking: Script) -> None:
    talking.goes(
        "setsockopt(5, SOL_SOCKET, SO_TIMESTAMPING, [SOF_TIMESTAMPING_TX_ACK|"
        "SOF_TIMESTAMPING_SOFTWARE|SOF_TIMESTAMPING_OPT_ID|SOF_TIMESTAMPING_OPT_TSONLY], 4) = 0"
    )
    queue = (
        "recvmsg(5, {msg_iov(1)=[{..., 0}], msg_flags=MSG_ERRQUEUE, msg_control=["
        "{cmsg_level=SOL_SOCKET, cmsg_type=SCM_TIMESTAMPING,"
        " cmsg_data={scm_sec=%d, scm_nsec=%d}},"
        "{cmsg_level=SOL_IP, cmsg_type=IP_RECVERR, cmsg_data={ee_errno=ENOMSG,"
        " ee_origin=SO_EE_ORIGIN_TIMESTAMPING, ee_type=0, ee_code=0,"
        " ee_info=SCM_TSTAMP_ACK, ee_data=%d}}]}, MSG_ERRQUEUE) = 0"
    )
    talking.process.begin(time.time_ns() - 2 * 10**9, PATIENCE * 10**9)
    for times, last in (((2, 0), 9), ((0, 0), 19)):
        talking.goes("write(5, ..., 10) = 10")
        talking.goes("poll([{fd=5, events=POLLERR, revents=POLLERR}], 1, 5000) = 1")
        talking.goes(queue % (*times, last))
    talking.goes("write(5, ..., 10) = 10")
    talking.goes("poll([{fd=5, events=POLLERR, revents=POLLERR}], 1, 5000) = 1")
    (found,) = talking.says(queue % (100, 0, 29))
    assert found.startswith(
        "time, in seconds from the script's start, in control message 0: expected 100.000000, got "
    )


def messages(line: str) -> list[control.Message]:
    """Of `[{cmsg_level=, ...}]`."""
    return control.from_script(call_of(f"f({line}) = 0").arguments[0], Values({}))


STATISTICS = (
    "[{cmsg_level=SOL_SOCKET, cmsg_type=SCM_TIMESTAMPING_OPT_STATS, cmsg_data={"
    "TCP_NLA_BUSY=%s, TCP_NLA_SND_CWND=%s, TCP_NLA_CA_STATE=%s}}]"
)


@pytest.mark.parametrize(
    ("expected", "actual", "differences"),
    [
        ((1000, 10, 0), (1000, 10, 0), []),
        ((1000, 10, 0), (4000, 10, 0), []),
        (("...", "...", "..."), (9, 9, 9), []),
        ((0, 10, 0), (1, 10, 0), ["TCP_NLA_BUSY in control message 0: expected 0, got 1"]),
        (
            (1000, 10, 0),
            (9000, 11, 1),
            [
                "TCP_NLA_BUSY in control message 0: expected 1000, got 9000",
                "TCP_NLA_SND_CWND in control message 0: expected 10, got 11",
                "TCP_NLA_CA_STATE in control message 0: expected 0, got 1",
            ],
        ),
    ],
)
def test_statistics_with_a_timestamp(
    script: Script, expected: object, actual: object, differences: list[str]
) -> None:
    sides = messages(STATISTICS % expected), messages(STATISTICS % actual)
    state: State = script.process._state
    assert [str(each) for each in control.compare(*sides, state)] == differences


def test_statistics_of_another_kind(script: Script) -> None:
    one, other = (
        messages(STATISTICS % (1, 2, 3)),
        messages((STATISTICS % (1, 2, 3)).replace("SND_CWND", "MIN_RTT")),
    )
    assert [str(each) for each in control.compare(one, other, script.process._state)] == [
        "attribute in control message 0: expected TCP_NLA_SND_CWND, got TCP_NLA_MIN_RTT"
    ]


def test_a_message_of_another_kind(script: Script) -> None:
    inq = "[{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=1}]"
    for other, difference in (
        ("[{cmsg_level=SOL_IP, cmsg_type=TCP_CM_INQ, cmsg_data=1}]", "level"),
        ("[{cmsg_level=SOL_TCP, cmsg_type=1, cmsg_data=1}]", "type"),
        ("[{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data={scm_sec=1,scm_nsec=1}}]", "leng"),
    ):
        sides = messages(inq), messages(other)
        (found,) = control.compare(*sides, script.process._state)
        assert found.what.startswith(difference)


@given(st.lists(st.builds(control.Message, st.just(SOL_SOCKET), st.integers(0, 99), st.binary())))
def test_what_is_packed_is_unpacked(sent: list[control.Message]) -> None:
    assert control.unpack(control.pack(sent)) == sent


@given(st.binary(max_size=200))
def test_any_bytes_are_unpacked(data: bytes) -> None:
    assert len(control.unpack(data)) <= len(data) // struct.calcsize("@Nii")


REFUSED = [
    ("sendmsg(5, {msg_iov(1)=[{..., 1}], msg_flags=MSG_MORE}, 0) = 1", "ignores msg_flags"),
    ("sendmsg(5, {msg_iov(2)=[{..., 1}], msg_flags=0}, 0) = 1", "announces 2 pieces, but has 1"),
    ("sendmsg(5, {msg_iov=[{..., 1}], msg_flags=0}, 0) = 1", r"is not msg_iov\(count\)"),
    ("sendmsg(5, {msg_iov(1)=[{..., 1}]}, 0) = 1", "is not {msg_name"),
    ("sendmsg(5, {msg_name(4)=4, msg_iov(0)=[], msg_flags=0}, 0) = 1", "is not msg_name"),
    ("recvmsg(5, {msg_iov(0)=[], msg_flags=0, msg_control=5}, 0) = 1", r"5 is not \[{cmsg_level"),
    ("recvmsg(5, {msg_iov(0)=[], msg_flags=0, msg_control=[{a=1}]}, 0) = 1", "is not {cmsg_level"),
]


@pytest.mark.parametrize(("line", "problem"), REFUSED)
def test_what_cannot_be_called_at_all(talking: Script, line: str, problem: str) -> None:
    with pytest.raises(CallError, match=problem):
        talking.prepare(line)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("{TCP_NLA_CA_STATE=256}", "256 does not fit into the 8 bits of TCP_NLA_CA_STATE"),
        ("{TCP_NLA_CA_STAT=2}", "unknown constant 'TCP_NLA_CA_STAT'"),
        ("{TOTAL=2}", "TOTAL=2 is not TCP_NLA_"),
        ("{scm_sec=2}", "is not {scm_sec=, scm_nsec=}"),
    ],
)
def test_statistics_that_do_not_exist(data: str, problem: str) -> None:
    with pytest.raises(CallError, match=problem):
        messages(f"[{{cmsg_level=1, cmsg_type=54, cmsg_data={data}}}]")

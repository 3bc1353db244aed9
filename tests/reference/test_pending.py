"""The account of pending fast opens: limits, resets, and the law that it never falls below zero."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_tfo import option as opt
from scapy_tfo.reference import Settings
from scapy_tfo.reference.parts.pending import ClientPending, Pending, Ticket
from scapy_tfo.segment import ACK, FIN, RST, SYN

from .wire import CLIENT, ISN, OTHER, Script


def open_fast(script: Script, port: int, **fields: object) -> bool:
    """Try a fast open; whether it was one."""
    client = fields.get("src", CLIENT)
    option = opt.push_options([opt.fast_open(script.cookie(client))])
    answer = script.syn(b"data", options=option, sport=port, **fields)
    assert answer.fast_open == ()
    return answer.ack == ISN + 5


def test_over_the_limit_it_falls_back_and_comes_back() -> None:
    script = Script(fast_open=2)
    assert [open_fast(script, port) for port in (1, 2, 3)] == [True, True, False]
    assert script.stack.counters["TCPFastOpenListenOverflow"] == 1
    script.send(ACK, sport=1, seq=ISN + 5, ack=script.events[0].connection.send.nxt)
    assert [open_fast(script, port) for port in (4, 5)] == [True, False]


def test_over_the_limit_no_cookie_is_granted_and_plain_connections_live() -> None:
    script = Script(fast_open=1)
    open_fast(script, 1)
    answer = script.syn(sport=2, options=opt.push_options([opt.fast_open()]))
    assert answer.fast_open == ()
    script.establish(answer, sport=2, data=b"plain")
    assert script.received == b"data" + b"plain"


def test_a_reset_one_counts_until_its_timeout() -> None:
    script = Script(fast_open=1)
    open_fast(script, 1)
    assert script.send(RST, sport=1, seq=ISN + 5) == []
    assert script.errors == ["ECONNRESET"]
    script.wait(59)
    assert not open_fast(script, 2)
    script.wait(1)
    assert open_fast(script, 3)


def test_a_reset_one_is_free_at_once_where_resets_count_for_no_time() -> None:
    script = Script(Settings(reset_timeout=0.0), fast_open=1)
    open_fast(script, 1)
    script.send(RST, sport=1, seq=ISN + 5)
    assert open_fast(script, 2)


def test_timeouts_and_aborts_give_their_count_back() -> None:
    script = Script(fast_open=1)
    open_fast(script, 1)
    script.wait(64)
    assert open_fast(script, 2)
    script.connection.abort(script.now)
    assert [a.flags for a in script.answers()] == [RST | ACK]
    assert open_fast(script, 3)


def test_reset_after_the_handshake_costs_nothing() -> None:
    script = Script(fast_open=1)
    open_fast(script, 1)
    script.send(ACK, sport=1, seq=ISN + 5, ack=script.connection.send.nxt)
    for _ in range(2):
        script.send(RST, sport=1, seq=ISN + 5)
    assert [open_fast(script, 2), open_fast(script, 3)] == [True, False]


def test_the_host_has_a_limit_of_its_own() -> None:
    script = Script(Settings(host_pending_limit=1))
    script.stack.listen(81, fast_open=16)
    assert [open_fast(script, 1), open_fast(script, 2, dport=81)] == [True, False]


def test_one_client_over_its_limit_leaves_the_others_fast_open() -> None:
    script = Script(Settings(client_pending_limit=1))
    assert [open_fast(script, 1), open_fast(script, 2)] == [True, False]
    assert open_fast(script, 1, src=OTHER)


def test_clients_are_forgotten_least_recent_first() -> None:
    account = ClientPending(1, size=2, reset_timeout=60)
    first, second, third = (CLIENT + n for n in range(3))
    for client in (first, second, first, third):
        pending = account.of(client)
        assert pending is not None
        Ticket((pending,))
    assert len(account) == 2
    assert [account.count(each, 0.0) for each in (first, second, third)] == [2, 0, 1]


def test_a_full_half_open_queue_does_not_count_fast_opens() -> None:
    script = Script(fast_open=4, backlog=1)
    assert [open_fast(script, port) for port in (1, 2)] == [True, True]
    script.syn(sport=3)
    assert script.send(SYN, sport=4) == []


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["add", "release", "reset", "wait"]), st.integers(0, 9)),
    max_size=40,
)


@given(OPERATIONS)
def test_the_count_is_what_was_opened_and_not_given_back(steps: list[tuple[str, int]]) -> None:
    pending = Pending(5, reset_timeout=10)
    tickets: list[Ticket] = []
    ends: list[float | None] = []
    now = 0.0
    for name, number in steps:
        if name == "add":
            tickets.append(Ticket((pending,)))
            ends.append(None)
        elif name == "wait":
            now += number
        elif tickets:
            index = number % len(tickets)
            ticket = tickets[index]
            ticket.release() if name == "release" else ticket.reset(now)
            if ends[index] is None:
                ends[index] = now if name == "release" else now + 10
        counted = sum(end is None or end > now for end in ends)
        assert pending.count(now) == counted >= 0
        assert pending.admits(now) == (counted < 5)


SEGMENTS = st.lists(
    st.tuples(
        st.sampled_from(["open", "ack", "rst", "fin", "syn", "abort", "close", "wait"]),
        st.integers(1, 4),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(SEGMENTS)
def test_no_sequence_of_segments_loses_or_gains_a_count(steps: list[tuple[str, int]]) -> None:
    script = Script(fast_open=3)
    option = opt.push_options([opt.fast_open(script.cookie())])
    for name, port in steps:
        live = [c for c in script.stack.connections.values() if c.remote[1] == port]
        ack = live[0].send.nxt if live else 0
        if name in ("open", "syn"):
            options = option if name == "open" else b""
            script.send(SYN, sport=port, payload=b"data", options=options)
        elif name in ("ack", "fin"):
            flags = ACK if name == "ack" else ACK | FIN
            script.send(flags, sport=port, seq=ISN + 5, ack=ack)
        elif name == "rst":
            script.send(RST, sport=port, seq=ISN + 5)
        elif name == "wait":
            script.wait(port * 20)
        elif live:
            live[0].abort(script.now) if name == "abort" else live[0].close(script.now)
        assert 0 <= script.listener.pending.count(script.now) <= 3
    script.wait(1000)
    assert script.listener.pending.count(script.now) == 0
    assert open_fast(script, 9)

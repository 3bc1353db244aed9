"""The running kernel as a target: the wire and the hooks agree."""

from __future__ import annotations

import asyncio
import errno
import os
import signal

import pytest

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.lab.apps import pattern
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.kernel.target import LinuxLab
from scapy_tfo.segment import ACK, FIN, RST

both_families = pytest.mark.parametrize("family", [4, 6])
both_ways = pytest.mark.parametrize("tun", [True, False], ids=["tun", "veth"])


@both_families
@both_ways
def test_data_in_the_syn_is_echoed_before_the_handshake_ends(converse, family, tun):
    async def talk(wire):
        port = wire.lab.ports["echo"]
        cookie = await wire.cookie(family, port)
        assert len(cookie) == 8
        client = wire.client(family, port)
        client.syn(cookie, b"hello")
        syn_ack = await client.receive()
        assert syn_ack.is_syn_ack
        assert syn_ack.ack == client.seq
        assert syn_ack.checksum is None, "right on the wire"
        assert (await client.receive()).payload == b"hello"
        last = (await wire.lab.hooks.sessions(port))[-1]
        assert (last.peer, last.received) == ((str(client.src), client.sport), b"hello")
        assert not last.closed

    converse(talk, tun=tun)


@both_families
def test_the_plain_listener_ignores_the_option(converse, family):
    async def talk(wire):
        client = wire.client(family, wire.lab.ports["plain"])
        client.syn()
        assert (await client.receive()).cookie is None

    converse(talk)


@both_ways
def test_what_was_sent_counts_as_seen_when_sessions_are_asked_for(converse, tun):
    async def talk(wire):
        port = await wire.lab.hooks.listen(ListenerOptions("mute"))
        cookie = await wire.cookie(4, port)
        for number in range(20):
            client = wire.client(4, port)
            client.syn(cookie, b"%d" % number)
            assert (await wire.lab.hooks.sessions(port))[-1].received == b"%d" % number

    converse(talk, tun=tun)


def test_end_of_stream_is_counted_once_and_the_echo_closes(converse):
    async def talk(wire):
        port = wire.lab.ports["echo"]
        client = wire.client(4, port)
        client.syn(await wire.cookie(4, port), b"all of it")
        await client.receive()
        client.send(ACK)
        assert await client.read(9) == b"all of it"
        client.send(FIN | ACK)
        answer = await client.receive()
        while not answer.is_fin:
            answer = await client.receive()
        client.send(ACK)
        session = (await wire.lab.hooks.sessions(port))[-1]
        assert (session.eof, session.error, session.closed) == (1, "", True)

    converse(talk)


def test_a_reset_in_syn_rcvd_is_told_by_name(converse):
    async def talk(wire):
        port = await wire.lab.hooks.listen(ListenerOptions("mute"))
        client = wire.client(4, port)
        client.syn(await wire.cookie(4, port), b"then reset")
        await client.receive()
        assert (await wire.lab.hooks.sessions(port))[-1].error == ""
        client.reset()
        session = (await wire.lab.hooks.sessions(port))[-1]
        assert (session.received, session.error) == (b"then reset", "ECONNRESET")

    converse(talk)


@pytest.mark.parametrize(
    ("app", "segments"),
    [
        ("close", [(FIN, b"")]),
        ("send-close:20", [(0, pattern(20)), (FIN, b"")]),
        ("two-sends:20", [(0, pattern(20)), (0, pattern(20)), (FIN, b"")]),
        ("send:20", [(0, pattern(20)), (0, b"hello")]),
        ("abort", [(RST, b"")]),
    ],
)
def test_applications_act_before_the_handshake_ends(converse, app, segments):
    async def talk(wire):
        port = await wire.lab.hooks.listen(ListenerOptions(app))
        client = wire.client(4, port)
        client.syn(await wire.cookie(4, port), b"hello")
        await client.receive()
        for flags, payload in segments:
            segment = await client.receive()
            assert (segment.flags & (FIN | RST), segment.payload) == (flags, payload)

    converse(talk)


def test_counters_move_with_what_happens(converse):
    async def talk(wire):
        port = wire.lab.ports["echo"]
        before = await wire.lab.hooks.counters()
        cookie = await wire.cookie(4, port)
        client = wire.client(4, port)
        client.syn(cookie, b"x")
        await client.receive()
        wrong = wire.client(4, port)
        wrong.syn(bytes(8), b"x")
        await wrong.receive()
        after = await wire.lab.hooks.counters()
        moved = {name: after[name] - before[name] for name in after if after[name] != before[name]}
        assert moved == {
            "TCPFastOpenCookieReqd": 1,
            "TCPFastOpenPassive": 1,
            "TCPFastOpenPassiveFail": 1,
        }

    converse(talk)


def test_keys_rotate_from_primary_to_backup_to_refused(converse):
    async def talk(wire):
        old, new = bytes(range(16)), bytes(range(16, 32))
        hooks = wire.lab.hooks
        port = await hooks.listen(ListenerOptions(keys=[old]))
        cookie = await wire.cookie(4, port)

        async def taken():
            client = wire.client(4, port)
            client.syn(cookie, b"data")
            answer = await client.receive()
            client.reset()
            return answer.ack == client.seq

        assert await taken()
        await hooks.set_keys(port, [new, old])
        assert await taken()
        assert await wire.cookie(4, port) != cookie
        await hooks.set_keys(port, [new])
        assert not await taken()

    converse(talk)


@both_families
def test_host_and_listener_keys_of_the_same_bytes_give_the_same_cookie(converse, family):
    async def talk(wire):
        key = bytes(range(100, 116))
        hooks = wire.lab.hooks
        await hooks.set_host_keys([key])
        port = await hooks.listen(ListenerOptions(keys=[key]))
        by_host = await wire.cookie(family, wire.lab.ports["echo"])
        assert by_host == await wire.cookie(family, port)

    converse(talk)


def test_a_closed_listener_keeps_its_connections_and_their_record(converse):
    async def talk(wire):
        hooks = wire.lab.hooks
        port = await hooks.listen(ListenerOptions())
        client = wire.client(4, port)
        client.syn(await wire.cookie(4, port), b"one")
        await client.receive()
        client.send(ACK)
        await client.read(3)
        await hooks.close_listener(port)
        client.send(ACK, b" two")
        assert await client.read(4) == b" two"
        assert (await hooks.sessions(port))[-1].received == b"one two"
        late = wire.client(4, port)
        late.syn(None)
        assert (await late.receive()).is_rst

    converse(talk)


def test_the_http_listener_answers_a_request_in_the_syn(converse):
    async def talk(wire):
        port = wire.lab.ports["http"]
        client = wire.client(4, port)
        request = b"GET /bytes/3000 HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n"
        client.syn(await wire.cookie(4, port), request)
        await client.receive()
        client.send(ACK)
        answer = await client.read(3000)
        while not answer.endswith(pattern(3000)):
            answer += await client.read(1)
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"Content-Length: 3000\r\n" in answer

    converse(talk)


def test_sysctls_reach_the_namespace_and_a_wrong_one_is_a_setup_error(converse):
    async def talk(wire):
        client = wire.client(4, wire.lab.ports["echo"])
        client.syn()
        assert (await client.receive()).cookie is None

    converse(talk, sysctls={"net.ipv4.tcp_fastopen": "1"})
    with pytest.raises(SetupError, match=r"net\.ipv4\.no_such_thing"):
        asyncio.run(LinuxLab.start(sysctls={"net.ipv4.no_such_thing": "1"}))


def test_a_plain_listener_is_one_where_the_kernel_turns_fast_open_on_everywhere(converse):
    async def talk(wire):
        for port, granted in (("echo", True), ("plain", False)):
            client = wire.client(4, wire.lab.ports[port])
            client.syn()
            assert bool((await client.receive()).cookie) == granted, port

    converse(talk, sysctls={"net.ipv4.tcp_fastopen": "0x407"})


def test_a_host_without_ipv6_has_a_target_all_the_same(converse, monkeypatch):
    monkeypatch.setattr("scapy_tfo.lab.kernel.target.host_families", lambda: (4,))

    async def talk(wire):
        assert set(wire.lab.addresses) == {4}
        assert {source.version for source in wire.link.sources} == {4}
        assert await wire.cookie(4, wire.lab.ports["echo"])

    converse(talk)


def test_what_the_agent_refuses_is_a_value_error(converse):
    async def talk(wire):
        hooks = wire.lab.hooks
        with pytest.raises(ValueError, match="no application 'nonsense'"):
            await hooks.listen(ListenerOptions("nonsense"))
        with pytest.raises(ValueError, match="no listener on port 9"):
            await hooks.sessions(9)
        with pytest.raises(ValueError, match=os.strerror(errno.EINVAL)):
            await hooks.set_keys(wire.lab.ports["echo"], [b"short"])
        assert await hooks.listen(ListenerOptions()), "and goes on"

    converse(talk)


def test_a_dead_agent_is_a_target_error_and_closing_is_harmless(converse):
    async def talk(wire):
        agent = wire.lab._agent._process.pid
        os.kill(agent, signal.SIGSTOP)
        under_way = asyncio.ensure_future(wire.lab.hooks.counters())
        await asyncio.sleep(0)
        os.kill(agent, signal.SIGKILL)
        with pytest.raises(TargetError, match="ended"):
            await under_way
        with pytest.raises(TargetError, match="ended"):
            await wire.lab.hooks.counters()
        wire.lab.close()
        wire.lab.close()

    converse(talk)


def test_a_closed_lab_says_so(converse):
    async def talk(wire):
        wire.lab.close()
        with pytest.raises(TargetError, match="closed"):
            await wire.lab.hooks.counters()

    converse(talk)

"""nginx and haproxy as targets: a page fetched with the request in the SYN."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.apps import pattern
from scapy_tfo.lab.kernel.servers import BIG, SERVERS, RealServerLab
from scapy_tfo.segment import ACK

every_server = pytest.mark.parametrize("name", sorted(SERVERS))


def _get(path):
    return f"GET {path} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n".encode()


@every_server
@pytest.mark.parametrize("family", [4, 6])
def test_a_get_in_the_syn_is_answered_before_the_handshake_ends(converse, name, family):
    async def talk(wire):
        port = wire.lab.ports["http"]
        client = wire.client(family, port)
        client.syn(await wire.cookie(family, port), _get("/"))
        assert (await client.receive()).ack == client.seq
        answer = (await client.receive()).payload
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.endswith(b"scapy-tfo lab\n")
        assert (await wire.lab.hooks.counters())["TCPFastOpenPassive"] == 1

    converse(talk, lambda: RealServerLab.start(name))


@every_server
def test_a_host_without_ipv6_has_its_servers_all_the_same(converse, monkeypatch, name):
    for module in ("target", "servers"):
        monkeypatch.setattr(f"scapy_tfo.lab.kernel.{module}.host_families", lambda: (4,))

    async def talk(wire):
        assert await wire.cookie(4, wire.lab.ports["http"])

    converse(talk, lambda: RealServerLab.start(name))


@every_server
def test_the_bigger_file_comes_whole(converse, name):
    async def talk(wire):
        client = wire.client(4, wire.lab.ports["http"])
        client.syn(None)
        await client.receive()
        client.send(ACK, _get(f"/bytes/{BIG}"))
        answer = b""
        while not answer.endswith(pattern(BIG)):
            answer += await client.read(1)
        assert answer.startswith(b"HTTP/1.1 200 ")

    converse(talk, lambda: RealServerLab.start(name))


def test_a_server_that_is_not_installed_is_a_setup_error_with_its_package(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(SetupError, match="apt-get install nginx-light"):
        asyncio.run(RealServerLab.start("nginx"))


def test_an_unknown_server_is_a_setup_error():
    with pytest.raises(SetupError, match="no server 'apache'"):
        asyncio.run(RealServerLab.start("apache"))


def test_a_server_that_does_not_start_says_why(monkeypatch):
    server = SERVERS["nginx"]
    broken = type(server)(server.arguments, "no such directive;", server.package)
    monkeypatch.setitem(SERVERS, "nginx", broken)

    async def start():
        await RealServerLab.start("nginx")

    with pytest.raises(SetupError) as caught:
        asyncio.run(start())
    if "did not start" not in str(caught.value):
        pytest.skip(str(caught.value))
    assert 'unknown directive "no"' in str(caught.value)

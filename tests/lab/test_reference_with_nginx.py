"""The reference client and nginx on the kernel: the page comes with the first answer."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address

import pytest
from recorded import Recorded, seen_by_tshark

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.apps import pattern
from scapy_tfo.lab.kernel.servers import BIG, RealServerLab
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.reference import Stack

PATIENCE = 10.0
SYN, SYN_ACK = "0x0002", "0x0012"
PAGE = b"scapy-tfo lab\n"

each_family = pytest.mark.parametrize("family", [4, 6])


class Client:
    """A reference host at our end of nginx's network. recorded: every packet of its."""

    def __init__(self, lab: RealServerLab, family: int) -> None:
        self.lab = lab
        self.recorded = Recorded(lab.link)
        self.host = ReferenceHost.on(self.recorded, Stack(lab.link.sources))
        self._address = lab.addresses[family]

    async def get(self, path: str) -> bytes:
        """The body of the page there."""
        request = f"GET {path} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n".encode()
        async with asyncio.timeout(PATIENCE):
            answer = await self.host.fetch(self._address, self.lab.ports["http"], request)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        return body


def run(talk, family):
    """Runs a conversation `async def talk(client)`; skips where there can be no nginx."""

    async def whole():
        try:
            lab = await RealServerLab.start("nginx")
        except SetupError as error:
            pytest.skip(str(error))
        async with lab:
            client = Client(lab, family)
            try:
                return await talk(client)
            finally:
                client.host.close()

    return asyncio.run(whole())


@each_family
def test_the_second_page_is_asked_for_in_the_syn(family, tmp_path):
    async def talk(client):
        assert await client.get("/") == PAGE
        assert await client.get("/") == PAGE
        return client, await client.lab.hooks.counters(), await client.host.counters()

    client, kernel, ours = run(talk, family)

    first, second = client.recorded.connections()
    syn, syn_ack = first[:2]
    assert [each.is_request for each in syn.fast_open] == [True]
    assert not syn.payload
    assert syn_ack.ack == syn.seq + 1
    (given,) = syn_ack.fast_open
    assert len(given.cookie) == 8

    syn, syn_ack = second[:2]
    assert syn.fast_open == (given,)
    assert syn.payload.startswith(b"GET / ")
    assert syn_ack.is_syn_ack
    assert syn_ack.ack == syn.end
    assert not syn_ack.fast_open

    assert (kernel["TCPFastOpenCookieReqd"], kernel["TCPFastOpenPassive"]) == (1, 1)
    assert (ours["TCPFastOpenActive"], ours["TCPFastOpenActiveFail"]) == (1, 0)

    rows = seen_by_tshark(
        tmp_path / "nginx.pcapng",
        client.recorded,
        *("tcp.flags", "tcp.options.tfo.request", "tcp.options.tfo.cookie", "tcp.len"),
    )
    assert len(rows) == len(client.recorded.packets)
    cookie = given.cookie.hex()
    with_option = [row for row in rows if row[1] or row[2]]
    assert with_option == [
        (SYN, "1", "", "0"),
        (SYN_ACK, "", cookie, "0"),
        (SYN, "", cookie, str(len(syn.payload))),
    ]


@each_family
def test_a_bigger_file_comes_whole_with_and_without_fast_open(family):
    async def talk(client):
        return [await client.get(f"/bytes/{BIG}") for _ in range(3)], await client.host.counters()

    bodies, ours = run(talk, family)
    assert all(body == pattern(BIG) for body in bodies)
    assert ours["TCPFastOpenActive"] == 2


def test_a_port_where_nobody_listens_refuses():
    async def talk(client):
        async with asyncio.timeout(PATIENCE):
            await client.host.fetch(client.lab.addresses[4], 81, b"hello")

    with pytest.raises(ConnectionRefusedError):
        run(talk, 4)


def test_an_address_of_a_family_that_the_host_lacks_is_a_mistake():
    async def talk():
        host = ReferenceHost(Stack([ip_address("192.0.2.10")]), lambda _packet: None)
        await host.fetch(ip_address("fd00:7413::1"), 80, b"")

    with pytest.raises(ValueError, match="no IPv6 address"):
        asyncio.run(talk())

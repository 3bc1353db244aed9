"""curl on the kernel and the reference server: the request comes in the SYN."""

from __future__ import annotations

import asyncio

import pytest
from recorded import Recorded, seen_by_tshark

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.apps import pattern
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.kernel.programs import ProgramLab
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.reference import Stack

PORT = 80
PAGE = b"scapy-tfo lab\n"
MEGABYTE = 1 << 20
NOT_SET = ("0", "False")
"""A flag, as tshark writes it before and from 4.2 on."""

each_family = pytest.mark.parametrize("family", [4, 6])


class Server:
    """A reference host with a web server, at our end of a namespace that curl runs in."""

    def __init__(self, lab: ProgramLab, family: int) -> None:
        self.lab = lab
        self.recorded = Recorded(lab.link)
        self.host = ReferenceHost.on(self.recorded, Stack(lab.link.sources))
        address = next(each for each in lab.link.sources if each.version == family)
        self._url = f"http://{f'[{address}]' if family == 6 else address}"

    async def curl(self, path: str, *options: str) -> bytes:
        """The page as curl got it."""
        done = await self.lab.run(
            *("curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "10"),
            *("--tcp-fastopen", *options, f"{self._url}{path}"),
        )
        assert done.status == 0, done.errors
        return done.output


def run(talk, family, queue=16):
    """Runs a conversation `async def talk(server)`; skips where curl or namespaces are missing."""

    async def whole():
        try:
            lab = await ProgramLab.start()
        except SetupError as error:
            pytest.skip(str(error))
        async with lab:
            server = Server(lab, family)
            await server.host.listen(ListenerOptions("http", queue=queue), PORT)
            try:
                return await talk(server)
            except SetupError as error:
                pytest.skip(str(error))
            finally:
                server.host.close()

    return asyncio.run(whole())


@each_family
def test_the_second_and_third_request_come_in_the_syn(family, tmp_path):
    async def talk(server):
        assert [await server.curl("/") for _ in range(3)] == [PAGE] * 3
        return server, await server.lab.hooks.counters(), await server.host.counters()

    server, kernel, ours = run(talk, family)

    first, *others = server.recorded.connections()
    syn, syn_ack = first[:2]
    assert [each.is_request for each in syn.fast_open] == [True]
    (given,) = syn_ack.fast_open
    assert len(given.cookie) == 8
    assert syn_ack.ack == syn.seq + 1

    assert len(others) == 2
    for syn, syn_ack, *rest in others:
        assert syn.fast_open == (given,)
        assert syn.payload.startswith(b"GET / ")
        assert syn_ack.is_syn_ack
        assert syn_ack.ack == syn.end
        # The page follows the SYN-ACK, and the handshake's ACK comes after both.
        assert rest[0].src == syn_ack.src
        assert rest[0].payload.endswith(PAGE)

    assert kernel["TCPFastOpenActive"] == 2
    assert kernel["TCPFastOpenActiveFail"] == 0
    assert (ours["TCPFastOpenCookieReqd"], ours["TCPFastOpenPassive"]) == (1, 2)
    assert ours["TCPFastOpenPassiveFail"] == 0

    rows = seen_by_tshark(
        tmp_path / "curl.pcapng",
        server.recorded,
        *("tcp.options.tfo.cookie", "tcp.flags.ack", "tcp.len"),
    )
    fast = [
        int(size) for cookie, ack, size in rows if cookie == given.cookie.hex() and ack in NOT_SET
    ]
    assert fast == [len(each[0].payload) for each in others]


@each_family
def test_with_fast_open_off_curl_gets_its_page_all_the_same(family):
    async def talk(server):
        assert [await server.curl("/") for _ in range(2)] == [PAGE] * 2
        return server, await server.lab.hooks.counters()

    server, kernel = run(talk, family, queue=0)
    assert kernel["TCPFastOpenActive"] == 0
    assert not any(each.fast_open for each in server.recorded.segments if each.sport == PORT)


@each_family
def test_a_megabyte_comes_byte_for_byte(family):
    async def talk(server):
        bodies = [await server.curl(f"/bytes/{MEGABYTE}") for _ in range(2)]
        return bodies, await server.host.counters()

    bodies, ours = run(talk, family)
    assert all(body == pattern(MEGABYTE) for body in bodies)
    assert ours["TCPFastOpenPassive"] == 1

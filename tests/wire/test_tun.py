"""TUN devices from both sides: holding the descriptor, and seeing the interface."""

from __future__ import annotations

import asyncio
import os
import socket
from ipaddress import ip_address

import pytest

from scapy_tfo import option as opt
from scapy_tfo.errors import SetupError
from scapy_tfo.segment import ACK, SYN, Segment
from scapy_tfo.wire.links.bare import BareLink
from scapy_tfo.wire.links.tun import TunLink, open_tun
from scapy_tfo.wire.ports import PortPool

from .conftest import Inbox, ip, listener, resets_sent


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize(
    ("kernel", "ours"), [("10.7.0.1/24", "10.7.0.2"), ("fd07::1/64 nodad", "fd07::2")]
)
def test_the_kernel_behind_a_tun_answers_to_the_source(kernel: str, ours: str) -> None:
    async def talk() -> None:
        dst, src = ip_address(kernel.partition("/")[0]), ip_address(ours)
        fd, name = open_tun()
        ip(f"address add {kernel} dev {name}")
        ip(f"link set {name} up")
        link = TunLink(fd, [src], 1500)
        inbox = Inbox(link)
        await link.prepare()
        with listener(dst) as server:
            syn = Segment(
                src=src,
                dst=dst,
                sport=link.reserve_port(src),
                dport=server.getsockname()[1],
                flags=SYN,
                options=opt.push_options([opt.fast_open()]),
            )
            answer = await inbox.answer(lambda: link.send(syn.to_bytes()), src)
            assert answer.cookie
            assert answer.checksum is None
        assert resets_sent() == 0
        with pytest.raises(ValueError, match="over the MTU of 1500"):
            link.send(bytes(1501))
        link.close()
        link.close()
        assert name not in [each for _, each in socket.if_nameindex()]

    asyncio.run(talk())


@pytest.mark.usefixtures("namespace")
def test_a_stack_that_holds_a_tun_is_reached_through_the_interface() -> None:
    async def talk() -> None:
        stack, name = open_tun("tun0")
        ip("link set tun0 addrgenmode none")
        ip("link set tun0 up")
        dst, src = ip_address("10.7.0.2"), ip_address("10.7.0.77")
        link = BareLink(name, [src], [dst])
        inbox = Inbox(link)
        await link.prepare()
        syn = Segment(src=src, dst=dst, sport=link.reserve_port(src), dport=80, flags=SYN)
        link.send(syn.to_bytes())
        assert os.read(stack, 2000) == syn.to_bytes()
        answer = Segment(src=dst, dst=src, sport=80, dport=syn.sport, flags=SYN | ACK, ack=1)
        os.write(stack, answer.to_bytes())
        assert await inbox.segment() == answer
        link.close()
        os.close(stack)

    asyncio.run(talk())


@pytest.mark.usefixtures("namespace")
def test_what_is_no_tun_and_what_is_down_is_refused() -> None:
    fd, _ = open_tun("tun0")
    ours, target = ip_address("10.7.0.77"), ip_address("10.7.0.2")
    with pytest.raises(SetupError, match="tun0 is down"):
        BareLink("tun0", [ours], [target])
    with pytest.raises(SetupError, match="lo does not carry bare IP"):
        BareLink("lo", [ours], [target])
    with pytest.raises(SetupError, match="cannot make a TUN device"):
        open_tun("tun0")
    os.close(fd)


def test_ports_come_in_turn_and_come_back() -> None:
    pool, ours = PortPool(), ip_address("10.7.0.77")
    first = pool.reserve(ours)
    others = {pool.reserve(ours) for _ in range(28231)}
    assert len(others | {first}) == 28232
    with pytest.raises(SetupError, match=r"no port of 10\.7\.0\.77 is left"):
        pool.reserve(ours)
    pool.release(ours, first)
    assert pool.reserve(ours) == first
    with pytest.raises(KeyError):
        pool.release(ours, 80)

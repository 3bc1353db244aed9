"""A link from the host's own addresses: the kernel does not interfere, and nothing is left."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from ipaddress import ip_address
from pathlib import Path

import pytest

from scapy_tfo import option as opt
from scapy_tfo.icmp import IcmpError, unreachable
from scapy_tfo.segment import ACK, SYN, Address, Segment
from scapy_tfo.wire.links.choose import open_link
from scapy_tfo.wire.links.host import HostLink
from scapy_tfo.wire.port_guard import PortGuard

from .conftest import Inbox, Namespace, ip, listener, resets_sent

ENDS = [
    pytest.param("127.0.0.1", "127.0.0.1", id="ipv4"),
    pytest.param("127.0.0.1", "127.0.0.2", id="ipv4-second-source"),
    pytest.param("::1", "::1", id="ipv6"),
]


def cookie_request(src: Address, sport: int, dst: Address, dport: int) -> Segment:
    options = opt.push_options([opt.mss(1460), opt.fast_open()])
    return Segment(src=src, dst=dst, sport=sport, dport=dport, seq=1000, flags=SYN, options=options)


@pytest.mark.parametrize(("target", "source"), ENDS)
@pytest.mark.usefixtures("namespace")
def test_a_handshake_by_hand_draws_no_reset(target: str, source: str) -> None:
    async def talk() -> None:
        dst, src = ip_address(target), ip_address(source)
        with listener(dst) as server:
            link = HostLink([dst], [src])
            inbox = Inbox(link)
            await link.prepare()
            port = link.reserve_port(src)
            syn = cookie_request(src, port, dst, server.getsockname()[1])
            before = link.now()
            link.send(syn.to_bytes())
            packet, when = await inbox.packet()
            answer = Segment.from_bytes(packet)
            assert answer.is_syn_ack
            assert answer.ack == 1001
            assert len(answer.cookie or b"") == 8
            assert answer.checksum is None, "left to the hardware by the sender, finished by us"
            assert before - 0.1 < when < link.now() + 0.1
            # What was sent shows up on the loopback interface too; it is not an answer.
            assert await inbox.is_silent()
            done = Segment(
                src=src,
                dst=dst,
                sport=port,
                dport=answer.sport,
                seq=1001,
                ack=answer.end,
                flags=ACK,
                payload=b"hello",
            )
            link.send(done.to_bytes())
            accepted, peer = server.accept()
            with accepted:
                assert accepted.recv(100) == b"hello"
            assert peer[:2] == (source, port)
            assert resets_sent() == 0
            assert link.is_local
            link.close()
            link.close()

    asyncio.run(talk())


@pytest.mark.parametrize("family", ["inet", "inet6"])
def test_a_target_across_the_wire_is_reached_by_the_hosts_own_route(
    neighbour: Namespace, family: str
) -> None:
    async def talk() -> None:
        with neighbour.entered():
            shown = json.loads(ip("-j address show dev veth1"))[0]["addr_info"]
            here = {each["family"]: each["local"] for each in shown if each["local"][:2] != "fd"}
            server = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        dst = ip_address(here[family] + ("%veth0" if family == "inet6" else ""))
        with server:
            link = open_link(dst)
            assert not link.is_local
            inbox = Inbox(link)
            await link.prepare()
            src = link.sources[0]
            syn = Segment(
                src=src,
                dst=ip_address(here[family]),
                sport=link.reserve_port(src),
                dport=server.getsockname()[1],
                flags=SYN,
            )
            link.send(syn.to_bytes())
            answer = await inbox.syn_ack(src)
            assert answer.checksum is None
            assert resets_sent() == 0
            link.close()

    ip("address add 10.7.0.1/24 dev veth0")
    ip("address add fe80::77/64 dev veth0 nodad")
    asyncio.run(talk())


@pytest.mark.usefixtures("namespace")
def test_only_reserved_ports_are_heard() -> None:
    async def talk() -> None:
        here = ip_address("127.0.0.1")
        with listener(here) as server:
            link = HostLink([here], [here])
            inbox = Inbox(link)
            kept, released = link.reserve_port(here), link.reserve_port(here)
            link.release_port(here, released)
            for port in (released, kept):
                link.send(cookie_request(here, port, here, server.getsockname()[1]).to_bytes())
            assert (await inbox.segment()).dport == kept
            assert await inbox.is_silent()
            link.close()

    asyncio.run(talk())


@pytest.mark.usefixtures("namespace")
def test_icmp_errors_about_our_segments_are_heard_and_our_own_are_not() -> None:
    async def talk() -> None:
        here = ip_address("127.0.0.1")
        link = HostLink([here], [here])
        inbox = Inbox(link)
        port = link.reserve_port(here)
        ours = Segment(src=here, dst=here, sport=port, dport=80, flags=SYN).to_bytes()
        theirs = Segment(src=here, dst=here, sport=80, dport=port, flags=SYN | ACK).to_bytes()
        link.send(unreachable(theirs, code=3).to_bytes())
        link.send(unreachable(ours, code=3).to_bytes())
        packet, _ = await inbox.packet()
        error = IcmpError.from_bytes(packet)
        assert error is not None
        assert error.quoted == ours[:28]
        assert await inbox.is_silent()
        link.close()

    asyncio.run(talk())


@pytest.mark.usefixtures("namespace")
def test_it_sends_to_its_target_only_and_within_the_mtu() -> None:
    ip("link set lo mtu 1400")
    here = ip_address("127.0.0.1")
    link = HostLink([here], [here])
    elsewhere = Segment(src=here, dst=ip_address("127.0.0.9"), sport=1, dport=2)
    with pytest.raises(ValueError, match="not the target's"):
        link.send(elsewhere.to_bytes())
    with pytest.raises(ValueError, match="over the MTU of 1400"):
        link.send(Segment(src=here, dst=here, sport=1, dport=2, payload=bytes(1361)).to_bytes())
    link.close()


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize("source", ["127.0.0.1", "::1"])
def test_the_kernel_swallows_what_comes_to_a_guarded_port(source: str) -> None:
    guard = PortGuard(ip_address(source))
    family = socket.AF_INET if "." in source else socket.AF_INET6
    with socket.socket(family) as client:
        client.setblocking(False)
        assert client.connect_ex((source, guard.port)) == errno.EINPROGRESS
        time.sleep(0.02)
        assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    assert resets_sent() == 0
    with socket.socket(family) as other, pytest.raises(OSError, match="in use"):
        other.bind((source, guard.port))
    guard.close()
    with socket.socket(family) as client, pytest.raises(ConnectionRefusedError):
        client.connect((source, guard.port))
    assert resets_sent() == 1


@pytest.mark.usefixtures("namespace")
def test_a_released_port_rests_under_its_guard() -> None:
    here = ip_address("127.0.0.1")
    link = HostLink([here], [here])
    handed_out = []
    for _ in range(200):
        handed_out.append(link.reserve_port(here))
        link.release_port(here, handed_out[-1])
    assert len(set(handed_out)) == 200
    with socket.socket() as client:
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", handed_out[0]))
    assert resets_sent() == 0
    link.close()


KILLED = """
import asyncio, sys
from ipaddress import ip_address
from scapy_tfo.segment import SYN, Segment
from scapy_tfo.wire.links.choose import open_link

async def run(target, dport, iface=None, *sources):
    target = ip_address(target)
    link = open_link(target, iface=iface, sources=[ip_address(each) for each in sources])
    link.start(lambda packet, when: None)
    await link.prepare()
    source = link.sources[0]
    port = link.reserve_port(source)
    link.send(Segment(src=source, dst=target, sport=port, dport=int(dport), flags=SYN).to_bytes())
    print(port, flush=True)
    await asyncio.sleep(60)

asyncio.run(run(*sys.argv[1:]))
"""


def _killed_in_mid_run(*arguments: str) -> int:
    """Run until a segment is sent, kill -9, and return the port it was sent from."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, *arguments], stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        port = int(run.stdout.readline())
        assert _holders("packet") == 1
        os.kill(run.pid, signal.SIGKILL)
    return port


def _holders(table: str) -> int:
    return len(Path("/proc/thread-self/net", table).read_text().splitlines()) - 1


@pytest.mark.usefixtures("namespace")
def test_kill_9_in_mid_run_leaves_nothing() -> None:
    with listener(ip_address("127.0.0.1")) as server:
        port = _killed_in_mid_run("127.0.0.1", str(server.getsockname()[1]))
    assert _holders("packet") == _holders("raw") == 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", port))


def test_kill_9_leaves_nothing_on_the_interface(neighbour: Namespace) -> None:
    def joined() -> str:
        return Path("/proc/thread-self/net/dev_mcast").read_text()

    with neighbour.entered():
        server = listener(ip_address("fd07::2"))
    before = joined()
    with server:
        _killed_in_mid_run("fd07::2", str(server.getsockname()[1]), "veth0", "fd07::77")
    assert _holders("packet") == 0
    assert joined() == before
    assert json.loads(ip("-j -d link show veth0"))[0]["promiscuity"] == 0

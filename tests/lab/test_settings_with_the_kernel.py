"""The kernel as a client of the reference, with settings that are not the default."""

from __future__ import annotations

import asyncio
import sys

import pytest
from recorded import Recorded

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.kernel.programs import ProgramLab
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.reference import Md5Key, Settings, Stack, SynCookies, Undo
from scapy_tfo.reference.parts.signatures import MD5
from scapy_tfo.segment import ACK, CWR, ECE, SYN, Segment

PORT = 7
SIZE = 300_000
KEY = b"a key that both know"

CLIENT = """
import socket, struct, sys, threading
address, key, size, ecn = sys.argv[1], bytes.fromhex(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if ecn != "no":
    open("/proc/sys/net/ipv4/tcp_ecn", "w").write("1")
family = socket.AF_INET6 if ":" in address else socket.AF_INET
sock = socket.socket(family, socket.SOCK_STREAM)
if key:
    where = struct.pack("=HHI16sI", family, 0, 0, socket.inet_pton(family, address), 0)
    if family == socket.AF_INET:
        where = struct.pack("=HH4s", family, 0, socket.inet_aton(address))
    try:
        sock.setsockopt(
            socket.IPPROTO_TCP, 14, struct.pack("=128sBBHi80s", where, 0, 0, len(key), 0, key)
        )
    except OSError:
        sys.exit(77)
sock.settimeout(30)
sock.connect((address, 7))
text = bytes(i % 251 for i in range(size))
threading.Thread(target=lambda: (sock.sendall(text), sock.shutdown(1)), daemon=True).start()
back = bytearray()
while piece := sock.recv(65536):
    back += piece
print(back == text)
"""


def talk(family: int, settings: Settings, key: bytes = b"", ecn: str = "no") -> list[Segment]:
    """The kernel sends much and gets it back; the segments of both."""

    async def whole() -> list[Segment]:
        try:
            lab = await ProgramLab.start()
        except SetupError as error:
            pytest.skip(str(error))
        async with lab:
            recorded = Recorded(lab.link)
            host = ReferenceHost.on(recorded, Stack(lab.link.sources, settings))
            await host.listen(ListenerOptions("echo"), PORT)
            address = next(each for each in lab.link.sources if each.version == family)
            program = (sys.executable, "-c", CLIENT, str(address), key.hex(), str(SIZE), ecn)
            done = await lab.run(*program)
            host.close()
            if done.status == 77:
                pytest.skip("this kernel has no TCP MD5")
            assert done.status == 0, done.errors
            assert done.output.strip() == b"True"
            return recorded.segments

    return asyncio.run(whole())


each_family = pytest.mark.parametrize("family", [4, 6])


@each_family
def test_tcp_md5(family: int) -> None:
    segments = talk(family, Settings(signature=Md5Key(KEY)), KEY)
    assert all(each.option(MD5) is not None for each in segments)


@each_family
@pytest.mark.parametrize("stamped", [False, True])
def test_syn_cookies(family: int, stamped: bool) -> None:
    settings = Settings(syn_cookies=SynCookies.ALWAYS, syn_cookie_timestamps=stamped)
    segments = talk(family, settings)
    assert all(bool(each.timestamps) == stamped for each in segments if not each.is_syn)


@each_family
def test_ecn(family: int) -> None:
    segments = talk(family, Settings(ecn=True), ecn="yes")
    flags = [each.flags for each in segments[:2]]
    assert flags == [SYN | ECE | CWR, SYN | ACK | ECE]
    assert any(each.sport == PORT and each.traffic_class == 2 for each in segments)


@each_family
@pytest.mark.parametrize(
    "settings",
    [
        Settings(ack_delay=0.04, receive_window=20_000, dsack=True),
        Settings(keep_early_text=False, nagle=True, initial_window=1, undo=Undo.FRTO),
        Settings(ttl=3, dscp=46, ip_ids="random", flow_labels=True, advertised_mss=700),
        Settings(
            syn_ack_window=0, window_opens_after=0.05, syn_ack_delay=0.05, first_isn=2**32 - 9
        ),
    ],
)
def test_what_else_may_differ(family: int, settings: Settings) -> None:
    segments = talk(family, settings)
    ours = [each for each in segments if each.sport == PORT]
    assert {each.hop_limit for each in ours} == {settings.ttl}

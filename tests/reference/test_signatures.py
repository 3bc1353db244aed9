"""TCP MD5 (RFC 2385) and TCP-AO (RFC 5925) beside the Fast Open option."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scapy.layers.inet import IP, TCP, calc_tcp_md5_hash
from scapy.layers.inet6 import IPv6

from scapy_tfo import option as opt
from scapy_tfo.reference import AoKey, Md5Key, Settings, Stack, SynCookies
from scapy_tfo.reference.parts.signatures import AO, MD5, Signature, accepts_first
from scapy_tfo.segment import ACK, FIN, RST, SYN, Segment

from .wire import CLIENT, PORT, SERVER, Script, Wire

MD5_KEY = Md5Key(b"a key that both know")
AO_KEY = AoKey(b"testvector", 61, 84)
AO_PEER = AoKey(b"testvector", 84, 61)

# RFC 9235 sections 4.1.1 and 4.1.2: SYN and SYN-ACK, HMAC-SHA-1-96 over the options.
SYN_9235 = """
    45e0004cdd0f4000ff06bf6b0a0b0c0dac1b1c1de9d700b3fbfbab5a00000000e002ffffcac40000
    020405b4010303080402080a00155ab7000000001d103d542ee437c6f8ede6d7c4d602e7"""
SYN_ACK_9235 = """
    45e0004c65064000ff063775ac1b1c1d0a0b0c0d00b3e9d711c14261fbfbab5be012ffff37760000
    020405b4010303080402080a84a50beb00155ab71d10543deeab0fe24c3010815116b3be"""


def read(text: str) -> Segment:
    return Segment.from_bytes(bytes.fromhex("".join(text.split())))


def test_the_keys_and_macs_of_rfc_9235() -> None:
    syn, answer = read(SYN_9235), read(SYN_ACK_9235)
    client, server = syn.seq, answer.seq
    key = "6d63ef1b02fe1509d4b1402707fd7b0416abb74f"
    assert AO_KEY.traffic_key(syn, client, 0).hex() == key
    key = "d9e217e4834a80ca2f3fd8de2e41b8e6797fea96"
    assert AO_KEY.traffic_key(answer, server, client).hex() == key
    assert accepts_first(AO_PEER, syn)
    assert AO_KEY.accepts(answer, server, client)
    assert AO_KEY.sign(syn, client, 0) == syn
    assert not AO_PEER.accepts(replace(syn, window=1), client, 0)
    assert not AoKey(b"testvector", 84, 60).accepts(syn, client, 0), "another KeyID"


def test_options_may_be_left_out_of_the_mac() -> None:
    key = AoKey(b"k", covers_options=False)
    syn = Segment(src=CLIENT, dst=SERVER, sport=1, dport=2, flags=SYN)
    syn = key.sign(replace(syn, options=opt.push_options([opt.mss(1460)])), 0, 0)
    other = replace(syn, options=opt.push_options([opt.mss(1400)]) + syn.options[4:])
    assert key.accepts(other, 0, 0)
    assert not replace(key, covers_options=True).accepts(other, 0, 0)


@pytest.mark.parametrize("version", [4, 6])
def test_the_digest_is_the_one_that_scapy_computes(version: int) -> None:
    from ipaddress import ip_address

    ends = ("192.0.2.1", "192.0.2.2") if version == 4 else ("2001:db8::1", "2001:db8::2")
    segment = Segment(
        src=ip_address(ends[0]), dst=ip_address(ends[1]), sport=1, dport=2, payload=b"text"
    )
    signed = MD5_KEY.sign(segment, 0, 0)
    packet = (IP if version == 4 else IPv6)(signed.to_bytes())
    found = signed.option(MD5)
    assert found is not None
    assert found.data == calc_tcp_md5_hash(packet[TCP], MD5_KEY.key)


def stacks(server: Signature | None, client: Signature | None, **settings: object) -> Wire:
    ours = Settings(signature=server, **settings)  # type: ignore[arg-type]
    there, here = Stack([SERVER], ours, seed=1), Stack([CLIENT], Settings(signature=client), seed=2)
    there.listen(PORT, fast_open=8)
    return Wire(here, there)


def talk(wire: Wire, times: int = 2) -> bytes:
    """Connections one after another that say hello and end; what the server read."""
    client, server = wire.stacks
    for _ in range(times):
        connection = client.connect(CLIENT, SERVER, PORT, data=b"hello" * 1000, now=wire.now)
        connection.close(wire.now)
        wire.run(5)
        for each in list(server.connections.values()):
            each.close(wire.now)
        wire.run(5)
    return wire.received(server)


@pytest.mark.parametrize(
    ("server", "client", "kind"), [(MD5_KEY, MD5_KEY, MD5), (AO_PEER, AO_KEY, AO)]
)
def test_two_ends_with_a_key_talk_and_sign_everything(
    server: Signature, client: Signature, kind: int
) -> None:
    wire = stacks(server, client)
    assert talk(wire) == b"hello" * 2000
    assert all(each.option(kind) is not None for each in wire.log)
    assert all(len(each.to_bytes()) <= 1500 for each in wire.log)
    assert any(each.flags & FIN for each in wire.log)


@pytest.mark.parametrize(
    ("server", "client"),
    [(MD5_KEY, None), (MD5_KEY, Md5Key(b"wrong")), (AO_PEER, AO_PEER), (AO_PEER, MD5_KEY)],
)
def test_what_is_not_signed_or_signed_wrongly_is_dropped_in_silence(
    server: Signature, client: Signature | None
) -> None:
    wire = stacks(server, client)
    assert talk(wire, 1) == b""
    assert all(each.dst == SERVER for each in wire.log)


def test_a_reset_without_signature_ends_nothing() -> None:
    wire = stacks(MD5_KEY, MD5_KEY)
    client, server = wire.stacks
    connection = client.connect(CLIENT, SERVER, PORT, data=b"hello", now=0.0)
    wire.run(1)
    (there,) = server.connections.values()
    reset = Segment(
        src=CLIENT, dst=SERVER, sport=connection.local[1], dport=PORT, flags=RST, seq=there.recv.nxt
    )
    server.receive(reset.to_bytes(), wire.now)
    assert there.is_synchronized
    server.receive(MD5_KEY.sign(reset, 0, 0).to_bytes(), wire.now)
    assert not there.is_synchronized


def test_there_is_no_room_for_a_cookie_beside_md5_and_all_options() -> None:
    """As on Linux: the answer to a cookie request has MD5 and timestamps, and no cookie."""
    script = Script(Settings(signature=MD5_KEY))
    offer = [opt.mss(1460), opt.timestamps(1), opt.window_scale(7), opt.fast_open()]
    syn = Segment(
        src=CLIENT, dst=SERVER, sport=40000, dport=PORT, flags=SYN, options=opt.push_options(offer)
    )
    script.stack.receive(MD5_KEY.sign(syn, 0, 0).to_bytes(), 0.0)
    (answer,) = script.answers()
    assert answer.option(MD5) is not None
    assert answer.timestamps is not None
    assert answer.cookie is None


@pytest.mark.parametrize("key", [MD5_KEY, AoKey(b"k")])
def test_a_cookie_is_granted_where_there_is_room(key: Signature) -> None:
    script = Script(Settings(signature=key, timestamps=False))
    options = opt.push_options([opt.mss(1460), opt.fast_open()])
    syn = Segment(src=CLIENT, dst=SERVER, sport=40000, dport=PORT, flags=SYN, options=options)
    script.stack.receive(key.sign(syn, 0, 0).to_bytes(), 0.0)
    (answer,) = script.answers()
    assert answer.cookie == script.cookie()


def test_syn_cookies_and_ecn_beside_a_key() -> None:
    for key, peer in ((MD5_KEY, MD5_KEY), (AO_PEER, AO_KEY)):
        wire = stacks(key, peer, syn_cookies=SynCookies.ALWAYS, ecn=True)
        assert talk(wire, 1) == b"hello" * 1000
    wire = stacks(MD5_KEY, MD5_KEY, ecn=True)
    wire.stacks[0].settings = replace(wire.stacks[0].settings, ecn=True)
    assert talk(wire, 1) == b"hello" * 1000
    assert any(each.traffic_class for each in wire.log)
    assert all(each.flags & ACK or each.flags & SYN for each in wire.log)

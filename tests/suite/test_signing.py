"""TCP MD5 as the suite signs and checks it, held against Scapy's and the reference's."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, calc_tcp_md5_hash
from scapy.layers.inet6 import IPv6

from scapy_tfo import option as opt
from scapy_tfo.reference import Md5Key
from scapy_tfo.segment import Flags, Segment
from scapy_tfo.suite.context.signing import SIZE, is_signed, signed

ENDS = {4: ("192.0.2.1", "192.0.2.2"), 6: ("2001:db8::1", "2001:db8::2")}
OPTIONS = st.sampled_from(
    [(), (opt.mss(1460),), (opt.sack_permitted(),), (opt.mss(1460), opt.fast_open(bytes(8)))]
)


@given(
    version=st.sampled_from([4, 6]),
    numbers=st.tuples(*[st.integers(0, (1 << 32) - 1)] * 2),
    flags=st.integers(0, 255),
    options=OPTIONS,
    text=st.binary(max_size=64),
    key=st.binary(min_size=1, max_size=80),
)
def test_three_implementations_agree(version, numbers, flags, options, text, key) -> None:
    source, target = map(ip_address, ENDS[version])
    bare = Segment(
        src=source,
        dst=target,
        sport=1,
        dport=2,
        seq=numbers[0],
        ack=numbers[1],
        flags=Flags(flags),
        options=opt.padded(opt.push_options(options)),
        payload=text,
    )
    segment = signed(bare, key)
    found = segment.option(opt.MD5)
    packet = (IP if version == 4 else IPv6)(segment.to_bytes())
    assert found is not None
    assert found.data == calc_tcp_md5_hash(packet[TCP], key)
    assert Md5Key(key).accepts(segment, 0, 0)
    assert is_signed(segment, key)
    assert len(segment.options) <= len(bare.options) + SIZE
    assert not is_signed(replace(segment, seq=numbers[0] ^ 1), key)
    assert not is_signed(bare, key)

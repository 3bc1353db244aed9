"""Turns an inbound (`<`) packet of a script into the bytes that the kernel receives.

Data is all zeros: a script gives its length, never its bytes.
"""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.icmp import IcmpError
from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.icmp_names import IcmpNameError, icmp_numbers
from scapy_tfo.pkt.packets.bindings import MeaningError, Meanings, closed
from scapy_tfo.pkt.packets.live_numbers import Flow
from scapy_tfo.pkt.packets.options import raw_option
from scapy_tfo.segment import (
    ACK,
    CWR,
    ECE,
    FIN,
    PSH,
    RST,
    SYN,
    URG,
    Segment,
    internet_checksum,
)

_MODULUS = 1 << 32
_BITS = {"F": FIN, "S": SYN, "R": RST, "P": PSH, ".": ACK, "U": URG, "E": ECE, "W": CWR}
_AE = 1
_ECN = {"noecn": 0, "ect1": 1, "ect0": 2, "ect01": 2, "ce": 3}
_HOP_LIMIT = 255
_FLOW_LABEL = 0xFFFFF
_LARGEST = 1 << 16
_SPOILT = 0x5555
"""What a wrong checksum differs by, where the script does not say."""


def control_bits(letters: str) -> tuple[int, int]:
    """Flags, and the reserved bits (AE is one of them), of a packet's letters."""
    flags = 0
    for letter in letters:
        flags |= _BITS.get(letter, 0)
    return flags, _AE if "A" in letters else 0


def segment_to_send(
    packet: tree.Packet, flow: Flow, meanings: Meanings, *, scaled: bool = False
) -> bytes:
    """The whole IP packet. scaled: see `Flow.live_stamp`. Raises MeaningError."""
    flags, reserved = control_bits(packet.flags)
    syn = bool(flags & SYN)
    seq = meanings.number(packet.range.start) + flow.remote_offset(syn=syn)
    back = flow.local_offset(syn=syn)
    ack = meanings.number(packet.ack) if packet.ack is not None else 0
    if flags & ACK:
        ack += back

    def echo(value: fields.OpenValue) -> int:
        number = meanings.number(closed(value))
        if isinstance(value, fields.Variable) or not flags & ACK:
            return number
        if flow.first_stamps is None:
            return number
        live = flow.live_stamp(number, scaled=scaled)
        if live is None:
            raise MeaningError(f"no earlier packet of the kernel had TS val {number}")
        return live

    options = [
        raw_option(each, meanings, edge_offset=back, echo=echo) for each in packet.options or ()
    ]
    length = meanings.number(packet.range.length)
    if not 0 <= length < _LARGEST:
        raise MeaningError(f"{length} bytes of data do not fit into a packet")
    segment = Segment(
        src=flow.remote,
        dst=flow.local,
        sport=flow.remote_port,
        dport=flow.local_port or 0,
        seq=seq % _MODULUS,
        ack=ack % _MODULUS,
        flags=flags,
        reserved=reserved,
        window=meanings.number(packet.win) if packet.win is not None else 0,
        urgent=meanings.number(packet.urg) if packet.urg is not None else 0,
        options=opt.push_options(options),
        payload=bytes(length),
        hop_limit=_mark(packet, "ttl", _HOP_LIMIT),
        traffic_class=_traffic_class(packet),
    )
    try:
        whole = _faulty(segment, packet.faults, meanings)
    except ValueError as error:
        raise MeaningError(str(error)) from None
    label = _mark(packet, "flowlabel", 0)
    if label and whole[0] >> 4 == 6:
        word = int.from_bytes(whole[:4], "big") | label & _FLOW_LABEL
        whole = word.to_bytes(4, "big") + whole[4:]
    return whole


def icmp_to_send(packet: tree.Icmp, flow: Flow, meanings: Meanings) -> bytes:
    """The whole ICMP error, about a segment that the kernel sent. Raises MeaningError."""
    kind, code = icmp_kind(packet, 4 if len(flow.local.packed) == 4 else 6, meanings)
    start = length = 0
    if packet.echoed is not None:
        start = meanings.number(packet.echoed.start)
        length = meanings.number(packet.echoed.length)
    quoted = Segment(
        src=flow.local,
        dst=flow.remote,
        sport=flow.local_port or 0,
        dport=flow.remote_port,
        seq=(start + flow.local_offset(syn=False)) % _MODULUS,
        payload=bytes(length),
    )
    return IcmpError(
        src=flow.remote,
        dst=flow.local,
        type=kind,
        code=code,
        mtu=meanings.number(packet.mtu) if packet.mtu is not None else 0,
        quoted=quoted.to_bytes(),
    ).to_bytes()


def icmp_kind(packet: tree.Icmp, family: int, meanings: Meanings) -> tuple[int, int]:
    """Type and code of an ICMP error. family: 4 or 6. Raises MeaningError."""
    code_name = packet.code
    if code_name is not None:
        code_name = meanings.text(code_name) or code_name
    try:
        return icmp_numbers(meanings.text(packet.type) or packet.type, code_name, family)
    except IcmpNameError as error:
        raise MeaningError(str(error)) from None


def reset_to_send(heard: Segment, seq: int) -> bytes:
    """A RST that ends the connection of a segment that the kernel sent; seq: as on the wire."""
    return Segment(
        src=heard.dst,
        dst=heard.src,
        sport=heard.dport,
        dport=heard.sport,
        seq=seq % _MODULUS,
        ack=heard.end,
        flags=RST | ACK,
        window=0,
    ).to_bytes()


def _mark(packet: tree.Packet, name: str, default: int) -> int:
    for mark in packet.marks:
        if mark.name == name and mark.value is not None:
            return mark.value
    return default


def _traffic_class(packet: tree.Packet) -> int:
    whole = _mark(packet, "tos", 0)
    for mark in packet.marks:
        if mark.name in _ECN:
            whole = whole & ~3 | _ECN[mark.name]
    return whole


def _faulty(segment: Segment, faults: tuple[tree.Fault, ...], meanings: Meanings) -> bytes:
    by_name = {
        fault.name: None if fault.value is None else meanings.number(fault.value)
        for fault in faults
    }
    segment = replace(
        segment,
        seq=segment.seq if by_name.get("seq") is None else by_name["seq"] or 0,
        ack=segment.ack if by_name.get("ack") is None else by_name["ack"] or 0,
    )
    if "doff" in by_name:
        wrong = by_name["doff"]
        padded = opt.padded(segment.options)
        true = (20 + len(padded)) // 4
        offset = wrong if wrong is not None else max(true - 1, 0) or 4
        segment = replace(segment, options=padded, data_offset=offset)
    if "checksum" in by_name:
        value = by_name["checksum"]
        if value is None:
            value = int.from_bytes(_tcp_checksum(segment.to_bytes()), "big") ^ _SPOILT
        segment = replace(segment, checksum=value)
    whole = segment.to_bytes()
    if "ip_len" in by_name:
        length = by_name["ip_len"]
        whole = _with_length(whole, len(whole) + 8 if length is None else length)
    return whole


def _tcp_checksum(packet: bytes) -> bytes:
    start = 20 if packet[0] >> 4 == 4 else 40
    return packet[start + 16 : start + 18]


def _with_length(packet: bytes, length: int) -> bytes:
    """length: of the whole packet, bytes, in both IP versions."""
    if packet[0] >> 4 == 6:
        return packet[:4] + max(length - 40, 0).to_bytes(2, "big") + packet[6:]
    head = packet[:2] + length.to_bytes(2, "big") + packet[4:10] + b"\0\0" + packet[12:20]
    return head[:10] + internet_checksum(head).to_bytes(2, "big") + head[12:] + packet[20:]

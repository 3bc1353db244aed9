"""Laws that `option` and `segment` keep for any bytes, as functions that a campaign can call.

Each function takes any bytes and raises LawBrokenError if a law is broken; any other exception
breaks a law, too.
"""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.packet import key_of, read
from scapy_tfo.segment import MalformedPacketError, Segment

_IPV6_HEAD = 40
_CHECKSUM = slice(16, 18)
_ZERO, _OTHER_ZERO = b"\0\0", b"\xff\xff"


class LawBrokenError(AssertionError):
    """The message names the law, and has the bytes in hex."""


def check_options(block: bytes) -> None:
    """Hold an options field against the laws: nothing is lost, all is judged, valid ones are
    rewritten as they were. Raises LawBrokenError."""
    options = opt.pull_options(block)
    _demand(opt.push_options(options) == block, "taken apart and put together it differs", block)
    _demand(all(each.is_sound for each in options[:-1]), "an unsound option is not the last", block)
    judged = [(each, opt.judge(each)) for each in options]
    found = [verdict for _, verdict in judged if verdict is not None]
    _demand(list(opt.find_fast_open(block)) == found, "the quick walk judges otherwise", block)
    for each, verdict in judged:
        if isinstance(verdict, opt.FastOpen):
            _demand(
                opt.fast_open(verdict.cookie, form=verdict.form) == each,
                "a valid option is written otherwise",
                block,
            )
        elif verdict is not None:
            _demand(bool(verdict.rule and verdict.reason), "broken, and nobody says why", block)
    for fill in (opt.EOL, opt.NOP):
        full = opt.padded(block, fill)
        _demand(
            full[: len(block)] == block and len(full) % 4 == 0 and len(full) - len(block) < 4,
            "padding is more than padding",
            block,
        )


def check_packet(packet: bytes) -> bool:
    """Hold an IP packet against the laws: it is read whole, or called malformed; what was read is
    written as it was, and the quick reader of campaigns reads the same.

    Whether it was read. Raises LawBrokenError.
    """
    try:
        segment = Segment.from_bytes(packet)
    except MalformedPacketError as error:
        _demand(bool(str(error)), "malformed, and nobody says why", packet)
        return False
    _check_views(segment)
    again = segment.to_bytes()
    _demand(Segment.from_bytes(again) == segment, "written and read it differs", packet)
    _demand(_tcp(again) == _tcp(packet), "its TCP part is written otherwise", packet)
    _check_quick_reader(packet, segment)
    return True


def _check_views(segment: Segment) -> None:
    check_options(segment.options)
    wire = segment.options
    _demand(bool(str(segment) and segment.flow), "it has no text", wire)
    _demand(segment.length >= len(segment.payload), "it is shorter than its payload", wire)
    _demand(0 <= segment.end < 1 << 32, "its end is no sequence number", wire)
    size, stamps, cookie = segment.mss, segment.timestamps, segment.cookie
    _demand(size is None or 0 <= size < 1 << 16, "its MSS does not fit", wire)
    _demand(stamps is None or all(0 <= each < 1 << 32 for each in stamps), "its times", wire)
    _demand(cookie is None or len(cookie) in opt.COOKIE_SIZES, "its cookie is not valid", wire)


def _check_quick_reader(packet: bytes, segment: Segment) -> None:
    ends = segment.dst.packed, segment.dport, segment.sport
    _demand(key_of(packet) == ends, "the quick reader sees other ends", packet)
    reply = read(packet)
    is_right = segment.checksum is None and segment.data_offset is None and not segment.reserved
    if not reply.sound:
        _demand(
            not is_right or len(packet) > _ip_size(packet),
            "the quick reader finds it unsound",
            packet,
        )
        return
    _demand(is_right, "the quick reader finds it sound", packet)
    _demand(
        reply[:6]
        == (
            segment.seq,
            segment.ack,
            segment.flags,
            segment.window,
            segment.options,
            segment.payload,
        ),
        "the quick reader reads otherwise",
        packet,
    )


def _ip_size(packet: bytes) -> int:
    if packet[0] >> 4 == 4:
        return packet[2] << 8 | packet[3]
    return _IPV6_HEAD + (packet[4] << 8 | packet[5])


def _tcp(packet: bytes) -> bytes:
    """Its TCP part, with one of the two zeros that a checksum may have for both."""
    head = (packet[0] & 15) * 4 if packet[0] >> 4 == 4 else _IPV6_HEAD
    tcp = packet[head : _ip_size(packet)]
    if tcp[_CHECKSUM] == _OTHER_ZERO:
        return tcp[: _CHECKSUM.start] + _ZERO + tcp[_CHECKSUM.stop :]
    return tcp


def _demand(holds: bool, law: str, wire: bytes) -> None:
    if not holds:
        raise LawBrokenError(f"{law}: {wire.hex()}")

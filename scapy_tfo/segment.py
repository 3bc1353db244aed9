"""One TCP segment in its IP packet, as an immutable value that converts to and from bytes."""

from __future__ import annotations

import functools
import struct
from dataclasses import field
from ipaddress import IPv6Address

from scapy_tfo import extension_headers
from scapy_tfo import option as opt
from scapy_tfo.address import Address as Address
from scapy_tfo.address import known_address
from scapy_tfo.extension_headers import Extension
from scapy_tfo.values import value

PROTOCOL_TCP = 6
_TCP = struct.Struct("!HHIIHHHH")
_IPV4 = struct.Struct("!BBHHHBBH4s4s")
_IPV6 = struct.Struct("!IHBB16s16s")
_PSEUDO = struct.Struct("!IHH")
_TCP_FIXED = 20
_TIMES = struct.Struct("!II")
_ALIGNED, _ALIGNED_TIMES = 12, bytes((opt.NOP, opt.NOP, opt.TIMESTAMPS, 10))
"""How nearly all timestamps stand (RFC 7323 appendix A)."""
_IPV6_BYTES = 16
_LARGEST_FLAGS = 0xFF
_DONT_FRAGMENT = 0x4000
_MORE_FRAGMENTS_OR_OFFSET = 0x3FFF
_LARGEST_LABEL = 0xFFFFF


Flags = int
"""Control bits of the TCP header, or-ed together (RFC 9293 section 3.1).

Plain numbers: an IntFlag made every test of a bit ten times as dear, and there are many.
"""

FIN, SYN, RST, PSH = 0x01, 0x02, 0x04, 0x08
ACK, URG, ECE, CWR = 0x10, 0x20, 0x40, 0x80


_NUMBERED = (0, 1, 1, 2)
"""Sequence numbers that FIN, SYN, and both take."""

_REMEMBERED = 1024
_find_fast_open = functools.lru_cache(_REMEMBERED)(opt.find_fast_open)
"""Much is asked of one segment's options, one thing at a time."""


@functools.lru_cache(_REMEMBERED)
def _find_timestamps(block: bytes) -> tuple[int, int] | None:
    """TSval and TSecr of the last sound timestamps option."""
    if len(block) == _ALIGNED and block.startswith(_ALIGNED_TIMES):
        return _TIMES.unpack_from(block, 4)
    found = None
    for each in opt.pulled(block):
        if each.kind == opt.TIMESTAMPS and each.is_sound:
            found = each.data
    if found is None or len(found) != 8:
        return None
    return _TIMES.unpack(found)


class MalformedPacketError(ValueError):
    """The bytes are not a TCP segment in an IP packet; the message says what is wrong."""


@value(frozen=True, slots=True, kw_only=True)
class Segment:
    """A TCP segment with the few fields of its IP header that matter.

    Sequence numbers are modulo 2**32, `window` is the raw field (not scaled), `options` the raw
    options field, `hop_limit` also IPv4's TTL, `traffic_class` also IPv4's TOS byte. A field of
    None is worked out when bytes are built: give a number to tell a lie.

    `ip_id` is IPv4's identification, `may_fragment` says that its flag DF is not set; `flow_label`
    and `extensions` are IPv6's, in their order on the wire; each is 0, False or empty in the other
    version. All but the last say nothing of the segment: segments that differ in them alone are
    equal.
    """

    src: Address
    dst: Address
    sport: int
    dport: int
    seq: int = 0
    ack: int = 0
    flags: Flags = 0
    window: int = 65535
    urgent: int = 0
    options: bytes = b""
    payload: bytes = b""
    data_offset: int | None = None
    checksum: int | None = None
    reserved: int = 0
    hop_limit: int = 64
    traffic_class: int = 0
    ip_id: int = field(default=0, compare=False)
    flow_label: int = field(default=0, compare=False)
    extensions: tuple[Extension, ...] = ()
    may_fragment: bool = field(default=False, compare=False)

    @property
    def is_syn(self) -> bool:
        """SYN without ACK, whatever other bits are set."""
        return self.flags & (SYN | ACK) == SYN

    @property
    def is_syn_ack(self) -> bool:
        return self.flags & (SYN | ACK) == SYN | ACK

    @property
    def is_rst(self) -> bool:
        return bool(self.flags & RST)

    @property
    def is_fin(self) -> bool:
        return bool(self.flags & FIN)

    @property
    def length(self) -> int:
        """Sequence numbers it takes: payload bytes, and one each for SYN and FIN."""
        return len(self.payload) + _NUMBERED[self.flags & (SYN | FIN)]

    @property
    def end(self) -> int:
        """The sequence number behind its last one, modulo 2**32."""
        return (self.seq + len(self.payload) + _NUMBERED[self.flags & (SYN | FIN)]) & 0xFFFFFFFF

    @property
    def may_be_cut(self) -> bool:
        """Whether a router may make fragments of it: all forward 68 bytes whole (RFC 791 3.2)."""
        return self.may_fragment and 2 * _TCP_FIXED + len(self.options) + len(self.payload) > 68

    def option(self, kind: int) -> opt.RawOption | None:
        """The last sound option of that kind before EOL, as most stacks read it."""
        found = None
        for each in opt.pulled(self.options):
            if each.kind == kind and each.is_sound:
                found = each
        return found

    @property
    def fast_open(self) -> tuple[opt.FastOpen | opt.Broken, ...]:
        """Its Fast Open options, valid or broken, in order."""
        return _find_fast_open(self.options)

    @property
    def cookie(self) -> bytes | None:
        """The cookie of its last valid Fast Open option: b"" for a request, None without one."""
        valid = [each for each in self.fast_open if isinstance(each, opt.FastOpen)]
        return valid[-1].cookie if valid else None

    @property
    def mss(self) -> int | None:
        """The MSS option's value in bytes."""
        each = self.option(opt.MSS)
        return int.from_bytes(each.data, "big") if each and len(each.data) == 2 else None

    @property
    def timestamps(self) -> tuple[int, int] | None:
        """TSval and TSecr of the timestamps option."""
        return _find_timestamps(self.options) if self.options else None

    @property
    def flow(self) -> str:
        """`src:port>dst:port`, IPv6 addresses in brackets."""
        return f"{endpoint(self.src, self.sport)}>{endpoint(self.dst, self.dport)}"

    def __str__(self) -> str:
        letters = {SYN: "S", FIN: "F", RST: "R", PSH: "P", URG: "U", ECE: "E", CWR: "W", ACK: "."}
        flags = "".join(letter for bit, letter in letters.items() if self.flags & bit) or "-"
        text = f"{flags} seq {self.seq}"
        if self.flags & ACK:
            text += f" ack {self.ack}"
        text += f" len {len(self.payload)} win {self.window}"
        text += " MD5" if self.option(opt.MD5) is not None else ""
        for each in self.fast_open:
            if isinstance(each, opt.Broken):
                text += f" TFO!({each.reason})"
            else:
                text += " TFO=request" if each.is_request else f" TFO={each.cookie.hex()}"
            text += "" if each.form is opt.Form.IANA else f"/{int(each.form)}"
        return text

    def to_bytes(self) -> bytes:
        """The whole IP packet.

        Options are padded to whole words, unless `data_offset` is given: then they stand as they
        are. Raises ValueError where the options do not fit and `data_offset` was not given, where
        a number does not fit its field, and where the addresses are of two families.
        """
        try:
            packet = self._build()
        except (struct.error, OverflowError) as error:
            raise ValueError(f"a number does not fit its field: {error}") from error
        # It reads back as it is: nothing in it is a lie, or filled up.
        if (
            self.data_offset is None
            and self.checksum is None
            and not len(self.options) % 4
            and self.flags <= _LARGEST_FLAGS
            and self.reserved == 0 == self.traffic_class
            and self.ip_id == 0 == self.flow_label
            and not (self.extensions or self.may_fragment)
        ):
            if len(_built) >= _REMEMBERED:
                _built.clear()
            _built[packet] = self
        return packet

    def _build(self) -> bytes:
        src, dst = self.src.packed, self.dst.packed
        if len(src) != len(dst):
            raise ValueError(f"{self.src} and {self.dst} are not of one IP version")
        options, offset = self.options, self.data_offset
        if offset is None:
            options = opt.padded(options)
            if len(options) > opt.MAX_OPTIONS:
                raise ValueError(f"{len(options)} bytes of options; a header holds 40")
            offset = (_TCP_FIXED + len(options)) // 4
        head = _TCP.pack(
            self.sport,
            self.dport,
            self.seq,
            self.ack,
            (offset & 15) << 12 | (self.reserved & 15) << 8 | int(self.flags),
            self.window,
            0,
            self.urgent,
        )
        rest = options + self.payload
        size = _TCP_FIXED + len(rest)
        header, pseudo = _headers(src, dst, size, self.hop_limit, self.traffic_class)
        if self.ip_id or self.flow_label or self.extensions or self.may_fragment:
            header = self._marked(header)
        checksum = self.checksum
        if checksum is None:
            checksum = internet_checksum(pseudo + head + rest)
        return b"".join((header, head[:16], checksum.to_bytes(2, "big"), head[18:], rest))

    def _marked(self, header: bytes) -> bytes:
        """The plain header with IP ID and DF, or flow label and extension headers."""
        if header[0] >> 4 == 4:
            marks = struct.pack("!HH", self.ip_id, 0 if self.may_fragment else _DONT_FRAGMENT)
            bare = b"".join((header[:4], marks, header[8:10], b"\0\0", header[12:]))
            return bare[:10] + internet_checksum(bare).to_bytes(2, "big") + bare[12:]
        if not 0 <= self.flow_label <= _LARGEST_LABEL:
            raise OverflowError(f"a flow label of {self.flow_label}")
        first, chain = extension_headers.push(self.extensions, PROTOCOL_TCP)
        word = int.from_bytes(header[:4], "big") | self.flow_label
        size = int.from_bytes(header[4:6], "big") + len(chain)
        return struct.pack("!IHB", word, size, first) + header[7:] + chain

    @classmethod
    def from_bytes(cls, packet: bytes) -> Segment:
        """Read an IP packet that holds one whole TCP segment.

        `data_offset` and `checksum` stay None where they are right, so that reading and building
        gives the same segment. Raises MalformedPacketError for anything else.
        """
        src, dst, hop_limit, traffic_class, mark, extensions, tcp = _open_ip(packet)
        if len(tcp) < _TCP_FIXED:
            raise MalformedPacketError(f"{len(tcp)} bytes of TCP; the header alone has 20")
        sport, dport, seq, ack, first_word, window, checksum, urgent = _TCP.unpack_from(tcp)
        offset = first_word >> 12
        stop = min(max(offset * 4, _TCP_FIXED), len(tcp))
        # Summing up with the field in place: zero may stand there as 0x0000 or, as Linux writes it
        # behind a device that computes no checksums, as 0xFFFF (RFC 1071 section 1).
        right = tcp_checksum(src, dst, tcp) == 0
        return cls(
            src=src,
            dst=dst,
            sport=sport,
            dport=dport,
            seq=seq,
            ack=ack,
            flags=first_word & 0xFF,
            window=window,
            urgent=urgent,
            options=tcp[_TCP_FIXED:stop],
            payload=tcp[stop:],
            data_offset=None if stop == offset * 4 else offset,
            checksum=None if right else checksum,
            reserved=first_word >> 8 & 15,
            hop_limit=hop_limit,
            traffic_class=traffic_class,
            ip_id=mark if packet[0] >> 4 == 4 else 0,
            may_fragment=packet[0] >> 4 == 4 and not packet[6] & _DONT_FRAGMENT >> 8,
            flow_label=mark if packet[0] >> 4 == 6 else 0,
            extensions=extensions,
        )

    @classmethod
    def read_back(cls, packet: bytes) -> Segment:
        """As `from_bytes`, and at once where `to_bytes` made the packet here and just now."""
        return _built.pop(packet, None) or cls.from_bytes(packet)


@functools.lru_cache(_REMEMBERED)
def _headers(
    src: bytes, dst: bytes, size: int, hop_limit: int, traffic_class: int
) -> tuple[bytes, bytes]:
    """The IP header before `size` bytes of TCP, and what the TCP checksum covers in its stead."""
    pseudo = src + dst + _PSEUDO.pack(size, 0, PROTOCOL_TCP)
    if len(src) == _IPV6_BYTES:
        word = 6 << 28 | traffic_class << 20
        return _IPV6.pack(word, size, PROTOCOL_TCP, hop_limit, src, dst), pseudo
    header = _IPV4.pack(
        0x45,
        traffic_class,
        20 + size,
        0,
        _DONT_FRAGMENT,
        hop_limit,
        PROTOCOL_TCP,
        0,
        src,
        dst,
    )
    return header[:10] + internet_checksum(header).to_bytes(2, "big") + header[12:], pseudo


def _open_ip(
    packet: bytes,
) -> tuple[Address, Address, int, int, int, tuple[Extension, ...], bytes]:
    """Both addresses, hop limit, traffic class, ID or flow label, extension headers, and TCP."""
    version = packet[0] >> 4 if packet else 0
    if version == 4 and len(packet) >= 20:
        head = (packet[0] & 15) * 4
        total = int.from_bytes(packet[2:4], "big")
        if packet[9] != PROTOCOL_TCP:
            raise MalformedPacketError(f"IP protocol {packet[9]}, not TCP")
        if int.from_bytes(packet[6:8], "big") & _MORE_FRAGMENTS_OR_OFFSET:
            raise MalformedPacketError("a fragment, not a whole segment")
        if not 20 <= head <= total <= len(packet):
            raise MalformedPacketError("the IPv4 lengths do not fit the packet")
        return (
            known_address(packet[12:16]),
            known_address(packet[16:20]),
            packet[8],
            packet[1],
            packet[4] << 8 | packet[5],
            (),
            packet[head:total],
        )
    if version == 6 and len(packet) >= 40:
        word, size, protocol, hop_limit, src, dst = _IPV6.unpack_from(packet)
        rest = packet[40 : 40 + size]
        extensions: tuple[Extension, ...] = ()
        if protocol in extension_headers.KINDS:
            try:
                protocol, extensions, rest = extension_headers.pull(protocol, rest)
            except ValueError as error:
                raise MalformedPacketError(str(error)) from None
        if protocol != PROTOCOL_TCP:
            raise MalformedPacketError(f"next header {protocol}, not TCP")
        if 40 + size > len(packet):
            raise MalformedPacketError("the IPv6 length does not fit the packet")
        return (
            known_address(src),
            known_address(dst),
            hop_limit,
            word >> 20 & 0xFF,
            word & _LARGEST_LABEL,
            extensions,
            rest,
        )
    raise MalformedPacketError("not an IP packet")


def endpoint(address: Address, port: int) -> str:
    """`address:port`, an IPv6 address in brackets."""
    return f"[{address}]:{port}" if isinstance(address, IPv6Address) else f"{address}:{port}"


def internet_checksum(data: bytes) -> int:
    """The Internet checksum of the data (RFC 1071), ready for the header."""
    if len(data) % 2:
        data += b"\0"
    # One's complement addition is addition modulo 2**16 - 1, so the whole block can be one number.
    total = int.from_bytes(data, "big") % 0xFFFF
    if total == 0 and any(data):
        total = 0xFFFF
    return ~total & 0xFFFF


def tcp_checksum(src: Address, dst: Address, tcp: bytes) -> int:
    """Checksum of a TCP segment whose checksum field is zero (RFC 9293 3.1, RFC 8200 8.1).

    Of a segment with a checksum: 0 where it is right.
    """
    pseudo = src.packed + dst.packed + _PSEUDO.pack(len(tcp), 0, PROTOCOL_TCP)
    return internet_checksum(pseudo + tcp)


_built: dict[bytes, Segment] = {}
"""Segments by the packets that were built of them lately: in memory, most are read where they were
built."""

"""Options that sign each segment: TCP MD5 (RFC 2385) and TCP-AO (RFC 5925, RFC 5926).

One key for one peer, or for all; keys do not change while a connection lasts.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, replace

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.segment import ACK, PROTOCOL_TCP, SYN, Segment

MD5, AO = 19, 29
_MD5_BYTES, _MAC_BYTES = 16, 12
_FIXED, _CHECKSUM = 20, 16


def _tcp(segment: Segment) -> tuple[bytes, bytes, bytes]:
    """Pseudo header, the fixed header without its checksum, and the options."""
    bare = replace(segment, checksum=None, extensions=())
    packet = bare.to_bytes()
    tcp = packet[20 if segment.src.version == 4 else 40 :]
    ends = segment.src.packed + segment.dst.packed
    size = len(tcp).to_bytes(4, "big")
    if segment.src.version == 4:
        pseudo = ends + bytes((0, PROTOCOL_TCP)) + size[2:]
    else:
        pseudo = ends + size + bytes((0, 0, 0, PROTOCOL_TCP))
    head = tcp[:_CHECKSUM] + b"\0\0" + tcp[_CHECKSUM + 2 : _FIXED]
    return pseudo, head, tcp[_FIXED : len(tcp) - len(segment.payload)]


def _with(segment: Segment, kind: int, data: bytes) -> Segment:
    """The segment with the option's data in place; without the option, behind the others."""
    found = opt.pull_options(segment.options)
    if all(each.kind != kind for each in found):
        found = (*found, opt.nop(), opt.nop(), opt.RawOption(kind, 2 + len(data), data))
    out = [
        opt.RawOption(kind, 2 + len(data), data) if each.kind == kind else each for each in found
    ]
    return replace(segment, options=opt.push_options(out))


@dataclass(frozen=True, slots=True)
class Md5Key:
    """A key of TCP MD5, of any length that both ends share."""

    key: bytes

    @property
    def placeholder(self) -> opt.RawOption:
        """The option before it is computed."""
        return opt.RawOption(MD5, 2 + _MD5_BYTES, bytes(_MD5_BYTES))

    def sign(self, segment: Segment, own_isn: int, peer_isn: int) -> Segment:
        """The segment with its digest. The ISNs are not used."""
        segment = _with(segment, MD5, bytes(_MD5_BYTES))
        return _with(segment, MD5, self._digest(segment))

    def accepts(self, segment: Segment, peer_isn: int, own_isn: int) -> bool:
        """Whether a segment of the peer has the right digest (RFC 2385 section 2.0)."""
        found = segment.option(MD5)
        return found is not None and hmac.compare_digest(found.data, self._digest(segment))

    def _digest(self, segment: Segment) -> bytes:
        pseudo, head, _ = _tcp(segment)
        text = pseudo + head + segment.payload + self.key
        return hashlib.md5(text, usedforsecurity=False).digest()


@dataclass(frozen=True, slots=True)
class AoKey:
    """A master key tuple of TCP-AO with KDF_HMAC_SHA1 and HMAC-SHA-1-96 (RFC 5926).

    send_id, recv_id: KeyID of what we send and of what comes. covers_options: the MAC is over
    the other options, too.
    """

    key: bytes
    send_id: int = 0
    recv_id: int = 0
    covers_options: bool = True

    @property
    def placeholder(self) -> opt.RawOption:
        """The option before it is computed."""
        return opt.RawOption(AO, 4 + _MAC_BYTES, self._ids(own=True) + bytes(_MAC_BYTES))

    def sign(self, segment: Segment, own_isn: int, peer_isn: int) -> Segment:
        """The segment with its MAC. The ISNs are those of both ends; see `traffic_key`."""
        ids = self._ids(own=True)
        segment = _with(segment, AO, ids + bytes(_MAC_BYTES))
        return _with(segment, AO, ids + self._mac(segment, own_isn, peer_isn))

    def accepts(self, segment: Segment, peer_isn: int, own_isn: int) -> bool:
        """Whether a segment of the peer has the right MAC, and our KeyID (RFC 5925 7.5)."""
        found = segment.option(AO)
        if found is None or found.data[:1] != bytes((self.recv_id,)):
            return False
        blank = _with(segment, AO, found.data[:2] + bytes(_MAC_BYTES))
        return hmac.compare_digest(found.data[2:], self._mac(blank, peer_isn, own_isn))

    def _ids(self, *, own: bool) -> bytes:
        return bytes((self.send_id, self.recv_id) if own else (self.recv_id, self.send_id))

    def traffic_key(self, segment: Segment, source_isn: int, other_isn: int) -> bytes:
        """The key for segments of one direction (RFC 5925 section 5.2, RFC 5926 3.1.1.1).

        Of a SYN, the ISN of the other end is not known, and 0.
        """
        if segment.flags & (SYN | ACK) == SYN:
            other_isn = 0
        context = segment.src.packed + segment.dst.packed
        context += segment.sport.to_bytes(2, "big") + segment.dport.to_bytes(2, "big")
        context += source_isn.to_bytes(4, "big") + other_isn.to_bytes(4, "big")
        return hmac.digest(self.key, b"\x01TCP-AO" + context + (160).to_bytes(2, "big"), "sha1")

    def _mac(self, segment: Segment, source_isn: int, other_isn: int) -> bytes:
        pseudo, head, options = _tcp(segment)
        if not self.covers_options:
            own = segment.option(AO)
            options = opt.push_options([own] if own is not None else [])
        # Good for the first 4 GiB of a stream (RFC 5925 section 6.2).
        wrapped = segment.seq < source_isn and seq.at_most(source_isn, segment.seq)
        text = wrapped.to_bytes(4, "big") + pseudo + head + options + segment.payload
        key = self.traffic_key(segment, source_isn, other_isn)
        return hmac.digest(key, text, "sha1")[:_MAC_BYTES]


Signature = Md5Key | AoKey


def accepts_first(signature: Signature, segment: Segment) -> bool:
    """Whether a listener's first segment of a peer, a SYN or the ACK of a SYN cookie, is signed."""
    if segment.flags & SYN:
        return signature.accepts(segment, segment.seq, 0)
    return signature.accepts(segment, seq.add(segment.seq, -1), seq.add(segment.ack, -1))

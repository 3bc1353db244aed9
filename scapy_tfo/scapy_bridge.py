"""Adds Fast Open to Scapy: options that lose nothing, and segments to and from packets.

Importing this module changes nothing for other users of Scapy in the process. `FastOpenTCP` is
Scapy's TCP with an options field of our own; `install` (or, for a while, `installed`) gives that
field to Scapy's own `TCP`, and `uninstall` takes it back.

The options list takes everything that Scapy knows, and:

    ("TFO", cookie)         kind 34, the cookie always bytes of any size; b"" asks for one
    ("TFO-EXP", cookie)     kind 254 with the ExID 0xF989 (RFC 7413 section 9, RFC 6994)
    ("TFO-EXP253", cookie)  the same in kind 253
    (name, RawOption(...))  any bytes: a wrong length byte, bytes after EOL; `RawOption` alone
                            is taken too

An option read from the wire is a RawOption exactly if a plain pair would not give its bytes
back. This is the one module that imports Scapy.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from scapy.compat import bytes_encode
from scapy.fields import RawVal
from scapy.layers.inet import IP, TCP, RandTCPOptions, TCPerror, TCPOptions, TCPOptionsField
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, Raw

from scapy_tfo import option as opt
from scapy_tfo.option import RawOption
from scapy_tfo.segment import MalformedPacketError, Segment

_EXID = opt.EXID.to_bytes(2, "big")
_FORMS = {
    "TFO": (opt.TFO, b""),
    "TFO-EXP": (opt.EXPERIMENT_2, _EXID),
    "TFO-EXP253": (opt.EXPERIMENT_1, _EXID),
}
"""Name in the options list: kind, and what stands in front of the cookie."""


class DerivedOffset(int):
    """A data offset read from the wire that was right: building works it out anew.

    Without it, a longer cookie put into a packet that was read would leave the old offset behind.
    """


class ExactOffset(int):
    """A data offset that stands as it is, over options that are not padded.

    What a header says whose options run past the end of the packet.
    """


class _FittingOptions(RandTCPOptions):
    """Scapy's random options, cut to those that a header holds, for `fuzz(TCP())`."""

    def _fix(self) -> list[Any]:
        options: list[Any] = super()._fix()
        while len(TCPOptionsField.i2m(None, None, options)) > opt.MAX_OPTIONS:
            options.pop()
        return options


class FastOpenOptionsField(TCPOptionsField):
    """TCP's options field: reads every byte, writes every byte, and knows the Fast Open option."""

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, list[Any]]:
        """Take the options from the bytes behind the fixed header, as Packet.dissect does."""
        size = (pkt.dataofs - 5) * 4
        if size < 0:
            return super().getfield(pkt, s)
        exact = size > len(s)
        pkt.fields["dataofs"] = (ExactOffset if exact else DerivedOffset)(pkt.dataofs)
        return s[size:], read_options(s[:size], exact=exact)

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        """Put the options behind the fixed header, and the data offset right where it is ours."""
        block = self.i2m(pkt, val)
        if isinstance(pkt.dataofs, DerivedOffset):
            words = 5 + len(block) // 4
            s = s[:-8] + bytes([words << 4 | s[-8] & 15]) + s[-7:]
        return s + block

    def any2i(self, pkt: Any, x: Any) -> Any:
        """The list as it is kept: every entry a pair, so that readers can always unpack it."""
        x = super().any2i(pkt, x)
        if isinstance(x, list) and any(isinstance(each, RawOption) for each in x):
            return [(_name(e), e) if isinstance(e, RawOption) else e for e in x]
        return x

    def m2i(self, _pkt: Any, x: bytes) -> list[Any]:
        """The options list of a whole number of words."""
        return read_options(x)

    def i2m(self, pkt: Any, x: Any) -> bytes:
        """The options field, padded with zeros to a whole number of words.

        Raises ValueError where a header cannot hold it and no data offset was given.
        """
        if isinstance(x, (bytes, RawVal)):
            block = bytes(x)
        else:
            block = b"".join(_write_option(each) for each in x)
        offset = None if pkt is None else pkt.dataofs
        if isinstance(x, RawVal) or isinstance(offset, ExactOffset):
            return block
        block = opt.padded(block)
        told = offset is not None and not isinstance(offset, DerivedOffset)
        if len(block) > opt.MAX_OPTIONS and not told:
            raise ValueError(
                f"{len(block)} bytes of TCP options, but a header holds {opt.MAX_OPTIONS}: "
                "take some out, or give dataofs to send them all the same"
            )
        return block

    def randval(self) -> Any:
        return _FittingOptions()


class FastOpenTCP(TCP):
    """Scapy's TCP with Fast Open in its options, for use beside everyone else's TCP."""

    name = "TCP"
    match_subclass = True
    fields_desc: ClassVar[list[Any]] = [*TCP.fields_desc[:-1], FastOpenOptionsField("options", "")]


# Scapy's format strings ("%TCP.sport%") and summaries look a layer up by its class's name.
FastOpenTCP.__name__ = "TCP"


def read_options(block: bytes, *, exact: bool = False) -> list[Any]:
    """An options field as Scapy's list of pairs. Never raises, and loses nothing.

    exact: the block will not be padded again when it is built.
    """
    pairs: list[Any] = []
    for each in opt.pull_options(block):
        if each.kind == opt.EOL:
            padding = 0 if exact else 3
            is_padding = len(each.data) <= padding and not any(each.data)
            pairs.append(("EOL", None if is_padding else each))
        else:
            pairs.append(_pair(each))
    return pairs


def _pair(option: RawOption) -> tuple[Any, Any]:
    name = _name(option)
    if not option.is_sound:
        return name, option
    if name in _FORMS:
        return name, option.data[len(_FORMS[name][1]) :]
    wire = opt.push_options((option,))
    try:
        (pair,) = TCPOptionsField.m2i(None, None, wire)
        return pair if _write_by_scapy(pair) == wire else (name, option)
    except struct.error:
        return name, option


def _name(option: RawOption) -> Any:
    for name, (kind, start) in _FORMS.items():
        if option.kind == kind and option.data.startswith(start):
            return name
    return TCPOptions[0].get(option.kind, (option.kind,))[0]


def _write_option(entry: Any) -> bytes:
    if isinstance(entry, RawOption):
        return opt.push_options((entry,))
    name, value = entry
    if isinstance(value, RawOption):
        return opt.push_options((value,))
    if name in _FORMS:
        kind, start = _FORMS[name]
        data = start + _cookie(value)
        return opt.push_options((RawOption(kind, 2 + len(data), data),))
    return _write_by_scapy(entry)


def _cookie(value: Any) -> bytes:
    if value is None:
        return b""
    if isinstance(value, str):
        return bytes_encode(value)
    if isinstance(value, tuple):
        # What Scapy's own table makes of 8 bytes, and what its users may still write.
        return struct.pack("!II", *value)
    return bytes(memoryview(value))


def _write_by_scapy(pair: tuple[Any, Any]) -> bytes:
    block: bytes = TCPOptionsField.i2m(None, None, [pair])
    # Scapy pads each list it builds; the option itself ends where its length byte says.
    return block[: block[1] if block and block[0] > opt.NOP else 1]


def install() -> None:
    """Make Scapy's own TCP (and the TCP in ICMP errors) read and write Fast Open.

    Packets made before and after follow at once. Harmless when called twice. Raises RuntimeError
    where other code has put its own options field there.
    """
    for field in _scapy_fields():
        if type(field) not in (TCPOptionsField, FastOpenOptionsField):
            raise RuntimeError(
                f"Scapy's TCP already has the options field {type(field).__name__} of other code: "
                "use FastOpenTCP instead of install()"
            )
        field.__class__ = FastOpenOptionsField


def uninstall() -> None:
    """Leave Scapy's own TCP exactly as it was before `install`. Harmless when called twice."""
    for field in _scapy_fields():
        if type(field) is FastOpenOptionsField:
            field.__class__ = TCPOptionsField


@contextmanager
def installed() -> Iterator[None]:
    """`install` for the length of a with block; one inside another changes nothing."""
    before = [(field, type(field)) for field in _scapy_fields()]
    install()
    try:
        yield
    finally:
        for field, kind in before:
            field.__class__ = kind


def _scapy_fields() -> list[Any]:
    return [layer.fields_desc[-1] for layer in (TCP, TCPerror)]


def to_scapy(segment: Segment) -> Any:
    """The segment as a Scapy packet, IP or IPv6 over FastOpenTCP, that builds the same bytes.

    Checksum, data offset and length are left for Scapy to work out where the segment leaves them.
    """
    if segment.src.version == 4:
        ip = IP(
            src=str(segment.src),
            dst=str(segment.dst),
            id=0,
            flags="DF",
            ttl=segment.hop_limit,
            tos=segment.traffic_class,
        )
    else:
        ip = IPv6(
            src=str(segment.src),
            dst=str(segment.dst),
            hlim=segment.hop_limit,
            tc=segment.traffic_class,
        )
    exact = segment.data_offset is not None
    options = segment.options if exact else opt.padded(segment.options)
    tcp = FastOpenTCP(
        sport=segment.sport,
        dport=segment.dport,
        seq=segment.seq,
        ack=segment.ack,
        dataofs=ExactOffset(segment.data_offset) if segment.data_offset is not None else None,
        reserved=segment.reserved >> 1,
        # Scapy counts the last reserved bit (AE of RFC 9293's registry) among the flags.
        flags=(segment.reserved & 1) << 8 | int(segment.flags),
        window=segment.window,
        chksum=segment.checksum,
        urgptr=segment.urgent,
        options=read_options(options, exact=exact),
    )
    return ip / tcp / Raw(segment.payload) if segment.payload else ip / tcp


def from_scapy(packet: Packet) -> Segment:
    """The segment in a Scapy packet, as a receiver reads its bytes; lower layers are taken off.

    Raises MalformedPacketError where there is no IP layer with one whole TCP segment in it.
    """
    for layer in (IP, IPv6):
        if layer in packet:
            return Segment.from_bytes(bytes(packet[layer]))
    raise MalformedPacketError(f"no IP layer in {packet.summary()}")

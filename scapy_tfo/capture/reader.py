"""Reads the frames of a capture file, pcap or pcapng (draft-ietf-opsawg-pcap, -pcapng).

It replaces Scapy's reader, which ends without an error if a file is cut off, mixes up the
interfaces of files that were joined, and names the comments differently from version to version.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scapy_tfo.errors import SetupError
from scapy_tfo.values import value

_SECOND = 1_000_000_000
_SECTION, _INTERFACE, _SIMPLE, _STATISTICS, _ENHANCED = 0x0A0D0D0A, 1, 3, 5, 6
_ORDER = 0x1A2B3C4D
_PCAP = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
"""Magic number -> ns of one unit behind the second."""

_COMMENT, _FLAGS = 1, 2
_RESOLUTION, _OFFSET = 9, 14
_RECEIVED, _IF_DROPPED, _OS_DROPPED, _DELIVERED = 4, 5, 7, 8
_DIRECTION = 3
_BY_US = 2


@value(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame of a capture, with its link layer.

    number: in the file, counted from 1. when: ns since the epoch. link: the LINKTYPE_ number.
    outbound: sent by who captured it, None where the file does not say. missing: bytes of it that
    were not captured. interface: counted from 0 through all sections of a file.
    """

    number: int
    when: int
    link: int
    data: bytes
    outbound: bool | None = None
    comment: str = ""
    missing: int = 0
    interface: int = 0


@dataclass(slots=True)
class Statistics:
    """What a pcapng file says of one of its interfaces. frames: that the file has of it. delivered:
    that the capturing program got, by its own count; None where it says nothing. dropped: that it
    did not get."""

    frames: int = 0
    delivered: int | None = None
    dropped: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether nothing was dropped, and all that was captured is still there."""
        return self.delivered == self.frames and not self.dropped


@dataclass(slots=True)
class Contents:
    """What a file says of itself. statistics: by interface, filled as frames are read. flaw: what
    is wrong with its end, "" where it was read to that."""

    statistics: dict[int, Statistics] = field(default_factory=dict)
    flaw: str = ""

    def of(self, interface: int) -> Statistics:
        return self.statistics.setdefault(interface, Statistics())


class _DamagedError(Exception):
    """The file ends, or lies, in the middle of something."""


@value(frozen=True, slots=True)
class _Interface:
    """ticks: of its clock, in a second. offset: seconds to add. snap: most bytes of a frame, or
    0."""

    link: int
    snap: int
    ticks: int = 1_000_000
    offset: int = 0


def read_frames(path: Path) -> list[Frame]:
    """All frames of a capture file, in its order.

    Raises SetupError where it cannot be read, is no capture, or is damaged.
    """
    contents = Contents()
    frames = list(each_frame(path, contents))
    if contents.flaw:
        raise SetupError(f"{contents.flaw}: capture again")
    return frames


def each_frame(path: Path, contents: Contents) -> Iterator[Frame]:
    """The frames of a capture file, in its order, however large it is.

    contents: is told what the file says of itself. Raises SetupError where it cannot be read or is
    no capture; a file that is cut off is read as far as it goes.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(path.open("rb"))
            data = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError as error:
            raise SetupError(f"cannot read {path}: {error.strerror}") from error
        except ValueError as error:
            # An empty file cannot be mapped.
            raise SetupError(f"{path} is empty: give a pcap or pcapng file") from error
        count = 0
        try:
            for frame in _frames(data, path, contents):
                count += 1
                yield frame
        except (_DamagedError, struct.error):
            contents.flaw = f"{path} is damaged or cut off after frame {count}"


def survey(path: Path) -> Contents:
    """What a capture file says of itself, all of it. Raises SetupError as `each_frame` does."""
    contents = Contents()
    for _ in each_frame(path, contents):
        pass
    return contents


def _frames(data: mmap.mmap, path: Path, contents: Contents) -> Iterator[Frame]:
    head = data[:4]
    if int.from_bytes(head, "big") == _SECTION:
        return _pcapng(data, contents)
    for order in "<>":
        unit = _PCAP.get(int.from_bytes(head, "little" if order == "<" else "big"))
        if len(head) == 4 and unit is not None:
            return _pcap(data, order, unit)
    raise SetupError(f"{path} is not a capture: give a pcap or pcapng file")


def _pcap(data: mmap.mmap, order: str, unit: int) -> Iterator[Frame]:
    link = struct.unpack_from(f"{order}I", data, 20)[0] & 0x0FFFFFFF
    head = struct.Struct(f"{order}4I")
    at, number = 24, 0
    while at < len(data):
        seconds, rest, size, true_size = head.unpack_from(data, at)
        at += head.size
        if at + size > len(data):
            raise _DamagedError
        number += 1
        yield Frame(
            number=number,
            when=seconds * _SECOND + rest * unit,
            link=link,
            data=data[at : at + size],
            missing=max(true_size - size, 0),
        )
        at += size


def _pcapng(data: mmap.mmap, contents: Contents) -> Iterator[Frame]:
    order = "<"
    interfaces: list[_Interface] = []
    at = number = last = before = 0
    while at < len(data):
        if int.from_bytes(data[at : at + 4], "big") == _SECTION:
            order = "<" if struct.unpack_from("<I", data, at + 8)[0] == _ORDER else ">"
            before += len(interfaces)
            interfaces = []
        kind, size = struct.unpack_from(f"{order}II", data, at)
        if size < 12 or size % 4 or at + size > len(data):
            raise _DamagedError
        if struct.unpack_from(f"{order}I", data, at + size - 4)[0] != size:
            raise _DamagedError
        body = data[at + 8 : at + size - 4]
        at += size
        if kind == _INTERFACE:
            interfaces.append(_interface(body, order))
        elif kind in (_ENHANCED, _SIMPLE):
            number += 1
            read = _enhanced if kind == _ENHANCED else _simple
            frame = read(body, order, interfaces, number, last, before)
            last = frame.when
            contents.of(frame.interface).frames += 1
            yield frame
        elif kind == _STATISTICS:
            _learn(contents, body, order, before)


def _learn(contents: Contents, body: bytes, order: str, before: int) -> None:
    """Statistics of an interface, of which the last ones of a file hold."""
    found = contents.of(before + struct.unpack_from(f"{order}I", body)[0])
    word: Literal["little", "big"] = "little" if order == "<" else "big"
    told = {code: int.from_bytes(value, word) for code, value in _options(body[12:], order)}
    found.delivered = told.get(_DELIVERED, told.get(_RECEIVED))
    found.dropped = told.get(_IF_DROPPED, 0) + told.get(_OS_DROPPED, 0)


def _interface(body: bytes, order: str) -> _Interface:
    link, _, snap = struct.unpack_from(f"{order}HHI", body)
    options = dict(_options(body[8:], order))
    resolution = (options.get(_RESOLUTION) or b"\x06")[0]
    ticks = 2 ** (resolution & 0x7F) if resolution & 0x80 else 10**resolution
    offset = int.from_bytes(options.get(_OFFSET, b""), "little" if order == "<" else "big")
    return _Interface(link, snap, ticks, offset)


def _enhanced(
    body: bytes, order: str, interfaces: list[_Interface], number: int, _last: int, before: int
) -> Frame:
    index, high, low, size, true_size = struct.unpack_from(f"{order}5I", body)
    if index >= len(interfaces) or 20 + size > len(body):
        raise _DamagedError
    interface = interfaces[index]
    found = _options(body[20 + size + -size % 4 :], order)
    flags = int.from_bytes(dict(found).get(_FLAGS, b""), "little" if order == "<" else "big")
    comments = [content.decode(errors="replace") for code, content in found if code == _COMMENT]
    return Frame(
        number=number,
        when=(high << 32 | low) * _SECOND // interface.ticks + interface.offset * _SECOND,
        link=interface.link,
        data=body[20 : 20 + size],
        outbound=flags & _DIRECTION == _BY_US if flags & _DIRECTION else None,
        comment="; ".join(comments),
        missing=max(true_size - size, 0),
        interface=before + index,
    )


def _simple(
    body: bytes, order: str, interfaces: list[_Interface], number: int, last: int, before: int
) -> Frame:
    """It has no time: that of the frame before."""
    if not interfaces:
        raise _DamagedError
    (true_size,) = struct.unpack_from(f"{order}I", body)
    size = min(true_size, interfaces[0].snap or true_size, len(body) - 4)
    return Frame(
        number=number,
        when=last,
        link=interfaces[0].link,
        data=body[4 : 4 + size],
        missing=true_size - size,
        interface=before,
    )


def _options(data: bytes, order: str) -> list[tuple[int, bytes]]:
    found = []
    at = 0
    while at + 4 <= len(data):
        code, size = struct.unpack_from(f"{order}HH", data, at)
        at += 4
        if code == 0:
            break
        if at + size > len(data):
            raise _DamagedError
        found.append((code, data[at : at + size]))
        at += size + -size % 4
    return found

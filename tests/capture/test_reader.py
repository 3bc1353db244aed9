"""Captures written by other programs."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.capture.link_types import UnknownLinkError, ip_packet
from scapy_tfo.capture.reader import read_frames
from scapy_tfo.errors import SetupError

SECOND = 1_000_000_000
IPV4 = bytes.fromhex("4500001400000000400600000a0000010a000002")
IPV6 = bytes.fromhex("60" + "00" * 39)


def pcap(*records: bytes, order: str = "<", magic: int = 0xA1B2C3D4, link: int = 101) -> bytes:
    return struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link) + b"".join(records)


def record(data: bytes, second: int, rest: int, *, size: int = 0, order: str = "<") -> bytes:
    return struct.pack(f"{order}4I", second, rest, len(data), size or len(data)) + data


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    size = len(body) + 12
    return struct.pack(f"{order}II", kind, size) + body + struct.pack(f"{order}I", size)


def option(code: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4)


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(link: int, options: bytes = b"", order: str = "<", snap: int = 0) -> bytes:
    return block(1, struct.pack(f"{order}HHI", link, 0, snap) + options, order)


def enhanced(
    data: bytes, ticks: int, options: bytes = b"", order: str = "<", index: int = 0, size: int = 0
) -> bytes:
    head = struct.pack(
        f"{order}5I", index, ticks >> 32, ticks & 0xFFFFFFFF, len(data), size or len(data)
    )
    return block(6, head + data + bytes(-len(data) % 4) + options, order)


def written(folder: Path, content: bytes) -> Path:
    path = folder / "capture"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "rest", "ns"), [(0xA1B2C3D4, 7, 7000), (0xA1B23C4D, 7, 7)])
def test_pcap_of_either_byte_order_and_resolution(
    order: str, magic: int, rest: int, ns: int, tmp_path: Path
) -> None:
    content = pcap(
        record(b"abc", 5, rest, order=order),
        record(b"d", 6, 0, size=9, order=order),
        order=order,
        magic=magic,
    )
    first, second = read_frames(written(tmp_path, content))
    assert (first.number, first.when, first.link, first.data) == (1, 5 * SECOND + ns, 101, b"abc")
    assert (first.outbound, first.comment, first.missing) == (None, "", 0)
    assert (second.number, second.missing) == (2, 8)


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_with_comments_directions_and_clocks(order: str, tmp_path: Path) -> None:
    nanoseconds = option(9, b"\x09", order)
    said = option(1, b"one", order) + option(1, b"two", order)
    outbound = option(2, struct.pack(f"{order}I", 2), order)
    content = (
        section(order)
        + interface(1, order=order)
        + interface(101, nanoseconds + option(14, struct.pack(f"{order}q", 3), order), order)
        + block(5, b"statistics..", order)
        + enhanced(b"a", 2_000_001, said + outbound + option(0, b"", order), order)
        + enhanced(b"b", SECOND + 1, option(2, struct.pack(f"{order}I", 1), order), order, index=1)
    )
    first, second = read_frames(written(tmp_path, content))
    assert (first.link, first.when, first.comment) == (1, 2 * SECOND + 1000, "one; two")
    assert first.outbound is True
    assert (second.number, second.link, second.when) == (2, 101, 4 * SECOND + 1)
    assert second.outbound is False


def test_sections_have_interfaces_of_their_own(tmp_path: Path) -> None:
    one = section() + interface(1) + enhanced(b"a", 0)
    other = section(">") + interface(101, order=">") + enhanced(b"b", 0, order=">")
    assert [each.link for each in read_frames(written(tmp_path, one + other))] == [1, 101]


def test_a_simple_packet_has_the_time_of_the_one_before(tmp_path: Path) -> None:
    simple = block(3, struct.pack("<I", 10) + b"abcd")
    content = section() + interface(101, snap=4) + enhanced(b"a", 5_000_000) + simple
    last = read_frames(written(tmp_path, content))[-1]
    assert (last.when, last.data, last.missing) == (5 * SECOND, b"abcd", 6)


WHOLE_PCAP = pcap(record(b"abcd", 1, 0), record(b"efgh", 2, 0))
WHOLE_PCAPNG = section() + interface(101) + enhanced(b"abcd", 0) + enhanced(b"efgh", 0)


@pytest.mark.parametrize("whole", [WHOLE_PCAP, WHOLE_PCAPNG])
def test_a_capture_that_was_cut_off_is_no_shorter_capture(whole: bytes, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="damaged or cut off after frame 1: capture again"):
        read_frames(written(tmp_path, whole[:-3]))


@given(st.sampled_from([WHOLE_PCAP, WHOLE_PCAPNG]), st.integers(0, 200), st.binary(max_size=8))
def test_any_bytes_are_a_capture_or_an_error(whole: bytes, at: int, other: bytes) -> None:
    with TemporaryDirectory() as folder, suppress(SetupError):
        read_frames(written(Path(folder), whole[:at] + other + whole[at + len(other) :]))


@pytest.mark.parametrize(
    "wrong",
    [
        section() + interface(101) + enhanced(b"a", 0, index=1),
        section() + enhanced(b"a", 0),
        section() + block(3, struct.pack("<I", 1) + b"a..."),
        section() + interface(101) + enhanced(b"a", 0)[:-4] + bytes(4),
        section() + interface(101) + enhanced(b"a", 0, struct.pack("<HH", 1, 99)),
    ],
)
def test_a_damaged_capture_is_called_so(wrong: bytes, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="damaged"):
        read_frames(written(tmp_path, wrong))


@pytest.mark.parametrize("content", [b"", b"abc", b"%PDF-1.4 and so on"])
def test_what_is_no_capture_is_called_so(content: bytes, tmp_path: Path) -> None:
    why = "is not a capture" if content else "is empty"
    with pytest.raises(SetupError, match=f"{why}: give a pcap or pcapng file"):
        read_frames(written(tmp_path, content))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"cannot read .*absent: No such file"):
        read_frames(tmp_path / "absent")


MACS = bytes(12)
FRAMES = [
    (101, IPV4),
    (12, IPV6),
    (228, IPV4),
    (0, b"\2\0\0\0" + IPV4),
    (108, b"\0\0\0\2" + IPV4),
    (1, MACS + b"\x08\x00" + IPV4),
    (1, MACS + b"\x81\x00\0\5\x08\x00" + IPV4),
    (1, MACS + b"\x88\xa8\0\5\x81\x00\0\6\x86\xdd" + IPV6),
    (113, bytes(14) + b"\x86\xdd" + IPV6),
    (276, b"\x08\x00" + bytes(18) + IPV4),
]


@pytest.mark.parametrize(("link", "frame"), FRAMES)
def test_the_packet_in_a_frame_of_any_known_link_type(link: int, frame: bytes) -> None:
    assert ip_packet(link, frame) in (IPV4, IPV6)


@pytest.mark.parametrize(
    ("link", "frame"),
    [(1, MACS + b"\x08\x06" + IPV4), (1, MACS), (1, b""), (101, b""), (0, b"\x1e\0\0\0\0")],
)
def test_what_is_no_ip_is_left_out(link: int, frame: bytes) -> None:
    assert ip_packet(link, frame) is None


def test_an_unknown_link_type_is_named() -> None:
    with pytest.raises(UnknownLinkError, match="link type is 127: known are Ethernet"):
        ip_packet(127, IPV4)

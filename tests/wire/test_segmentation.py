"""Devices on which segments come as they were sent, and those on which they may be joined."""

from __future__ import annotations

import fcntl
import os
import struct

import pytest

from scapy_tfo.wire.links.tun import open_tun
from scapy_tfo.wire.segmentation import keeps_segments

TUNSETIFF, TAP, NO_PI, VNET_HDR = 0x400454CA, 0x0002, 0x1000, 0x4000


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize("layer2", [False, True])
def test_a_tun_and_a_tap_keep_them(layer2: bool) -> None:
    fd, name = open_tun(layer2=layer2)
    assert keeps_segments(name)
    os.close(fd)
    assert not keeps_segments(name)


@pytest.mark.usefixtures("namespace")
def test_a_stack_with_headers_of_virtio_may_join_them() -> None:
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"tap7", TAP | NO_PI | VNET_HDR))
    assert not keeps_segments("tap7")
    os.close(fd)


@pytest.mark.parametrize("name", ["lo", "no-such-device", "", "a-name-longer-than-any"])
def test_of_nothing_else_is_it_known(name: str) -> None:
    assert not keeps_segments(name)

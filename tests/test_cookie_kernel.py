"""The running kernel's cookies, predicted byte for byte from its key.

Run as a script inside a network namespace of its own, this file asks the kernel there for a
cookie in each family and prints them.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
from ipaddress import ip_address
from pathlib import Path

import pytest

from scapy_tfo import option
from scapy_tfo.cookie import SipHashCookie, key_to_sysctl
from scapy_tfo.segment import SYN, MalformedPacketError, Segment

K1 = bytes.fromhex("00112233445566778899aabbccddeeff")
K2 = bytes.fromhex("deadbeef0badf00d0102030405060708")
PAIRS = (
    (ip_address("192.0.2.77"), ip_address("192.0.2.1")),
    (ip_address("2001:db8::77"), ip_address("2001:db8::1")),
)

UNSHARE = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
SERVER_BIT = "2"
SYN_TRIES, SYN_TIMER = 50, 0.1


def why_not() -> str:
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "needs /dev/net/tun"
    if not Path("/proc/net/if_inet6").exists():
        return "needs IPv6"
    try:
        subprocess.run([*UNSHARE, "ip", "link"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return "needs iproute2 and a network namespace: CAP_NET_ADMIN or user namespaces"
    return ""


@pytest.mark.parametrize("keys", [(K1,), (K2, K1)], ids=["one key", "primary and backup"])
def test_the_kernel_makes_the_cookie_that_its_primary_key_predicts(keys: tuple[bytes, ...]) -> None:
    if reason := why_not():
        pytest.skip(reason)
    text = ",".join(map(key_to_sysctl, keys))
    child = subprocess.run(
        [*UNSHARE, sys.executable, __file__, text], capture_output=True, text=True, timeout=30
    )
    assert child.returncode == 0, child.stderr
    predicted = [SipHashCookie().make(keys[0], *pair).hex() for pair in PAIRS]
    assert child.stdout.split() == predicted


def ask(keys: str) -> list[str]:
    Path("/proc/sys/net/ipv4/tcp_fastopen").write_text(SERVER_BIT)
    Path("/proc/sys/net/ipv4/tcp_fastopen_key").write_text(keys)
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
    for words in (
        "link set tun0 up",
        "address add 192.0.2.1/24 dev tun0",
        "address add 2001:db8::1/64 dev tun0 nodad",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
        port = listener.getsockname()[1]
        request = option.push_options([option.mss(1400), option.fast_open()])
        cookies = []
        for client, server in PAIRS:
            syn = Segment(
                src=client, dst=server, sport=40000, dport=port, flags=SYN, options=request
            )
            cookies.append(granted(tun, syn).hex())
    return cookies


def granted(tun: int, syn: Segment) -> bytes:
    # An IPv6 address becomes local a little after `ip` has returned; a SYN before that is lost.
    for _ in range(SYN_TRIES):
        os.write(tun, syn.to_bytes())
        while select.select([tun], [], [], SYN_TIMER)[0]:
            try:
                answer = Segment.from_bytes(os.read(tun, 65535))
            except MalformedPacketError:
                continue
            if answer.is_syn_ack and answer.dst == syn.src:
                return answer.cookie or sys.exit("a SYN-ACK without a cookie")
    sys.exit(f"no SYN-ACK after {SYN_TRIES} SYNs to {syn.dst}")


if __name__ == "__main__":
    print(*ask(sys.argv[1]), sep="\n")

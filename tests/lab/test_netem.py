"""A netem link: its effects on datagrams, and the messages that set it up."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from ipaddress import ip_interface

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel.client_network import ClientNetwork
from scapy_tfo.lab.links import netem, qdisc
from scapy_tfo.lab.links.link_model import Shape

NEAR = {4: ip_interface("192.0.2.16/24"), 6: ip_interface("fd00:7413::10/64")}
FAR = {4: ip_interface("192.0.2.1/24"), 6: ip_interface("fd00:7413::1/64")}
TRIES = 5
PLAIN = Shape()

_RECEIVE = """
import json, socket, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)
sock.bind(("0.0.0.0", 9))
print("ready", flush=True)
came = []
sock.settimeout(10.0)
try:
    while True:
        data = sock.recv(2048)
        came.append((time.monotonic(), int.from_bytes(data[:2], "big")))
        sock.settimeout(1.0)
except TimeoutError:
    pass
print(json.dumps(came))
"""
_SEND = """
import socket, sys, time
where, count, size, gap = sys.argv[1], *map(int, sys.argv[2:])
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, 32, 1 << 24)
began = time.monotonic()
for number in range(count):
    sock.sendto(number.to_bytes(2, "big") + bytes(size - 30), (where, 9))
    if gap:
        time.sleep(gap / 1e6)
print(began)
"""

Send = Callable[..., list[tuple[float, int]]]


@pytest.fixture(scope="module")
def send() -> Iterator[Send]:
    """Sends numbered datagrams over a link: when each came, in seconds from the first one's
    leaving, and its number."""
    if why := netem.missing():
        pytest.skip(why)
    ends = ClientNetwork(addresses=NEAR), ClientNetwork(addresses=FAR)
    link = netem.NetemLink(ends[0].pid, ends[1].pid, ["192.0.2.16/32"], ["192.0.2.1/32"])

    def run(
        onward: Shape,
        count: int,
        *,
        homeward: Shape = PLAIN,
        size: int = 1500,
        gap: int = 0,
        back: bool = False,
    ) -> list[tuple[float, int]]:
        """size: bytes of the packet. gap: microseconds between two. back: from the far end."""
        link.set(onward, homeward)
        here, there = reversed(ends) if back else ends
        to = str((NEAR if back else FAR)[4].ip)
        receiver = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _RECEIVE],
            preexec_fn=there.entering(),
            stdout=subprocess.PIPE,
        )
        assert receiver.stdout is not None
        receiver.stdout.readline()
        sent = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _SEND, to, str(count), str(size), str(gap)],
            preexec_fn=here.entering(),
            capture_output=True,
            check=True,
        )
        came = json.loads(receiver.communicate()[0])
        return [(when - float(sent.stdout), number) for when, number in came]

    yield run
    link.close()
    for each in ends:
        each.close()


def numbers(came: list[tuple[float, int]]) -> list[int]:
    return [number for _, number in came]


def test_the_delay_is_of_each_way(send: Send) -> None:
    for back, delay in ((False, 0.03), (True, 0.01)):
        ways = {"homeward": Shape(delay=0.01), "back": back}
        took = [send(Shape(delay=0.03), 1, **ways)[0][0] for _ in range(TRIES)]
        assert delay <= min(took) < delay + 0.001


@pytest.mark.parametrize(
    ("rate", "back", "queue", "count"),
    [(4e6, True, 128 * 1024, 80), (256e3, False, 128 * 1024, 10), (4e6, True, None, 80)],
)
def test_the_rate_of_ip_packets_is_held_within_two_percent(
    send: Send, rate: float, back: bool, queue: int | None, count: int
) -> None:
    ways = [Shape(rate=1e6), Shape(rate=1e6)]
    ways[back] = Shape(rate=rate, queue=queue)
    for _ in range(TRIES):
        came = send(ways[0], count, homeward=ways[1], back=back)
        found = (count - 1) * 1500 * 8 / (came[-1][0] - came[0][0])
        if 0.98 * rate <= found <= 1.02 * rate:
            # The first takes its length, too, as on any wire.
            assert came[0][0] >= 1500 * 8 / rate
            return
    pytest.fail(f"{found:.0f} instead of {rate:.0f} bits a second")


def test_small_packets_take_their_own_length(send: Send) -> None:
    came = send(Shape(rate=256e3, queue=128 * 1024), 100, size=60)
    took = came[-1][0] - came[0][0]
    assert 99 * 60 * 8 / 256e3 * 0.98 <= took <= 99 * 60 * 8 / 256e3 * 1.05


def test_the_queue_is_counted_in_bytes(send: Send) -> None:
    """Of 100 packets 87 fit into 128 KB, while one more is on the wire."""
    came = send(Shape(rate=1e6, queue=128 * 1024), 100)
    assert numbers(came) == [*range(88)]


def test_the_queue_is_in_front_of_the_delay(send: Send) -> None:
    came = send(Shape(rate=256e3, queue=3000, delay=0.2), 10)
    assert numbers(came)[:2] == [0, 1]
    assert len(came) <= 4


def test_loss_is_of_one_way(send: Send) -> None:
    assert len(send(Shape(loss=0.5), 100, size=60, back=True)) == 100
    assert 60 < len(send(Shape(loss=0.5), 200, size=60)) < 140


def test_each_packet_is_doubled(send: Send) -> None:
    assert numbers(send(Shape(duplicate=1.0), 20)) == [n for n in range(20) for _ in range(2)]


def test_some_are_held_back(send: Send) -> None:
    """The others keep their order, and their time."""
    came = send(Shape(delay=0.01, reorder=0.3, hold=0.02), 60, gap=1000)
    assert sorted(numbers(came)) == [*range(60)]
    assert numbers(came) != [*range(60)]
    late = {n for at, n in enumerate(numbers(came)) if any(m > n for m in numbers(came)[:at])}
    assert 4 < len(late) < 35
    kept = [n for n in numbers(came) if n not in late]
    assert kept == sorted(kept)


def test_jitter_keeps_the_order_and_is_no_less_than_the_delay(send: Send) -> None:
    came = send(Shape(delay=0.01, jitter=0.03), 40)
    assert numbers(came) == [*range(40)]
    assert came[0][0] >= 0.01
    assert came[-1][0] >= 0.02


def test_all_of_it_at_once(send: Send) -> None:
    whole = Shape(
        delay=0.01, jitter=0.002, rate=1e6, queue=9000, loss=0.1, duplicate=0.1, reorder=0.1
    )
    assert 0 < len(send(whole, 20, gap=5000)) <= 40


def test_a_kernel_without_it_says_so() -> None:
    if not netem.missing():
        pytest.skip("this kernel has netem")
    with pytest.raises(SetupError, match=r"netem|root"):
        netem.NetemLink(1, 1, ["192.0.2.16/32"], ["192.0.2.1/32"])


def attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while data:
        length, kind = struct.unpack_from("=HH", data)
        found[kind] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found


def said(shape: Shape) -> list[tuple[str, int, int, dict[int, bytes]]]:
    """Kind, handle, parent and attributes of the qdiscs of both devices."""
    found = []
    for chain in (qdisc.first(shape), qdisc.second(shape)):
        for message in qdisc.messages(7, chain):
            length, kind, flags = struct.unpack_from("=IHH", message)
            index, handle, parent = struct.unpack_from("=iII", message, 20)
            assert (length, kind, flags, index) == (len(message), 36, 0x605, 7)
            inside = attributes(message[36:])
            found.append((inside.pop(1).rstrip(b"\0").decode(), handle, parent, inside))
    return found


ROOT = 0xFFFFFFFF


def test_the_messages_of_a_link_with_a_rate() -> None:
    """As `tc` shows: netem delay 10ms rate 34359Mbit, overhead -14; below it tbf rate 4Mbit burst
    2014b limit 128Kb; netem rate 4Mbit packetoverhead -14."""
    first, queue, wire = said(Shape(delay=0.01, rate=4e6, queue=131072))
    assert first[:3] == ("netem", 0x10000, ROOT)
    assert struct.unpack_from("=6I", first[3][2]) == (156250, 1_000_000, 0, 0, 0, 0)
    assert struct.unpack("=BBhiIIII", attributes(first[3][8])[1])[3] == -14
    assert queue[:3] == ("tbf", 0x20000, 0x10001)
    inside = attributes(queue[3][2])
    assert struct.unpack_from("=8xI12xI", inside[1]) == (500_000, 131072)
    assert struct.unpack("=I", inside[6]) == (2014,)
    assert wire[:3] == ("netem", 0x10000, ROOT)
    assert struct.unpack("=IiIi", attributes(wire[3][2][24:])[6]) == (500_000, -14, 0, 0)


def test_the_messages_of_a_link_with_faults() -> None:
    shape = Shape(delay=0.01, jitter=0.004, loss=0.25, duplicate=0.5, reorder=0.1, hold=0.02)
    first, late = said(shape)
    whole = (1 << 32) - 1
    delay, _, loss, _, duplicate, jitter = struct.unpack_from("=6I", first[3][2])
    assert (delay, jitter) == (187500, 31250)
    assert (loss, duplicate) == (round(0.25 * whole), round(0.5 * whole))
    assert struct.unpack_from("=6I", late[3][2])[5] == 312500
    table = struct.unpack("=4096h", attributes(late[3][2][24:])[2])
    assert (set(table), table.count(8192)) == ({0, 8192}, 410)


def test_a_link_without_a_shape_has_no_second_device() -> None:
    assert [each[0] for each in said(PLAIN)] == ["netem"]

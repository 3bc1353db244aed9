"""The switchboard hands each packet to its conversation."""

from __future__ import annotations

from ipaddress import IPv4Address

from scapy_tfo.icmp import IcmpError
from scapy_tfo.segment import ACK, SYN, Segment
from scapy_tfo.suite.switchboard import Switchboard
from scapy_tfo.wire.link import Receiver

OURS, THEIRS = (IPv4Address("192.0.2.10"), 40000), (IPv4Address("192.0.2.1"), 80)
KEY = (*OURS, *THEIRS)
SYN_ACK = Segment(
    src=THEIRS[0], sport=THEIRS[1], dst=OURS[0], dport=OURS[1], flags=SYN | ACK
).to_bytes()


class Clock:
    """A link that only tells the time, and hands in what it is told to."""

    time = 100.0
    receive: Receiver

    def now(self) -> float:
        return self.time

    def start(self, receive: Receiver) -> None:
        self.receive = receive


class Listener:
    owner = "a case"

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def hear(self, _segment: Segment, number: int) -> None:
        self.numbers.append(number)

    def hear_icmp(self, error: IcmpError, number: int) -> None: ...


def test_a_flow_hears_nothing_that_arrived_before_it_was_opened() -> None:
    link, flow = Clock(), Listener()
    board = Switchboard(link)
    board.open(KEY, flow)
    link.receive(SYN_ACK, 99.9)
    assert flow.numbers == []
    link.receive(SYN_ACK, 100.0)
    assert flow.numbers == [2]
    assert [each.comment for each in board.packets] == [
        "for no case (its flow is closed)",
        "for a case",
    ]

"""A link from sources that no kernel owns is a host of its own on the wire."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo import option as opt
from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.segment import ACK, SYN, Address, Segment
from scapy_tfo.wire import neighbours
from scapy_tfo.wire.links import ethernet
from scapy_tfo.wire.links.ethernet import EthernetLink
from scapy_tfo.wire.neighbours import Answer, Question

from .conftest import Inbox, Namespace, ip, listener, resets_sent, unheard

MAC = b"\x02\x00\x00\x00\x00\x07"
UNSPECIFIED = {4: ip_address("0.0.0.0"), 6: ip_address("::")}


@pytest.mark.parametrize(
    ("target", "sources"),
    [("10.7.0.2", ("10.7.0.77", "10.7.0.78")), ("fd07::2", ("fd07::77", "fd07::78"))],
)
def test_a_kernel_across_the_wire_finds_sources_that_nobody_owns(
    neighbour: Namespace, target: str, sources: tuple[str, str]
) -> None:
    async def talk() -> None:
        dst, ours = ip_address(target), [ip_address(each) for each in sources]
        with neighbour.entered():
            server = listener(dst)
        with server:
            link = EthernetLink("veth0", ours, [dst])
            inbox = Inbox(link)
            await link.prepare()
            for source in ours:
                syn = Segment(
                    src=source,
                    dst=dst,
                    sport=link.reserve_port(source),
                    dport=server.getsockname()[1],
                    flags=SYN,
                    options=opt.push_options([opt.mss(1460), opt.fast_open()]),
                )
                link.send(syn.to_bytes())
                answer = await inbox.syn_ack(source)
                assert answer.cookie
                assert answer.checksum is None
                link.send(replace(syn, seq=1, ack=answer.end, flags=ACK, payload=b"hi").to_bytes())
                accepted, peer = server.accept()
                with accepted:
                    assert accepted.recv(10) == b"hi"
                assert peer[:2] == (str(source), syn.sport)
            assert resets_sent() == 0
            with neighbour.entered():
                # The kernel asks for a source whose MAC it has forgotten, and is answered.
                ip("neighbour flush dev veth1")
                assert sources[0] not in ip("neighbour show dev veth1")
            syn = replace(syn, src=ours[0], sport=link.reserve_port(ours[0]))
            link.send(syn.to_bytes())
            await inbox.syn_ack(ours[0])
            link.close()
            link.close()

    asyncio.run(talk())


def test_both_families_share_one_link(neighbour: Namespace) -> None:
    async def talk() -> None:
        targets = [ip_address("10.7.0.2"), ip_address("fd07::2")]
        ours = [ip_address("10.7.0.77"), ip_address("fd07::77")]
        link = EthernetLink("veth0", ours, targets)
        inbox = Inbox(link)
        await link.prepare()
        for src, dst in zip(ours, targets, strict=True):
            # Nobody listens there: the kernel across the wire answers with RST.
            syn = Segment(src=src, dst=dst, sport=link.reserve_port(src), dport=9, flags=SYN)
            link.send(syn.to_bytes())
            answer = await inbox.segment()
            assert answer.is_rst
            assert answer.src == dst
        link.close()

    del neighbour
    asyncio.run(talk())


def test_a_gateway_is_asked_for_in_the_place_of_the_target(neighbour: Namespace) -> None:
    async def talk() -> None:
        far, gateway = ip_address("10.8.0.1"), ip_address("10.7.0.2")
        ours = ip_address("10.7.0.77")
        with neighbour.entered():
            ip("address add 10.8.0.1/32 dev lo")
        link = EthernetLink("veth0", [ours], [far], via={far: gateway})
        inbox = Inbox(link)
        await link.prepare()
        link.send(Segment(src=ours, dst=far, sport=5000, dport=9, flags=SYN).to_bytes())
        assert (await inbox.segment()).src == far
        link.close()

    asyncio.run(talk())


def test_an_address_in_use_is_refused(neighbour: Namespace) -> None:
    async def talk() -> None:
        link = EthernetLink("veth0", [ip_address("10.7.0.3")], [ip_address("10.7.0.2")])
        link.start(unheard)
        with pytest.raises(SetupError, match=r"10\.7\.0\.3 is in use on veth0 by"):
            await link.prepare()
        link.close()

    with neighbour.entered():
        ip("address add 10.7.0.3/24 dev veth1")
    asyncio.run(talk())


class Stack:
    """A target of a few lines behind a TAP: it answers what `rule` lets it answer."""

    def __init__(self, fd: int, address: Address, rule: Callable[[Question], bool]) -> None:
        self.asked: list[Question] = []
        self.frames: list[bytes] = []
        self._fd, self._address, self._rule = fd, address, rule
        asyncio.get_running_loop().add_reader(fd, self._read)

    def write(self, mac: bytes, packet: bytes) -> None:
        os.write(self._fd, neighbours.ethernet(mac, MAC, 0x0800) + packet)

    def _read(self) -> None:
        frame = os.read(self._fd, 2000)
        told = neighbours.read(frame)
        if not isinstance(told, Question):
            self.frames.append(frame)
        elif told.asked == self._address:
            self.asked.append(told)
            if self._rule(told):
                os.write(self._fd, neighbours.reply(MAC, told))


def test_a_stack_that_answers_one_source_at_a_time_is_asked_again(
    tap: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def talk() -> None:
        monkeypatch.setattr(ethernet, "_WAITS", (0.02, 0.02))
        dst = ip_address("10.7.0.2")
        ours = [ip_address(f"10.7.0.{number}") for number in range(70, 76)]

        def each_a_round_later_than_the_last(question: Question) -> bool:
            asked = [each.asker for each in stack.asked]
            return asked.count(question.asker) > ours.index(question.asker)

        stack = Stack(tap, dst, each_a_round_later_than_the_last)
        link = EthernetLink("tap0", ours, [dst])
        link.start(unheard)
        await link.prepare()
        assert len(stack.asked) == 1 + 2 + 3 + 4 + 5 + 6
        link.close()

    asyncio.run(talk())


@pytest.mark.parametrize("target", ["10.7.0.2", "fd07::2"])
def test_a_silent_target_is_named(tap: int, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk() -> None:
        monkeypatch.setattr(ethernet, "_WAITS", (0.01, 0.01, 0.01))
        dst = ip_address(target)
        ours = ip_address("10.7.0.77" if dst.version == 4 else "fd07::77")
        stack = Stack(tap, dst, lambda _: False)
        link = EthernetLink("tap0", [ours], [dst])
        link.start(unheard)
        with pytest.raises(TargetError, match=f"{target} does not answer {ours} on tap0"):
            await link.prepare()
        assert [each.asker for each in stack.asked] == [ours] * 3
        link.close()

    asyncio.run(talk())


def test_a_wrong_checksum_stays_wrong_and_padding_goes(tap: int) -> None:
    async def talk() -> None:
        dst, ours = ip_address("10.7.0.2"), ip_address("10.7.0.77")
        stack = Stack(tap, dst, lambda _: True)
        link = EthernetLink("tap0", [ours], [dst])
        inbox = Inbox(link)
        await link.prepare()
        mac = stack.asked[0].mac
        assert mac[0] & 3 == 2, "locally administered, and no group"
        wrong = Segment(src=dst, dst=ours, sport=80, dport=5000, flags=ACK, checksum=0x1234)
        stack.write(mac, wrong.to_bytes() + bytes(6))
        stack.write(mac, replace(wrong, dst=ip_address("10.7.0.78")).to_bytes())
        assert (await inbox.packet())[0] == wrong.to_bytes()
        assert await inbox.is_silent()
        link.close()

    asyncio.run(talk())


def test_questions_about_others_are_left_to_others(tap: int) -> None:
    async def talk() -> None:
        ours = ip_address("fd07::77")
        link = EthernetLink("tap0", [ours], [ip_address("fd07::2")])
        link.start(unheard)
        os.write(tap, neighbours.ask(MAC, ip_address("fd07::2"), ip_address("fd07::78")))
        os.write(tap, neighbours.ask(MAC, UNSPECIFIED[6], ours))
        await asyncio.sleep(0.05)
        (told,) = [neighbours.read(frame) for frame in _all_frames(tap)]
        assert isinstance(told, Answer)
        assert (told.address, told.to) == (ours, ip_address("ff02::1"))
        link.close()

    asyncio.run(talk())


def _all_frames(fd: int) -> list[bytes]:
    frames = []
    while True:
        try:
            frames.append(os.read(fd, 2000))
        except BlockingIOError:
            return frames


MACS = st.binary(min_size=6, max_size=6)
PAIRS = st.one_of(
    st.tuples(st.ip_addresses(v=4), st.ip_addresses(v=4)),
    st.tuples(st.ip_addresses(v=6), st.ip_addresses(v=6)),
)


@given(MACS, MACS, PAIRS)
def test_a_question_and_its_answer_are_read_as_they_were_written(
    mac: bytes, other: bytes, pair: tuple[Address, Address]
) -> None:
    asker, asked = pair
    question = neighbours.read(neighbours.ask(mac, asker, asked))
    assert question == Question(asked, asker, mac)
    answer = neighbours.read(neighbours.reply(other, question))
    to = ip_address("ff02::1") if asker == UNSPECIFIED[6] else asker
    assert answer == Answer(asked, other, to)


@given(st.binary(max_size=120))
def test_no_frame_upsets_the_reader(frame: bytes) -> None:
    neighbours.read(frame)
    for ethertype in (b"\x08\x06", b"\x86\xdd"):
        neighbours.read(frame[:12] + ethertype + frame[14:])

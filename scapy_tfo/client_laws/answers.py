"""Ways in which a server or a path answers a SYN, to be drawn by chance.

Each says in the client's `Memory` what it may learn, and demands what holds whatever came before.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.client_laws.memory import Memory
from scapy_tfo.client_laws.onset import plain_syn_again
from scapy_tfo.client_laws.promptness import prompt
from scapy_tfo.clients.connection import BODY, Incoming
from scapy_tfo.clients.server import Server
from scapy_tfo.icmp import packet_too_big, unreachable
from scapy_tfo.option import RawOption
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, Segment
from scapy_tfo.suite.outcome import judging

_MSS = (1460, 1460, 1200, 700, 300)
_SIZES = (4, 6, 8, 8, 8, 10, 16)
_INVALID = (1, 2, 3, 5, 7, 9, 15, 17, 18)
_AGAIN = 8.0
"""Seconds within which what was lost comes again, three times in a row."""
_PORT_UNREACHABLE = {4: 3, 6: 4}
_MTU = {4: 1340, 6: 1360}
_LONG = BODY * 3000


@dataclass(slots=True)
class Turn:
    """One connection of the conversation: the client's, with all that answering it takes."""

    server: Server
    client: Incoming
    memory: Memory
    dice: random.Random

    @property
    def size(self) -> int:
        """Bytes of text in the SYN."""
        return len(self.client.first.payload)

    @property
    def opens(self) -> bool:
        """The SYN is a fast open: it has a cookie."""
        return self.client.option is not None and bool(self.client.option.cookie)

    def learnt(self, taken: int, cookie: bytes, *, asked: bool) -> None:
        """A SYN-ACK was taken that acknowledged so much, and had that cookie, or none."""
        self.memory.mss = self.client.mss
        if cookie:
            self.memory.grant(cookie, self.server.port)
        elif self.opens and self.size and not taken:
            self.memory.harm(self.server.port)
        elif self.opens and taken < self.size:
            # Of a part that was taken, the standard does not say whether it is a negative answer.
            self.memory.harmed.add(self.server.port)
        elif asked:
            self.memory.unanswered.add(self.server.port)


Answer = Callable[[Turn], Awaitable[None]]


def _drawn_options(turn: Turn) -> tuple[bytes, list[RawOption]]:
    """A cookie to grant, b"" for none, and other options; an invalid cookie among them at times."""
    dice = turn.dice
    asks = turn.client.option is not None
    cookie = dice.randbytes(dice.choice(_SIZES)) if asks and dice.random() < 0.4 else b""
    others: list[RawOption] = []
    if not cookie and dice.random() < 0.4:
        others = [opt.fast_open(dice.randbytes(dice.choice(_INVALID)))]
    return cookie, others


def _taken(turn: Turn) -> int:
    size = turn.size
    return turn.dice.choice((size, size, 0, 0, size // 2, max(size - 1, 0)))


async def plain_answer(turn: Turn) -> None:
    """A SYN-ACK for any part of the data, with or without a cookie, and any MSS."""
    client, dice = turn.client, turn.dice
    taken = _taken(turn)
    cookie, others = _drawn_options(turn)
    asked = client.option is not None and client.option.is_request
    client.mss = dice.choice(_MSS)
    front = [opt.nop(), opt.nop()] if dice.random() < 0.3 else []
    granted = [client.granting(cookie)] if cookie else []
    behind = [opt.nop(), opt.nop()] if dice.random() < 0.3 else []
    data = client.reply()[:4] if dice.random() < 0.25 else b""
    client.answer(taken, options=[*front, *granted, *others, *behind], data=data)
    if dice.random() < 0.15:
        client.answer(taken, options=[*front, *granted, *others, *behind], data=data)
    turn.learnt(taken, cookie, asked=asked)
    await goes_on(turn, taken, is_clean=not data)


async def goes_on(turn: Turn, taken: int, *, is_clean: bool) -> None:
    """The conversation behind a handshake, with what may befall it."""
    client, dice = turn.client, turn.dice
    chance = dice.random()
    if chance < 0.1:
        await _lost(turn)
    elif chance < 0.2:
        client.send(ACK, options=[opt.fast_open(dice.randbytes(8))], ack=client.rcv_nxt)
    elif chance < 0.3:
        await _reset_later(turn)
        return
    elif chance < 0.4:
        await client.text(within=_AGAIN)
        await client.pause(4.0)
    elif chance < 0.5 and is_clean:
        await client.acked()
        client.answer(taken, late=True)
    elif is_clean and turn.server.dialogue.chosen:
        await prompt(client, len(turn.server.text))
    with judging("CLI-6a"):
        await client.serve(_LONG if chance > 0.9 else BODY, within=_AGAIN)


async def _lost(turn: Turn) -> None:
    left = turn.dice.choice((1, 2))

    def falls(segment: Segment) -> bool:
        nonlocal left
        if not segment.payload or segment.flags & SYN or not left:
            return False
        left -= 1
        return True

    turn.client.lose(falls)


async def _reset_later(turn: Turn) -> None:
    client = turn.client
    await client.text(within=_AGAIN)
    # What it acknowledges tells the number at which a RST counts at once (RFC 5961 3.2).
    await client.pause(0.1)
    options = [opt.fast_open(turn.dice.randbytes(8))] if turn.dice.random() < 0.5 else []
    client.send(RST | ACK, options=options, seq=client.their_rcv_nxt, ack=client.rcv_nxt)
    with judging("CLI-22"):
        await turn.server.must_be_told(client, "a RST behind the handshake")


async def refused_by_rst(turn: Turn) -> None:
    """A RST in answer to the SYN, of a wrong number first, at times."""
    client = turn.client
    if turn.dice.random() < 0.3:
        client.send(RST | ACK, seq=0, ack=seq.add(client.first.seq, 5000), window=0)
        await client.pause(0.05)
    client.refuse()
    if turn.opens:
        turn.memory.harm(turn.server.port)
    with judging("CLI-22"):
        await turn.server.must_be_told(client, "a RST")


async def silence(turn: Turn) -> None:
    """One or two SYNs stay unanswered; the SYN-ACK is for the SYN alone, or late for the data."""
    client = turn.client
    for _ in range(turn.dice.choice((1, 1, 2))):
        await plain_syn_again(client, within=_AGAIN)
    taken = turn.dice.choice((0, turn.size))
    client.answer(taken)
    turn.learnt(taken, b"", asked=False)
    with judging("CLI-6a"):
        await client.serve(within=_AGAIN)


async def wrong_number(turn: Turn) -> None:
    """A SYN-ACK for more than was sent, or for nothing: a RST answers it, and the next counts."""
    client = turn.client
    ack = seq.add(client.first.seq, turn.dice.choice((0, turn.size + 2, turn.size + 1000)))
    client.answer(ack=ack, late=True)
    with judging("CLI-15"):
        await client.refused(ack)
    client.answer()
    turn.learnt(turn.size, b"", asked=False)
    with judging("CLI-15"):
        await client.serve(within=_AGAIN)


async def crossing(turn: Turn) -> None:
    """Our SYN crosses the client's, with data or without, and then takes its data or nothing."""
    client = turn.client
    client.cross(client.reply()[:4] if turn.dice.random() < 0.5 else b"")
    with judging("CLI-17"):
        found = await client.expect(
            "a SYN-ACK for the SYN that crossed",
            lambda each: bool(each.flags & SYN and each.flags & ACK),
        )
        client.require(
            found.seq == client.first.seq,
            "the client's SYN-ACK has another sequence number than its SYN",
            f"sequence number {client.first.seq}",
            str(found),
        )
        if turn.dice.random() < 0.5:
            client.answer()
        else:
            client.send(ACK, ack=client.their_next(0))
        await client.serve(within=_AGAIN)
    # Which of both SYNs told the client what, nobody says.
    turn.memory.harm(turn.server.port)
    turn.memory.pauses.pop(turn.server.port)
    turn.memory.mss = None if turn.memory.mss is None else min(turn.memory.mss, client.mss)


async def too_big(turn: Turn) -> None:
    """The path does not take so large a SYN: a smaller one comes, and the data arrives once."""
    client, mtu = turn.client, _MTU[turn.server.family]
    if len(client.first.to_bytes()) <= mtu:
        await plain_answer(turn)
        return
    client.lose(lambda each: len(each.to_bytes()) > mtu)
    client.send_icmp(packet_too_big(client.first.to_bytes(), mtu=mtu))
    with judging("CLI-20"):
        await client.syn_again("a smaller SYN")
        client.answer(0)
        await client.serve(within=_AGAIN)
    turn.learnt(0, b"", asked=False)


async def icmp(turn: Turn) -> None:
    """Port unreachable: the application is told, or the SYN comes again."""
    client, server = turn.client, turn.server
    quoted = client.first.to_bytes()
    client.send_icmp(unreachable(quoted, code=_PORT_UNREACHABLE[server.family]))
    if turn.opens:
        turn.memory.harm(server.port)
    assert server.application is not None
    ended = asyncio.ensure_future(server.application.ended())
    again = asyncio.ensure_future(client.syn_again("the SYN, sent again", within=_AGAIN))
    try:
        await asyncio.wait([ended, again], return_when=asyncio.FIRST_COMPLETED)
        gave_up = ended.done()
    finally:
        for each in (ended, again):
            each.cancel()
        await asyncio.gather(ended, again, return_exceptions=True)
    with judging("CLI-22"):
        if gave_up:
            await server.must_be_told(client, "an unreachable port")
            return
        client.answer(0)
        await client.serve(within=_AGAIN)


async def end_in_the_syn_ack(turn: Turn) -> None:
    """The whole answer and the FIN come with the SYN-ACK for all of the data."""
    client = turn.client
    reply = client.reply()
    client.answer(data=reply, flags=PSH | FIN)
    turn.learnt(turn.size, b"", asked=client.option is not None and client.option.is_request)
    with judging("CLI-19"):
        wanted = seq.add(client.isn, 2 + len(reply))
        await client.until(
            "an acknowledgement of our answer and FIN",
            lambda: not seq.before(client.their_rcv_nxt, wanted),
        )
        await client.text(within=_AGAIN)
        await client.closes()


ANSWERS: tuple[tuple[Answer, int], ...] = (
    (plain_answer, 12),
    (silence, 3),
    (refused_by_rst, 2),
    (wrong_number, 2),
    (crossing, 2),
    (too_big, 3),
    (icmp, 1),
    (end_in_the_syn_ack, 1),
)
"""Each with its weight."""

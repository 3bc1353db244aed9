"""Plays one flow by hand: tells the oracle what is sent and what comes, and keeps its judgement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scapy_tfo.oracle.arrives.segment import sound
from scapy_tfo.oracle.obligations import debt_of, overdue
from scapy_tfo.oracle.parts.application import Application, Echo
from scapy_tfo.oracle.parts.attribution import clause_of
from scapy_tfo.oracle.parts.events import Sent
from scapy_tfo.oracle.parts.pending import Room
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.oracle.parts.rules import new_watch
from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.oracle.replies.dispatch import came
from scapy_tfo.packet import Reply, flags_of
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.options import Times, offer_of, render
from scapy_tfo.program.payload import text
from scapy_tfo.program.program import SMALL, Cookie, Flow, Option

MSS, REQUEST = Option("mss", 1460), Option("fo")
VALID = Option("fo", cookie=Cookie())
SPOILT = Option("fo", cookie=Cookie("own", (("flip", 3),)))
GOOD = (MSS, VALID)
TIMED = (Option("nop"), Option("nop"), Option("ts"))

ISN, ISS = 5000, 0x7FFFFFF0
GRANTED = bytes.fromhex("1122334455667788")
ANOTHER = bytes.fromhex("99aabbccddeeff00")
"""Cookies of the first client and of the second."""

_MASK = 0xFFFFFFFF


def full_jar() -> Jar:
    jar = Jar()
    for family in (4, 6):
        jar.grant((family, 0), GRANTED, 0.0)
        jar.grant((family, 1), ANOTHER, 0.0)
    return jar


class Conversation:
    """A flow with the first client at a target that has granted GRANTED. Numbers are relative."""

    def __init__(
        self,
        jar: Jar | None = None,
        profile: Profile | None = None,
        room: Room | None = None,
        *,
        index: int = 0,
        port: str = "main",
        isn: int = ISN,
        application: Application | None = None,
        certain: bool = True,
    ) -> None:
        self.certain = certain
        self.jar = full_jar() if jar is None else jar
        self.link = Connection(
            Flow(port=port),
            index,
            self.jar,
            profile or Profile(fresh=True),
            room,
            watch=new_watch(),
            application=application or Echo(),
            isn=isn,
        )
        self.now = 0.0
        self.clock = 1000

    # What we do.

    def at(self, now: float) -> Conversation:
        """Time goes on to `now`, in seconds."""
        self.link.waited(now - self.now, now)
        self.now = now
        return self

    def send(
        self,
        flags: str,
        seq: int = 0,
        ack: int | str | None = None,
        size: int = 0,
        options: Sequence[Option] = (),
        *,
        window: int = 65535,
        wrong: bool = False,
    ) -> Conversation:
        block = render(options, Times(self.clock, 0), self.jar, self.link.client, {})
        assert block is not None
        number = self.link.inbound.received if ack == "all" else ack
        assert number is None or isinstance(number, int)
        sent = Sent(
            seq,
            flags_of(flags),
            number,
            size,
            window,
            offer_of(block),
            tuple(options),
            self.now,
            wrong,
            self.certain,
        )
        sound(self.link, sent)
        return self

    def syn(
        self, seq: int = 0, size: int = 0, options: Sequence[Option] = (MSS,), window: int = 65535
    ) -> Conversation:
        return self.send("S", seq, None, size, options, window=window)

    def opened(self, size: int = 20, options: Sequence[Option] = GOOD) -> Conversation:
        """A fast open whose data is taken, and the ACK that ends the handshake."""
        return self.syn(size=size, options=options).answered(taken=size).send(".", 1 + size, 1)

    # What the target does.

    def came(
        self,
        flags: str,
        seq: int = 0,
        ack: int = 0,
        payload: bytes = b"",
        options: Sequence[Option] = (),
        *,
        window: int = 65535,
        sound: bool = True,
        accurate: bool = False,
        clock: int = 5000,
        echo: int = 1000,
    ) -> Conversation:
        """A segment of the target's. seq: from its ISS, ack: from our ISN."""
        block = render(options, Times(clock, echo), self.jar, self.link.client, {})
        assert block is not None
        reply = Reply(
            (ISS + seq) & _MASK,
            (self.link.isn + ack) & _MASK,
            flags_of(flags),
            window,
            block,
            payload,
            sound,
            accurate,
        )
        came(self.link, reply, self.now, -1)
        return self

    def answered(
        self, taken: int = 0, options: Sequence[Option] = (MSS,), **more: object
    ) -> Conversation:
        """A SYN-ACK that takes so many bytes of the last SYN's text."""
        return self.came("S.", 0, self.link.outbound.base + 1 + taken, b"", options, **more)

    def echoed(
        self, seq: int, size: int, flags: str = "P.", ack: int | None = None
    ) -> Conversation:
        """The echo of what we said, from there on."""
        number = self.link.outbound.acked if ack is None else ack
        return self.came(
            flags, seq, number, text(self.link.index, self.link.outbound.base + seq, size)
        )

    # What is made of it.

    @property
    def broken(self) -> list[tuple[str, str]]:
        """Rules that were broken, and the requirements named for it."""
        return [(each.rule, each.requirement) for each in self.link.evidence.violations]

    @property
    def owed(self) -> tuple[str, str] | None:
        """What is owed now, and whose requirement that is."""
        debt = debt_of(self.link)
        if debt is None:
            return None
        return debt.rule, clause_of(debt.group, self.link.evidence.features, debt.requirement)

    @property
    def overdue(self) -> str | None:
        """What should have come again by now."""
        debt = overdue(self.link, self.now)
        return None if debt is None else debt.rule


def crowd(count: int, *, alone: bool = True) -> tuple[Room, list[Conversation]]:
    """Flows at a listener with room for SMALL pending fast opens."""
    room = Room(SMALL, alone=alone)
    jar = full_jar()
    profile = Profile(fresh=alone)
    return room, [
        Conversation(jar, profile, room, index=index, port="small") for index in range(count)
    ]


# How conversations begin, and what they have in common.

ASKS = (MSS, REQUEST)
OFFERS = (MSS, Option("ts"), VALID)
FRESH = bytes.fromhex("0102030405060708")

Begin = Callable[[], Conversation]
Steps = Callable[[Conversation], Conversation]
Case = tuple[Begin, Steps, Steps, tuple[str, str]]
"""A beginning, what goes on wrong, what goes on right, and what the wrong one breaks."""


def new(**more: Any) -> Conversation:
    return Conversation(**more)


def half_open(size: int = 20, options: Sequence[Option] = GOOD) -> Conversation:
    return new().syn(size=size, options=options).answered(taken=size)


def opened(size: int = 20, options: Sequence[Option] = GOOD) -> Conversation:
    return new().opened(size, options)


def cookie(data: bytes, kind: int | None = None) -> tuple[Option, ...]:
    """Options of a SYN-ACK that grants a cookie."""
    return (MSS, Option("fo", kind=kind, cookie=Cookie(data.hex())))

"""A client under judgement, and one run of its application, as a case sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from scapy_tfo.clients.relay.upstream import Upstream
from scapy_tfo.segment import Address
from scapy_tfo.wire.link import Link

MD5, PADDING = "TCP MD5", "padding"
"""What may take the room of a cookie among a SYN's options. Who signs wants signed answers."""


_OPTIONS, _BITS = 5, 7
_SYN_DATA = 0x20

NO_COOKIE, NOT_ACKNOWLEDGED, SENT_AGAIN = "no cookie", "data not acknowledged", "SYN sent again"
_FAILS = ("", NO_COOKIE, NOT_ACKNOWLEDGED, SENT_AGAIN)


@dataclass(frozen=True, slots=True)
class KernelWord:
    """Linux's report on a connection: TCP_INFO (include/uapi/linux/tcp.h).

    accepted: the SYN's data was acknowledged by the SYN-ACK (TCPI_OPT_SYN_DATA). failed: why
    fast open did not happen (tcpi_fastopen_client_fail), "" where it did, or was not tried.
    """

    accepted: bool
    failed: str

    def __str__(self) -> str:
        return f"SYN data acknowledged: {self.accepted}" + f" ({self.failed})" * bool(self.failed)

    @classmethod
    def read(cls, info: bytes) -> KernelWord:
        """Of the bytes of TCP_INFO. Raises ValueError where they are too few."""
        if len(info) <= _BITS:
            raise ValueError(f"TCP_INFO of {len(info)} bytes")
        return cls(bool(info[_OPTIONS] & _SYN_DATA), _FAILS[info[_BITS] >> 1 & 3])


@dataclass(frozen=True, slots=True)
class Ended:
    """How an application ended.

    status: 0 where all went well for it. received: what it made of our answer. said: its last
    words, "" for none. word: what its kernel says of the connection, where it can be asked.
    """

    status: int
    received: bytes
    said: str = ""
    word: KernelWord | None = None


class Application(Protocol):
    """One run: it connects once, sends its text, reads until the end, and is done."""

    async def ended(self) -> Ended:
        """How it ended; waits for it."""
        ...

    def kill(self) -> None:
        """End it, if it has not; harmless when called twice."""
        ...


class Dialogue(Protocol):
    """What client and server say to each other. chosen: whether the client's text is ours to
    choose, in content and size. relay: a real server that leads the conversation; None
    where we do. `is_complete` and `answer` raise Skipped where that is so."""

    name: str
    chosen: bool
    relay: Upstream | None

    def is_complete(self, text: bytes, heard: bytes) -> bool:
        """Whether `heard` is all that the client has to say. text: what it was given."""
        ...

    def wrong(self, text: bytes, heard: bytes) -> str:
        """What is wrong with what was heard so far, "" for nothing."""
        ...

    def answer(self, body: bytes) -> bytes:
        """What the server says so that the application receives `body`."""
        ...


class Client(Protocol):
    """What is judged.

    name: as in reports. link: every packet of the client's for addresses of `servers` comes by
    it. dialogue: of its applications. families: 4, 6. can_be_plain: they can do without fast open.
    writes_at_once: it is known that they have their text when they connect.
    is_fresh: it cannot have heard of our servers before the run. direct: its packets come by the
    link as they were sent, each once and in order. unchanged: what is on the way, if anything,
    changes no packet. crowding: what can take the room of a cookie in its SYN, MD5 or PADDING; ""
    where nothing can.
    """

    name: str
    link: Link
    dialogue: Dialogue
    families: tuple[int, ...]
    can_be_plain: bool
    writes_at_once: bool
    is_fresh: bool
    direct: bool
    unchanged: bool
    crowding: str

    def server(self, family: int) -> Address:
        """An address of ours that the client has never heard of. Raises SetupError where they
        run short."""
        ...

    async def start(
        self, address: Address, port: int, text: bytes, *, ask: bool, crowded: bool = False
    ) -> Application:
        """Start an application that connects there and sends a text. ask: for fast open. crowded:
        with little room among its options, where there is `crowding`.

        Raises SetupError where it cannot be started.
        """
        ...

    def counters(self) -> dict[str, int]:
        """What its kernel counted of fast opens, by TcpExt names; nothing where others count
        there as well, or nobody does."""
        ...

    def close(self) -> None:
        """End every application, and give everything back; harmless when called twice."""
        ...

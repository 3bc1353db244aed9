"""The observations of a path: connections, as both of their ends saw them."""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from dataclasses import dataclass

from scapy_tfo.icmp import IcmpError
from scapy_tfo.middleboxes.box import read
from scapy_tfo.option import Form
from scapy_tfo.segment import Address, Segment


class Probe(enum.Enum):
    """How a connection of ours begins."""

    PLAIN = "plain SYN"
    MIRROR = "plain SYN, to a port that puts a cookie into every SYN-ACK"
    REQUEST = "cookie request"
    REQUEST_254 = "cookie request, kind 254"
    COOKIE = "cookie without data"
    DATA = "data without the option"
    FAST_OPEN = "cookie and some data"
    FAST_OPEN_FULL = "cookie and as much data as fits"
    FAST_OPEN_254 = "cookie and some data, kind 254"
    COOKIE_SIZED = "cookie of another length, made up"
    SIZED = "cookie and data, to find how much passes"
    AFTERWARDS = "plain SYN, behind all others"


@functools.lru_cache(1 << 14)
def _read(packet: bytes) -> Segment | None:
    """Each packet is looked at many times. What was damaged on its way says nothing."""
    segment = read(packet)
    if segment is None or segment.checksum is not None or segment.data_offset is not None:
        return None
    return segment


FAST_OPENS = (Probe.FAST_OPEN, Probe.FAST_OPEN_FULL)
WITH_DATA = (*FAST_OPENS, Probe.DATA)
SYN_DATA = {*WITH_DATA, Probe.FAST_OPEN_254, Probe.SIZED}
"""Kinds of connection whose SYN has data, those for other purposes too."""

SEARCHES = (Probe.COOKIE_SIZED, Probe.SIZED)
REQUESTS = {Probe.REQUEST: Form.IANA, Probe.REQUEST_254: Form.EXPERIMENT_2}


@dataclass(frozen=True, slots=True)
class Sighting:
    """A packet at one end. when: seconds on that end's own clock. sent: it left there."""

    when: float
    sent: bool
    packet: bytes

    @property
    def segment(self) -> Segment | None:
        """None for what is none, or was damaged."""
        return _read(self.packet)

    @property
    def icmp(self) -> IcmpError | None:
        return IcmpError.from_bytes(self.packet)


@dataclass(frozen=True, slots=True)
class Heard:
    """What the far application read on one connection. peer: as the far end sees it."""

    peer: tuple[str, int]
    received: bytes


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One connection.

    text: what the near application sent, in two pieces: the second when the first was echoed.
    cookie: that the SYN carried. near: in order; far: of the whole run, None where nobody looked.
    answer: what came back. error: of the connection, "" for none. seconds: from the SYN to the
    first piece's echo (or acknowledgement, where nobody echoes); None where it never came. closed:
    when the near end stopped listening, in seconds on its clock.
    """

    probe: Probe
    source: tuple[Address, int]
    port: int
    cookie: bytes = b""
    text: tuple[bytes, bytes]
    near: Sequence[Sighting]
    answer: bytes = b""
    error: str = ""
    seconds: float | None = None
    complete: bool = False
    closed: float


@dataclass(frozen=True, kw_only=True)
class Observations:
    """All of a run, over one family.

    far: what the far end's interface saw, in order; None where there is no agent, or it could not
    be asked. heard: what its applications read. echoes: the server sends back what it is sent.
    closed: when the far end was asked, in seconds on the near clock.
    """

    server: Address
    trials: Sequence[Trial]
    far: Sequence[Sighting] | None = None
    heard: Sequence[Heard] = ()
    echoes: bool = True
    closed: float

    def of(self, *probes: Probe) -> list[Trial]:
        """The trials that began so, in order."""
        return [each for each in self.trials if each.probe in probes]

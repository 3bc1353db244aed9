"""Compares captures of both ends of a path: what it did to the packets of each fast open.

A packet is the same at both ends by its sequence number, its SYN, FIN and RST, and its TSval;
without timestamps, by its IPv4 identification. A connection is the same by its addresses and ports,
or, behind a translator, by the server's and its ISN. The clocks are compared by the fastest SYN and
SYN-ACK, which are taken for equally fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from scapy_tfo.capture.comparing.deed import Deed
from scapy_tfo.capture.comparing.deeds import deeds_of
from scapy_tfo.capture.comparing.fates import DROPPED, NOT_CAPTURED, Clocks, Fate, Matched, Span
from scapy_tfo.capture.comparing.packets import Way
from scapy_tfo.capture.comparing.talk import Talk
from scapy_tfo.capture.connections import Captured, Connection, End, captured, connections
from scapy_tfo.capture.reader import read_frames
from scapy_tfo.errors import SetupError
from scapy_tfo.segment import Segment


@dataclass(frozen=True, slots=True)
class Compared:
    """A connection with a fast open. syn: bytes of data in its first SYN. outside: the client's
    address and port as the server sees them, "" where it sees nothing."""

    client: str
    server: str
    syn: int
    fates: tuple[Fate, ...]
    outside: str = ""

    @property
    def done(self) -> tuple[Fate, ...]:
        """What the path did: fates other than `passed` and `not captured`."""
        return tuple(each for each in self.fates if each.is_done)


@dataclass(slots=True)
class Pair:
    """Two hosts: their SYNs with data and without, how many of each were dropped, and what the path
    does."""

    client: str
    server: str
    with_data: int = 0
    with_data_dropped: int = 0
    plain: int = 0
    plain_dropped: int = 0
    deeds: tuple[Deed, ...] = ()


@dataclass(frozen=True, slots=True)
class Delays:
    """ns one way: the fastest packet's, the median, and the slowest packet's."""

    fastest: int
    median: int
    slowest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """offset: ns that the server's clock is ahead, by the fastest packets. delay: ns that these
    took one way; to_server, to_client: what all took, by those clocks. None where one direction has
    no packet that passed."""

    connections: tuple[Compared, ...]
    offset: int | None
    delay: int | None
    pairs: tuple[Pair, ...]
    to_server: Delays | None = None
    to_client: Delays | None = None


def compare(client: Path, server: Path) -> Comparison:
    """Compare the capture of the client's end with the server's.

    Raises SetupError where one of them cannot be read, or cuts TCP headers short.
    """
    here, there = _connections(client), _connections(server)
    matched = list(_matched(here, there))
    hosts = {_hosts(each.here) for each in matched if is_fast_open(each.here)}
    matched = [each for each in matched if _hosts(each.here) in hosts]
    up, down = _fastest(each.up for each in matched), _fastest(each.down for each in matched)
    clocks = Clocks(up, down, _span(here.values()), _span(there.values()))
    talks = [(each, Talk.of(each, clocks)) for each in matched]
    offset = (up - down) // 2 if up is not None and down is not None else None
    delay = (up + down) // 2 if up is not None and down is not None else None
    return Comparison(
        connections=tuple(_compared(*each) for each in talks if is_fast_open(each[0].here)),
        offset=offset,
        delay=delay,
        pairs=tuple(_pairs(talks)),
        to_server=_delays((each.up for each in matched), -(offset or 0)) if delay else None,
        to_client=_delays((each.down for each in matched), offset or 0) if delay else None,
    )


def _connections(path: Path) -> dict[str, Connection]:
    """The connections of a capture by their flow; of those on the same ports the later ones are
    part of the first."""
    if not path.is_file():
        raise SetupError(f"there is no file {path}")
    found: dict[str, Connection] = {}
    for each in connections(captured(read_frames(path), path.name)):
        known = found.get(each.flow)
        if known is None:
            found[each.flow] = each
        else:
            known.packets.extend(each.packets)
    return found


def _matched(here: dict[str, Connection], there: dict[str, Connection]) -> Iterator[Matched]:
    """Those at the client's end with those at the server's; alone, where the server's capture has
    other connections of the same server and port."""
    left = {flow: each for flow, each in there.items() if flow not in here}
    by_isn = {key: flow for flow, each in left.items() for key in _isns(each)}
    captured_there = {each.server for each in there.values()}
    for flow, each in here.items():
        if flow in there:
            yield Matched(each, there[flow])
            continue
        known = [by_isn[key] for key in _isns(each) if key in by_isn]
        other = left.pop(known[0], None) if known else None
        if other is not None or each.server in captured_there:
            yield Matched(each, other)


def _isns(connection: Connection) -> set[tuple[End, int]]:
    return {
        (connection.server, segment.seq)
        for segment in _segments(connection.packets)
        if segment.is_syn
    }


def _hosts(connection: Connection) -> tuple[str, str]:
    return str(connection.client.address), str(connection.server.address)


def is_fast_open(connection: Connection) -> bool:
    """Whether a SYN of it has data, or the option."""
    return any(
        segment.is_syn and (segment.payload or segment.fast_open)
        for segment in _segments(connection.packets)
    )


def _segments(packets: Iterable[Captured]) -> Iterator[Segment]:
    return (each.what for each in packets if isinstance(each.what, Segment))


def _span(all_of_them: Iterable[Connection]) -> Span:
    """The times of the first and the last packet."""
    times = [packet.when for each in all_of_them for packet in each.packets]
    return (min(times), max(times)) if times else (0, 0)


def _fastest(ways: Iterable[Way]) -> int | None:
    """ns that the clocks differ by, for the fastest packet of a direction."""
    found = [each for way in ways for each in way.differences()]
    handshakes = [each for is_syn, each in found if is_syn]
    return min(handshakes or [each for _, each in found], default=None)


def _delays(ways: Iterable[Way], offset: int) -> Delays | None:
    taken = [each + offset for way in ways for _, each in way.differences()]
    if not taken:
        return None
    return Delays(min(taken), round(median(taken)), max(taken))


def _compared(matched: Matched, talk: Talk) -> Compared:
    here = matched.here
    first = next((each for each in matched.up.sent if each.segment.is_syn), None)
    return Compared(
        str(here.client),
        str(here.server),
        len(first.segment.payload) if first is not None else 0,
        talk.fates,
        str(matched.there.client) if matched.there is not None else "",
    )


def _pairs(talks: Sequence[tuple[Matched, Talk]]) -> Iterator[Pair]:
    found: dict[tuple[str, str], list[Talk]] = {}
    for matched, talk in talks:
        found.setdefault(_hosts(matched.here), []).append(talk)
    for hosts, each in found.items():
        pair = Pair(*hosts, deeds=tuple(deeds_of(each)))
        for fate in (fate for talk in each for fate in talk.fates):
            if fate.what != "SYN" or fate.sent is None or fate.kind == NOT_CAPTURED:
                continue
            dropped = fate.kind == DROPPED
            if fate.size:
                pair.with_data += 1
                pair.with_data_dropped += dropped
            else:
                pair.plain += 1
                pair.plain_dropped += dropped
        yield pair

"""Receives the kernel's packets, and assigns each to the connection that it belongs to."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from scapy_tfo.icmp import IcmpError
from scapy_tfo.pkt.packets.live_numbers import Flow
from scapy_tfo.pkt.play.flows import Flows
from scapy_tfo.pkt.play.outcome import Packet
from scapy_tfo.pkt.play.wire import Arrival, Wire
from scapy_tfo.segment import FIN, PSH, MalformedPacketError, Segment

Found = tuple[Flow, Arrival, Segment]
"""A packet of the kernel, and whose it is."""


class Hearing:
    """packets: where all that is heard is written down. joins: whether packets that follow each
    other may be taken for one; splits: and one for several."""

    def __init__(
        self, wire: Wire, flows: Flows, packets: list[Packet], *, joins: bool, splits: bool
    ) -> None:
        self._wire = wire
        self._flows = flows
        self._packets = packets
        self._joins = joins
        self._splits = splits
        self._heard: deque[Found] = deque()
        self._errors: deque[tuple[Arrival, IcmpError]] = deque()

    def listen(self, until: int) -> bool:
        """Take in one more packet; False: none came until then."""
        arrival = self._wire.receive(until)
        if arrival is None:
            return False
        try:
            segment = Segment.from_bytes(arrival.data)
        except MalformedPacketError:
            error = IcmpError.from_bytes(arrival.data)
            if error is not None:
                self._errors.append((arrival, error))
            return True
        if not arrival.checksum_ready:
            segment = replace(segment, checksum=None)
        flow = self._flows.owner(segment)
        if flow is not None:
            flow.heard(segment)
            self._heard.append((flow, arrival, segment))
        self._packets.append(Packet(arrival.when, False, arrival.data))
        return True

    def fill(self, until: int) -> None:
        """Take in all packets that come until then."""
        while self._wire.now() < until and self.listen(until):
            pass

    def next(self, flows: tuple[Flow, ...], until: int, wanted: int) -> Found | None:
        """The next packet of these, joined with those behind it up to `wanted` bytes of data."""
        first = self._take(flows, until)
        if first is None or not self._joins:
            return first
        flow, arrival, segment = self._part(first, wanted)
        while segment.payload and len(segment.payload) < wanted:
            more = self._take((flow,), until)
            if more is None:
                break
            _, later, part = self._part(more, wanted - len(segment.payload))
            fits = (
                part.seq == segment.end - bool(segment.flags & FIN)
                and part.ack == segment.ack
                and len(segment.payload) + len(part.payload) <= wanted
            )
            if not fits or not part.payload:
                self.put_back((flow, later, part))
                break
            arrival = later
            segment = replace(
                segment,
                payload=segment.payload + part.payload,
                flags=segment.flags & ~(FIN | PSH) | part.flags & (FIN | PSH),
                window=part.window,
                options=part.options,
            )
        return flow, arrival, segment

    def put_back(self, found: Found) -> None:
        """It will be the next again."""
        self._heard.appendleft(found)

    def _part(self, found: Found, wanted: int) -> Found:
        """So many bytes of data of a packet; what is left of it is the next packet."""
        flow, arrival, segment = found
        if not self._splits or not 0 < wanted < len(segment.payload):
            return found
        rest = replace(
            segment,
            seq=(segment.seq + wanted) % (1 << 32),
            payload=segment.payload[wanted:],
        )
        self.put_back((flow, arrival, rest))
        part = replace(segment, payload=segment.payload[:wanted], flags=segment.flags & ~FIN)
        return flow, arrival, part

    def next_error(self, until: int) -> tuple[Arrival, IcmpError] | None:
        """The next ICMP error."""
        while not self._errors:
            if not self.listen(until):
                return None
        return self._errors.popleft()

    def between(self, begin: int, end: int) -> list[Found]:
        """Take out what came in this time, the end left out."""
        found = [each for each in self._heard if begin <= each[1].when < end]
        self._heard = deque(each for each in self._heard if not begin <= each[1].when < end)
        return found

    def errors_between(self, begin: int, end: int) -> list[tuple[Arrival, IcmpError]]:
        """The same of ICMP errors."""
        found = [each for each in self._errors if begin <= each[0].when < end]
        self._errors = deque(each for each in self._errors if not begin <= each[0].when < end)
        return found

    def _take(self, flows: tuple[Flow, ...], until: int) -> Found | None:
        while True:
            for found in self._heard:
                if any(found[0] is flow for flow in flows):
                    self._heard.remove(found)
                    return found
            if not self.listen(until):
                return None

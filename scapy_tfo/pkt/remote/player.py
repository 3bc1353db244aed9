"""Plays a script against a target whose application nobody controls, over a lossy path."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo.option import TIMESTAMPS, nop, pull_options, push_options
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.packets.live_numbers import Flow
from scapy_tfo.pkt.packets.sending import reset_to_send
from scapy_tfo.pkt.play.flows import Flows
from scapy_tfo.pkt.play.leftover import Application, Leftovers
from scapy_tfo.pkt.play.outcome import Packet
from scapy_tfo.pkt.play.player import Player
from scapy_tfo.pkt.play.receiving import Found
from scapy_tfo.pkt.play.wire import Wire
from scapy_tfo.segment import ACK, FIN, PSH, SYN, MalformedPacketError, Segment

_HALF = 1 << 31
_SETTLING = 20_000_000
"""ns beyond the round trip that a target has to answer the last event."""

_MODULUS = 1 << 32

_Key = tuple[int, int]
"""Ports: the script's, the target's."""


class RemotePlayer(Player):
    """What says nothing of the target's stack is forgiven.

    Whether an acknowledgement comes alone or with what the application sends; that a packet which
    came already is sent once more; the order of options, and what pads them. rtt: ns there and
    back, for which a silence is listened to longer. application: the target's.
    """

    any_order = True

    def __init__(
        self,
        script: tree.Script,
        wire: Wire,
        settings: Settings,
        flows: Flows,
        *,
        rtt: int = 0,
        application: Application = Application.UNKNOWN,
    ) -> None:
        super().__init__(script, wire, settings, flows)
        self.leftovers = Leftovers(script, application)
        self.settling = rtt + _SETTLING
        self._rtt = rtt
        self._ends: dict[Flow, int] = {}
        self._acknowledged: dict[Flow, int] = {}
        self._opened: dict[Flow, tuple[int, int]] = {}

    def end_connections(self) -> None:
        """Reset whatever the target still has of this script's connections."""
        heard: dict[_Key, Segment] = {}
        sent: dict[_Key, int] = {}
        for packet in self.outcome.packets:
            try:
                segment = Segment.read_back(packet.data)
            except MalformedPacketError:
                continue
            if packet.inbound:
                key = (segment.sport, segment.dport)
                sent[key] = segment.end
            else:
                key = (segment.dport, segment.sport)
                heard[key] = segment
        for key, last in heard.items():
            if last.is_rst:
                continue
            # A target believes only the number that it expects next (RFC 5961 section 3.2), and it
            # may have taken more than it has acknowledged.
            for seq in {last.ack, sent.get(key, last.ack)}:
                data = reset_to_send(last, seq)
                self.outcome.packets.append(Packet(self.wire.now(), True, data))
                self.wire.send(data)

    def _await(
        self, packets: tuple[tree.Packet, ...], flows: tuple[Flow, ...], until: int
    ) -> Found | None:
        passed: Found | None = None
        while (found := super()._await(packets, flows, until)) is not None:
            if self._is_one_of(packets, found):
                break
            if any(self._comes_with(each, found) for each in packets):
                return self._acknowledgement_of(found)
            if not self._says_nothing_new(found):
                break
            passed = passed or found
        if found is not None:
            self._take_note_of(found)
        # What was passed by is shown where nothing better came.
        return found or passed

    def _expect_silence(self, event: tree.Event, duration: int) -> None:
        super()._expect_silence(event, duration + self._rtt)

    def _is_allowed_in_silence(self, found: Found) -> bool:
        flow, _, segment = found
        if super()._is_allowed_in_silence(found):
            return True
        if self.leftovers.problem(flow, segment):
            return False
        # To acknowledge what was not acknowledged before is news.
        known = self._acknowledged.get(flow)
        is_known = known is not None and (known - segment.ack) % _MODULUS < _HALF
        return is_known and self._says_nothing_new(found)

    def _comes_with(self, packet: tree.Packet, found: Found) -> bool:
        """The script's packet is an acknowledgement, and the target sent it with more."""
        flow, arrival, segment = found
        if packet.flags not in (".", "S.") or self._number(packet.range.length):
            return False
        # A repetition of the SYN-ACK has no data that the first one had not.
        if segment.flags & SYN and (packet.flags == "." or flow in self._ends):
            return False
        if not segment.payload and not segment.is_fin:
            return False
        alone = (flow, arrival, _acknowledgement(segment))
        return self._is_one_of((packet,), alone)

    def _acknowledgement_of(self, found: Found) -> Found:
        flow, arrival, segment = found
        rest = _text(segment) if segment.flags & SYN else segment
        self.hearing.put_back((flow, arrival, rest))
        return flow, arrival, _acknowledgement(segment)

    def _says_nothing_new(self, found: Found) -> bool:
        flow, _, segment = found
        if self.leftovers.problem(flow, segment):
            return False
        if segment.flags & ~PSH == ACK and not segment.payload:
            return True
        if segment.is_syn_ack:
            isn, ack = self._opened.get(flow, (segment.seq, segment.ack))
            # One that acknowledges something else than the first did is no repetition.
            return segment.seq == flow.live_isn and (segment.seq != isn or segment.ack == ack)
        end = self._ends.get(flow)
        if end is None or segment.is_rst or not segment.length:
            return False
        return (end - segment.end) % _MODULUS < _HALF

    def _take_note_of(self, found: Found) -> None:
        flow, _, segment = found
        end = self._ends.get(flow)
        if end is None or segment.flags & SYN or (segment.end - end) % _MODULUS < _HALF:
            self._ends[flow] = segment.end
        known = self._acknowledged.get(flow)
        is_first = known is None or bool(segment.flags & SYN)
        if segment.is_syn_ack:
            isn, _ = self._opened.get(flow, (None, None))
            if segment.seq != isn:
                self._opened[flow] = segment.seq, segment.ack
        if segment.flags & ACK and (is_first or (segment.ack - (known or 0)) % _MODULUS < _HALF):
            self._acknowledged[flow] = segment.ack


def _acknowledgement(segment: Segment) -> Segment:
    return replace(segment, flags=segment.flags & ~(FIN | PSH), payload=b"")


def _text(segment: Segment) -> Segment:
    """What a SYN-ACK brings besides (RFC 7413 section 3): its data, as if it came alone."""
    kept = [each for each in pull_options(segment.options) if each.kind == TIMESTAMPS]
    flags = segment.flags & ~SYN | (PSH if segment.payload else 0)
    options = push_options([nop(), nop(), *kept]) if kept else b""
    return replace(segment, seq=(segment.seq + 1) % _MODULUS, flags=flags, options=options)

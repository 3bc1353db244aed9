"""One schedule on the wire: the reference as the client, faults on our side of the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.explore.conversation.play import HORIZON, Play
from scapy_tfo.explore.conversation.run import Run
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.live.observed import Observed
from scapy_tfo.explore.live.setting import LiveSetting
from scapy_tfo.icmp import IcmpError
from scapy_tfo.lab.hooks import Session
from scapy_tfo.segment import SYN, Segment


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds. quiet: without a packet, after which nothing more is waited for. linger: that the
    application may take to hear of the end. grace: that the target may be late."""

    quiet: float
    linger: float
    grace: float


CROWD = Patience(quiet=5.0, linger=0.15, grace=0.4)
"""Among many: what this blames is played again."""
CALM = Patience(quiet=20.0, linger=1.0, grace=1.0)
"""Among few, before something is believed."""
_SMOOTH = 2.0
"""Seconds without a packet, where nothing befalls one."""


class LivePlay(Play):
    """One schedule. Time is passed in; packets leave by the setting's wire.

    sent_at: when something was sent last, in seconds. heard: something came. packets: in their
    order, where they are kept.
    """

    def __init__(
        self, setting: LiveSetting, schedule: Schedule, patience: Patience, *, keep: bool = False
    ) -> None:
        super().__init__(setting, schedule, keep=keep)
        self.setting = setting
        self.observed = Observed(schedule.server, self)
        self.server = self.run.server = self.observed
        self.patience = patience
        self.packets: list[TracedPacket] = []
        # Where nothing goes wrong, nothing waits for a timer of TCP.
        is_smooth = not schedule.faults and schedule.wrong is None
        self._quiet = (
            min(patience.quiet, _SMOOTH) if is_smooth and patience is CROWD else patience.quiet
        )
        self.sent_at = 0.0
        self.heard = False
        self._moved_at = 0.0
        self._began_at = 0.0

    @property
    def port(self) -> int:
        """The target's."""
        return self._port

    @property
    def peer(self) -> tuple[str, int]:
        """Address and port of the client."""
        return str(self._address), self._sport

    @property
    def key(self) -> bytes:
        """What stands in packets for the client: its address, the target's port and its own."""
        ports = self._port.to_bytes(2, "big") + self._sport.to_bytes(2, "big")
        return self._address.packed + ports

    def leaving(self) -> list[bytes]:
        """What is to be sent; it counts as sent."""
        wire = self.setting.wire
        out, wire.out = wire.out, []
        if out:
            self.sent_at = self.now
            if self._keep:
                self.packets += [
                    TracedPacket(self.now - self._began_at, True, each) for each in out
                ]
        return out

    def start(self, now: float) -> None:
        """Begin. now: seconds."""
        self.world.now = self._moved_at = self._began_at = now
        self.begin()

    def arrive(self, packet: bytes, now: float, stalled_at: float) -> None:
        """A packet of the target's came. stalled_at: when this process was held up last."""
        self.world.now = self._moved_at = now
        if self._keep:
            self.packets.append(TracedPacket(now - self._began_at, False, packet))
        if self._situation.syn is None:
            return  # It answers what came before the connection.
        self._conduct.history.stalled_at = stalled_at
        self._came(packet)
        if self._handshake.at_once:
            self.setting.answered_at_once()

    @property
    def deadline(self) -> float:
        """When something is to be done next. Seconds."""
        # While an application has something to do, a conversation is not over, however quiet it is.
        act, timer = self.world.next_act(), self._stack.deadline()
        due = self._moved_at + self._quiet if act is None else act
        return due if timer is None else min(due, timer)

    def on_timer(self, now: float) -> None:
        """Do what is due by now."""
        world = self.world
        world.now = now
        act = world.next_act()
        if act is not None and act <= now:
            # One at a time, so that what answers it is known to come before what is done next.
            world.do_next()
        due = self._stack.deadline()
        if due is not None and due <= now:
            self._stack.on_timer(now)
            self._pump_client()

    def _at_target(self, segment: Segment) -> None:
        self._moved_at = self.world.now
        self._may_open_another(segment)
        super()._at_target(segment)
        if self._handshake.acked:
            self.server.accepted = 1

    def _inject(self, made: Segment | IcmpError, fate: str) -> None:
        if isinstance(made, Segment):
            self._may_open_another(made)
        super()._inject(made, fate)

    def _may_open_another(self, segment: Segment) -> None:
        """Note a SYN that comes when the application may have ended the first connection."""
        if segment.flags & SYN and self._situation.syn is not None and self.observed.done:
            self._conduct.history.mixed = True

    def is_over(self, now: float) -> bool:
        """Whether nothing more is to be expected."""
        if self.world.next_act() is not None:
            return False
        waited = now - self._moved_at
        is_done = self.client.ended and not self._is_to_be_told
        return is_done or waited >= self._quiet or now - self._began_at > HORIZON

    @property
    def _is_to_be_told(self) -> bool:
        """The acknowledgement of the target's FIN was lost: it comes again, and its application's
        connection goes on until then."""
        fin = self._situation.fin
        return not self._over and fin is not None and self._situation.unacked != fin

    def finish(self, sessions: Sequence[Session] | None, now: float) -> Run:
        """What it showed. sessions: of this client at the target, None where nobody can tell."""
        self.world.now = now
        if sessions is None:
            wrote, acked = bytes(self.client.wrote), self.run.acked
            whole = acked == len(wrote)
            # Nobody tells what ended.
            self.run.may_end = False
            self.observed.guessed(wrote[:acked], ended=self.client.ended, whole=whole)
        else:
            is_mixed = self._conduct.history.mixed
            # A copy of the SYN that came when all was over opens another (RFC 7413 section 2.1).
            self.observed.seen(sessions[:1] if is_mixed else sessions)
            early = self._handshake.handed_over() if sessions else None
            if early is not None:
                self.run.problems.append(early)
        if self.run.killed and not self.observed.reading:
            # Who does not read does not hear of it.
            self.observed.ended = True
        run = self._ended()
        run.mark = hash(tuple(each[1:] for each in self._marks))
        return run

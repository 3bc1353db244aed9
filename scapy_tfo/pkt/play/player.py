"""Plays a script: event after event, each at its time, and reports every deviation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from scapy_tfo.icmp import IcmpError
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.fields import Value
from scapy_tfo.pkt.language.icmp_names import icmp_names
from scapy_tfo.pkt.language.printing import show_action
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.packets.bindings import MeaningError, Meanings
from scapy_tfo.pkt.packets.difference import Difference
from scapy_tfo.pkt.packets.live_numbers import Flow
from scapy_tfo.pkt.packets.matching import Comparison, compare, heard_as, in_script_terms
from scapy_tfo.pkt.packets.script_stamps import stamps_due, wrong_stamp
from scapy_tfo.pkt.packets.sending import icmp_kind, icmp_to_send, segment_to_send
from scapy_tfo.pkt.play.actions import Program
from scapy_tfo.pkt.play.flows import Flows, NoFlowError, packets_of
from scapy_tfo.pkt.play.leftover import Leftovers
from scapy_tfo.pkt.play.outcome import Failure, Outcome, Packet
from scapy_tfo.pkt.play.receiving import Found, Hearing
from scapy_tfo.pkt.play.requirements import refuse_what_lacks
from scapy_tfo.pkt.play.schedule import Span, Timeline, Window
from scapy_tfo.pkt.play.wire import Wire
from scapy_tfo.segment import Segment

_PATIENCE, _WHENEVER = 2_000_000_000, 60_000_000_000
"""ns to wait for a packet behind the time when it should have come, and for one that may come at
any time."""

_MANY = 20
"""Failures, behind which nothing that is new would be told."""


@dataclass(frozen=True, slots=True)
class Maybe:
    """A packet that may come before the next one of its connection."""

    packet: tree.Packet
    flows: tuple[Flow, ...]
    window: Window | None


class Player:
    """One run of one script on a wire. flows: None for those of the settings' addresses."""

    any_order = any_data = False
    """Whether options may come in any order and padding; and data other than zeros."""
    settling = 4_000_000
    """ns behind the last event in which its effects are still looked at."""

    def __init__(
        self, script: tree.Script, wire: Wire, settings: Settings, flows: Flows | None = None
    ) -> None:
        local, remote = settings.addresses
        self.wire = wire
        self.settings = settings
        self.meanings = Meanings(settings.symbols)
        self.flows = flows or Flows(local, remote, settings.bind_port, wire.new_port)
        self.times = Timeline(settings.tolerance, settings.tolerance_share, wire.tick)
        self.outcome = Outcome()
        self._events = script.events
        self._stamps = stamps_due(script, settings.tick)
        self.hearing = Hearing(
            wire,
            self.flows,
            self.outcome.packets,
            joins=not settings.strict_segments,
            splits=settings.any_segments,
        )
        self._maybe: list[Maybe] = []
        self.leftovers = Leftovers(script)
        self.flows.watch(packets_of(script))

    def play(self, program: Program) -> Outcome:
        """Run all events; what fails is in the outcome, and the run goes on."""
        started = self.wire.now()
        self.times.begin(started)
        program.begin(started)
        for index, event in enumerate(self._events):
            self._play(event, index, program)
            if len(self.outcome.failures) >= _MANY:
                break
        else:
            program.finish()
        self.outcome.seconds = self.times.since_start(self.wire.now()) / 1e9
        if not self.outcome.failures:
            self._judge_leftovers()
        self.outcome.flow = self.flows.last
        return self.outcome

    def catch_up(self) -> None:
        """Hear what was sent until now, before something changes whose packets are whose."""
        while self.hearing.listen(0):
            pass

    def fail(
        self,
        event: tree.Event,
        problem: str,
        *,
        expected: str = "",
        actual: str = "",
        differences: tuple[Difference, ...] = (),
    ) -> None:
        """Note that an event was not as it should be; see Failure."""
        self.outcome.failures.append(
            Failure(
                line=event.at.line,
                problem=problem,
                expected=expected,
                actual=actual,
                differences=differences,
            )
        )

    def act(self, event: tree.Event, action: Callable[[], None]) -> None:
        """Do something when it is due."""
        due = self.times.due(event.time)
        self.wire.sleep_until(due)
        before = self.wire.now()
        action()
        self.times.acted(event.time, due, Span(before, self.wire.now()))

    def _play(self, event: tree.Event, index: int, program: Program) -> None:
        match event.action:
            case tree.Packet(direction=tree.Direction.INBOUND) as packet:
                self._send(event, packet)
            case tree.Packet() as packet:
                self._expect(event, (packet,), index)
            case tree.AnyOf((packet,), or_none=True):
                self._foretell(event, packet)
            case tree.AnyOf(packets):
                self._expect(event, packets, index)
            case tree.Icmp(direction=tree.Direction.INBOUND) as packet:
                self._send(event, packet)
            case tree.Icmp() as packet:
                self._expect_icmp(event, packet)
            case tree.Syscall() as call:
                program.call(event, call)
            case tree.Shell() as command:
                program.shell(event, command)
            case tree.Code() as code:
                program.code(event, code)
            case tree.Silence(duration):
                self._expect_silence(event, duration)

    # To the kernel.

    def _send(self, event: tree.Event, packet: tree.Packet | tree.Icmp) -> None:
        due = self.times.due(event.time, packet=True)
        try:
            if isinstance(packet, tree.Icmp):
                flow = self.flows.of_icmp(packet)
                data = icmp_to_send(packet, flow, self.meanings)
            else:
                flow = self.flows.of_inbound(packet, self.meanings.number(packet.range.start))
                scaled = self.settings.scaled_echoes
                data = segment_to_send(packet, flow, self.meanings, scaled=scaled)
        except (MeaningError, NoFlowError) as error:
            self.fail(event, f"cannot be sent: {error}", expected=show_action(packet))
            return
        self.wire.sleep_until(due)
        before = self.wire.now()
        try:
            self.wire.send(data)
        except ValueError as error:
            self.fail(event, f"cannot be sent: {error}", expected=show_action(packet))
        self.times.acted(event.time, due, Span(before, self.wire.now()), packet=True)
        self.outcome.packets.append(Packet(before, True, data))
        self.leftovers.sent(flow, packet, data)

    # From the kernel.

    def _expect(self, event: tree.Event, packets: tuple[tree.Packet, ...], index: int) -> None:
        try:
            flows = tuple(flow for each in packets for flow in self.flows.of_outbound(each))
        except NoFlowError as error:
            self.fail(event, str(error), expected=_either(packets))
            return
        window = self.times.window(event.time)
        until = self._until(window)
        found = self._await(packets, flows, until)
        while found is not None and not self._is_one_of(packets, found):
            if not self._was_foretold(found):
                break
            found = self._await(packets, flows, until)
        if found is None:
            self.fail(event, "no packet came", expected=_either(packets), actual="nothing")
            return
        flow, arrival, segment = found
        refuse_what_lacks(segment, packets[0], self.settings)
        best = self._nearest(event, packets, found)
        if best is None:
            self._learn(packets[0], flow, segment)
            return
        packet, comparison = best
        if comparison.differences and self._belongs_to_next(found, index):
            self.hearing.put_back(found)
            self.fail(
                event,
                "no such packet came, but the one that the script wants after it",
                expected=_either(packets),
                actual=show_action(in_script_terms(segment, flow)),
            )
            return
        self._maybe = [each for each in self._maybe if flow not in each.flows]
        for name, value in comparison.kept.items():
            self.meanings.keep(name, value)
        self._learn(packet, flow, segment)
        differences = [*comparison.differences]
        if comparison.stamp is not None:
            due = None if comparison.has("TS val") else self._stamps.get(event.at.line)
            if due is not None:
                differences += wrong_stamp(due, flow, *comparison.stamp, arrival.when)
            flow.note_stamp(*comparison.stamp, arrival.when)
        # What the kernel sends with the data before is early by as much.
        is_part = self.settings.any_segments and segment.payload
        if not (is_part and window is not None and window.is_early(arrival.when)):
            differences += self.times.lateness(window, arrival.when)
        self.times.came(event.time, arrival.when)
        self._tell(event, packets, in_script_terms(segment, flow), differences)

    def _foretell(self, event: tree.Event, packet: tree.Packet) -> None:
        """It may come, or not, before the next one of its connection."""
        try:
            flows = self.flows.of_outbound(packet)
        except NoFlowError as error:
            self.fail(event, str(error), expected=show_action(packet))
            return
        self._maybe.append(Maybe(packet, flows, self.times.window(event.time)))

    def _was_foretold(self, found: Found) -> bool:
        """The packet is one that may come; it may not come twice."""
        flow, arrival, _ = found
        for maybe in self._maybe:
            late = maybe.window is not None and maybe.window.misses(arrival.when)
            if flow in maybe.flows and not late and self._is_one_of((maybe.packet,), found):
                self._maybe.remove(maybe)
                return True
        return False

    def _is_one_of(self, packets: tuple[tree.Packet, ...], found: Found) -> bool:
        try:
            return any(not self._compared(each, found).differences for each in packets)
        except MeaningError:
            return False

    def _learn(self, packet: tree.Packet, flow: Flow, segment: Segment) -> None:
        self.flows.spoken_of(flow, packet, segment, self._number(packet.range.start))

    def _tell(
        self,
        event: tree.Event,
        packets: tuple[tree.Packet | tree.Icmp, ...],
        actual: tree.Packet | tree.Icmp,
        differences: list[Difference],
    ) -> None:
        if differences:
            self.fail(
                event,
                "another packet came" if len(differences) > 1 else str(differences[0]),
                expected=_either(packets),
                actual=show_action(actual),
                differences=tuple(differences),
            )

    def _until(self, window: Window | None) -> int:
        """How long to wait for a packet."""
        if window is None:
            return self.wire.now() + _WHENEVER
        return max(window.latest, self.wire.now()) + window.tolerance + _PATIENCE

    def _await(
        self, packets: tuple[tree.Packet, ...], flows: tuple[Flow, ...], until: int
    ) -> Found | None:
        """The packet that is to be one of these; None: none came until then."""
        wanted = max(self._number(each.range.length) for each in packets)
        return self.hearing.next(flows, until, wanted)

    def _nearest(
        self, event: tree.Event, packets: tuple[tree.Packet, ...], found: Found
    ) -> tuple[tree.Packet, Comparison] | None:
        """Of the packets that may come the one that differs least."""
        try:
            compared = [(each, self._compared(each, found)) for each in packets]
        except MeaningError as error:
            self.fail(event, str(error), expected=_either(packets))
            return None
        return min(compared, key=lambda pair: len(pair[1].differences))

    def _compared(self, packet: tree.Packet, found: Found) -> Comparison:
        flow, arrival, segment = found
        # To look is not to learn: the numbers stand only once it is known which packet it is.
        trial = replace(flow)
        if "S" in packet.flags and segment.is_syn | segment.is_syn_ack and trial.script_isn is None:
            trial.script_isn = self._number(packet.range.start)
            trial.live_isn = segment.seq
        comparison = compare(
            packet,
            heard_as(arrival.data, segment),
            trial,
            self.meanings,
            tick=self.settings.tick,
            stamp_tolerance=self.times.stamp_tolerance(arrival.when),
            any_order=self.any_order or self.settings.any_order,
            any_segments=self.settings.any_segments,
            any_data=self.any_data,
        )
        flow.flow_labels = trial.flow_labels
        return comparison

    def _belongs_to_next(self, found: Found, index: int) -> bool:
        """The packet is the one that the script wants right after."""
        if index + 1 >= len(self._events):
            return False
        after = self._events[index + 1].action
        if not isinstance(after, tree.Packet) or after.direction is tree.Direction.INBOUND:
            return False
        try:
            if found[0] not in self.flows.of_outbound(after):
                return False
            return not self._compared(after, found).differences
        except (MeaningError, NoFlowError):
            return False

    def _expect_icmp(self, event: tree.Event, packet: tree.Icmp) -> None:
        family = self.settings.family
        try:
            wanted = icmp_kind(packet, family, self.meanings)
        except MeaningError as problem:
            self.fail(event, str(problem), expected=show_action(packet))
            return
        window = self.times.window(event.time)
        heard = self.hearing.next_error(self._until(window))
        if heard is None:
            self.fail(event, "no packet came", expected=show_action(packet), actual="nothing")
            return
        arrival, error = heard
        differences = []
        actual = packet
        if wanted != (error.type, error.code):
            actual = self._in_script_terms(error)
            came = f"{error.type}, {error.code}"
            differences.append(Difference("type and code", "{}, {}".format(*wanted), came))
        differences += self.times.lateness(window, arrival.when)
        self.times.came(event.time, arrival.when)
        self._tell(event, (packet,), actual, differences)

    def _expect_silence(self, event: tree.Event, duration: int) -> None:
        begin, since = self.times.silent_from(event.time), self.times.began
        end = self.times.due(event.time) + duration
        self.hearing.fill(end)
        self.wire.sleep_until(end)
        self.times.acted(event.time, end, Span(end, self.wire.now()))
        # What comes later is the next event's to judge.
        for found in self.hearing.between(begin, end):
            unasked = found[0].is_unasked and found[1].when < since
            if not unasked and not self._is_allowed_in_silence(found):
                shown = show_action(in_script_terms(found[2], found[0]))
                self.fail(event, "a packet came", expected="nothing", actual=shown)
        for _, error in self.hearing.errors_between(begin, end):
            shown = show_action(self._in_script_terms(error))
            self.fail(event, "a packet came", expected="nothing", actual=shown)

    def _judge_leftovers(self) -> None:
        """What no event has taken, and what the last ones have caused."""
        end = self.wire.now() + self.settling
        self.hearing.fill(end)
        for found in self.hearing.between(0, end):
            flow, _, segment = found
            problem = self.leftovers.problem(flow, segment)
            if problem and not self._was_foretold(found):
                self.fail(
                    self._events[-1],
                    f"a packet came that no TCP may send here: {problem}",
                    expected="nothing that the script gives no cause for",
                    actual=show_action(in_script_terms(segment, flow)),
                )

    def _is_allowed_in_silence(self, found: Found) -> bool:
        return self._was_foretold(found)

    def _in_script_terms(self, error: IcmpError) -> tree.Icmp:
        kind, code = icmp_names(error.type, error.code, self.settings.family)
        return tree.Icmp(direction=tree.Direction.OUTBOUND, type=kind, code=code)

    def _number(self, value: Value) -> int:
        try:
            return self.meanings.number(value)
        except MeaningError:
            return 0


def _either(packets: tuple[tree.Packet | tree.Icmp, ...]) -> str:
    return " or ".join(map(show_action, packets))

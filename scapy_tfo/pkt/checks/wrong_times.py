"""Makes the time of an expected event wrong, its TS val, or that there is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.packets.script_stamps import Due

_SECOND = 1_000_000_000
SILENCE = "expect none"
UNDER_A_TICK = "time under a tick"
_AT_ONCE = tree.Time(tree.Clock.AFTER, 0)
_MARGIN = 100_000_000
"""ns beyond the time of a packet, within which it comes for certain."""

_WORTH_MISSING = 50_000_000
"""ns: an event that waits less than this cannot be much too early."""

_MOMENT = 3_000_000
"""ns: less than packetdrill's tolerance, and less than a tick of many kernels."""

_STAMPS_OFF = (-4, 30)
"""Ticks: one that packetdrill forgives wherever a tick is a millisecond, and one that it sees."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One field of an event, or its time, as it should not be. what: in words."""

    kind: str
    what: str
    action: tree.Action
    time: tree.Time | None = None


def of_time(event: tree.Event, after: tree.Event | None) -> Iterator[Changed]:
    """An event is expected much later, or much earlier. after: the next one."""
    time = event.time
    if time.clock is tree.Clock.WHENEVER:
        return
    # Two times from the script's start must not run backward.
    clocks = {time.clock, after.time.clock if after else tree.Clock.AFTER}
    if clocks != {tree.Clock.AT}:
        # More than any share of the time that a script's tolerance may be.
        late = time.earliest + _SECOND
        latest = None if time.latest is None else time.latest + late
        later = replace(time, earliest=time.earliest + late, latest=latest)
        yield Changed("time", "expected much later", event.action, later)
    if time.clock is tree.Clock.AFTER and time.earliest >= _WORTH_MISSING and time.latest is None:
        sooner = replace(time, earliest=time.earliest // 4)
        yield Changed("time", "expected much earlier", event.action, sooner)


def of_little_time(
    script: tree.Script, index: int, event: tree.Event, before: tree.Event | None
) -> Iterator[Changed]:
    """An answer is expected a moment after what it answers, where it comes at once."""
    # What a blocking call sends comes once its thread is awake.
    if event.time != _AT_ONCE or before is None or _is_blocked(script, index):
        return
    match before.action:
        case tree.Packet(direction=tree.Direction.INBOUND):
            later = replace(event.time, earliest=_MOMENT)
            yield Changed(UNDER_A_TICK, "expected 3 ms later", event.action, later)


def of_presence(script: tree.Script, index: int, time: tree.Time) -> Iterator[Changed]:
    """Nothing is expected where a packet comes."""
    # What a call in the background waits for would come too late.
    if time.clock is tree.Clock.WHENEVER or _is_blocked(script, index):
        return
    # By an absolute time, how long the event waits is not known, but it is no longer than this.
    silence = tree.Silence((time.latest or time.earliest) + _MARGIN)
    yield Changed(SILENCE, "'expect none' for the packet", silence, _AT_ONCE)


def _is_blocked(script: tree.Script, index: int) -> bool:
    """A blocking call before that event may not have returned yet, by the times written."""
    waited = 0
    for line in reversed(script.lines[: index + 1]):
        if not isinstance(line, tree.Event):
            continue
        match line.action:
            case tree.Syscall(until=int(until)) if until - line.time.earliest >= waited:
                return True
        if line.time.clock is tree.Clock.AFTER:
            waited += line.time.earliest
    return False


def of_silence(duration: int, after: tree.Event | None) -> Iterator[Changed]:
    """Nothing is expected for so long that what comes next is too early."""
    if after is None or after.time.clock is not tree.Clock.AFTER:
        return
    match after.action:
        case tree.Packet(direction=tree.Direction.OUTBOUND) | tree.AnyOf(or_none=False):
            wait = after.time.latest or after.time.earliest
            longer = tree.Silence(duration + wait + _MARGIN)
            yield Changed(SILENCE, "'expect none' for too long", longer)


def of_stamp(packet: tree.Packet, due: Due | None) -> Iterator[Changed]:
    """The TS val of a packet is a time, and another one."""
    given = packet.options or ()
    for index, option in enumerate(given):
        if due is not None and isinstance(option, fields.Timestamps):
            for off in _STAMPS_OFF:
                wrong = replace(option, value=due.value + off)
                options = (*given[:index], wrong, *given[index + 1 :])
                what = f"TS val {due.value + off} for {due.value}"
                yield Changed("TS val", what, replace(packet, options=options))


def of_return(event: tree.Event, call: tree.Syscall) -> Iterator[Changed]:
    """A blocking call is expected to return much later, or much earlier."""
    if call.until is None:
        return
    later = replace(call, until=2 * call.until + _SECOND)
    yield Changed("time of return", "expected to return much later", later)
    if call.until - event.time.earliest >= _WORTH_MISSING:
        until = event.time.earliest + (call.until - event.time.earliest) // 4
        sooner = replace(call, until=until)
        yield Changed("time of return", "expected to return much earlier", sooner)

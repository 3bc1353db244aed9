"""The applications at both ends: each does one thing that applications do, on virtual time.

Those of the target have the names of `lab.apps`, and behave as they do there.
"""

from __future__ import annotations

from scapy_tfo.errors import SetupError
from scapy_tfo.explore.ends.actor import Actor, Clock, pattern
from scapy_tfo.explore.ends.steps import NAME, is_written_out, parsed

_LATE_ACCEPT = "late-accept"
_SOON = 0.03
"""Seconds between two writes: more than a round trip."""


class Echo(Actor):
    """Writes back what it reads, after a while; and closes after its peer, as late."""

    think = 0.0

    def read(self, data: bytes) -> None:
        if self.think:
            self.clock.later(self.think, lambda: self.write(data))
        else:
            self.write(data)

    def peer_ended(self) -> None:
        if self.think:
            self.clock.later(self.think, self.close)
        else:
            self.close()


class LateClose(Echo):
    """Closes a while after its peer."""

    wait = 0.0

    def peer_ended(self) -> None:
        self.clock.later(self.wait, self.close)


class LateAccept(Echo):
    """Takes a connection a while after it is ready: its listener sees to that."""

    late = 0.0


class SlowReader(Echo):
    """Rests for a while before it reads, each time."""

    rest = 0.0

    def opened(self) -> None:
        self.rested()

    def read(self, data: bytes) -> None:
        super().read(data)
        self.rested()

    def rested(self) -> None:
        if self.reading:
            self.pause()
            self.clock.later(self.rest, self.resume)


class NeverReads(Actor):
    """Stops reading."""

    def opened(self) -> None:
        self.pause()


class Send(Echo):
    """Speaks first, then echoes."""

    size = 0

    def opened(self) -> None:
        self.write(pattern(self.size))


class SendClose(Actor):
    """Speaks, and closes at once, but for what had come by then."""

    size = 0
    writes = 1

    def opened(self) -> None:
        for _ in range(self.writes):
            self.write(pattern(self.size))
        self.clock.later(0.0, self.close)


class HalfClose(Send):
    """Speaks, ends its stream, and reads on."""

    def opened(self) -> None:
        super().opened()
        self.shutdown()

    def read(self, _data: bytes) -> None:
        """Nothing more to say."""


class HalfCloseRest(HalfClose):
    """Ends its stream, and rests for a while before it reads."""

    rest = 0.0

    def opened(self) -> None:
        self.pause()
        self.shutdown()
        self.clock.later(self.rest, self.resume)


class Abort(Actor):
    """Resets at once, after what it says."""

    size = 0

    def opened(self) -> None:
        if self.size:
            self.write(pattern(self.size))
        self.abort()


# Clients


class Writer(Actor):
    """Writes once, and closes after its peer. filling: the byte that it writes all the time, None
    for bytes that tell where they stand."""

    size = 100
    filling: int | None = None

    def text(self, start: int) -> bytes:
        """What it writes. start: where the pattern of it begins."""
        if self.filling is not None:
            return bytes((self.filling,)) * self.size
        return pattern(self.size, start)

    def first(self) -> bytes:
        """What it writes when it connects."""
        data = self.text(7)
        self.wrote += data
        return data

    def opened(self) -> None:
        self.clock.later(_SOON, self.more)

    def more(self) -> None:
        """A little later."""
        self.shutdown()


class Patient(Writer):
    """Writes once, waits for an answer as long, and closes."""

    def more(self) -> None:
        self.answered()

    def read(self, _data: bytes) -> None:
        self.answered()

    def answered(self) -> None:
        if len(self.received) >= self.size:
            self.close()


class WriteLater(Writer):
    """Opens with nothing to say, writes when it is connected, and ends its stream later."""

    def first(self) -> bytes:
        return b""

    def opened(self) -> None:
        self.write(self.text(7))
        super().opened()


class WriteAndRest(Writer):
    """Writes once, and ends its stream three seconds later."""

    def opened(self) -> None:
        self.clock.later(3.0, self.more)


class TwoWrites(Writer):
    """Writes again a little later, and ends its stream."""

    def more(self) -> None:
        self.write(self.text(99))
        self.shutdown()


class Several(Writer):
    """Writes again and again, a little later each time, and ends its stream with the last one."""

    writes = 5

    def more(self) -> None:
        self.write(self.text(99 * self.writes))
        self.writes -= 1
        if self.writes:
            self.clock.later(_SOON, self.more)
        else:
            self.last()

    def last(self) -> None:
        """All is written."""
        self.shutdown()


class SeveralAndRest(Several):
    """Writes again and again, and ends its stream three seconds after the last one."""

    def last(self) -> None:
        self.clock.later(3.0, self.shutdown)


class WriteAndEnd(Writer):
    """Ends its stream behind what it wrote, at once, and reads on."""

    def opened(self) -> None:
        self.shutdown()


class WriteAndClose(Writer):
    """Closes behind what it wrote, at once."""

    def opened(self) -> None:
        self.close()


class WriteAndAbort(Writer):
    """Resets a little later."""

    def more(self) -> None:
        self.abort()


class LateReader(Writer):
    """Reads nothing for two seconds."""

    def opened(self) -> None:
        self.pause()
        self.clock.later(2.0, self.resume)
        self.clock.later(_SOON, self.more)


class Stepping(Writer):
    """Does what is written out, see `steps`, and closes after its peer, when it has done all."""

    def __init__(self, spec: str, clock: Clock) -> None:
        super().__init__(clock)
        self._steps = parsed(spec)
        self._is_told = False

    def text(self, start: int) -> bytes:
        return super().text(start + len(self.wrote))

    def first(self) -> bytes:
        if not self._steps or self._steps[0][0] != "write":
            return b""
        self.size = self._steps.pop(0)[1]
        return super().first()

    def opened(self) -> None:
        self.more()

    def more(self) -> None:
        while self._steps:
            step, number = self._steps.pop(0)
            if step == "wait":
                self.clock.later(number / 1000, self.more)
                return
            if step == "write":
                self.size = number
                self.write(self.text(7))
            else:
                {
                    "rest": self.pause,
                    "read": self.resume,
                    "end": self.shutdown,
                    "close": self.close,
                }[step]()
        if self._is_told:
            self.close()

    def peer_ended(self) -> None:
        self._is_told = True
        if not self._steps:
            self.close()


_SERVERS: dict[str, tuple[type[Actor], str]] = {
    "echo": (Echo, ""),
    "think": (Echo, "think"),
    "late-close": (LateClose, "wait"),
    _LATE_ACCEPT: (LateAccept, "late"),
    "slow-reader": (SlowReader, "rest"),
    "never-reads": (NeverReads, ""),
    "send": (Send, "size"),
    "send-close": (SendClose, "size"),
    "two-sends": (SendClose, "size"),
    "half-close": (HalfClose, "size"),
    "half-close-rest": (HalfCloseRest, "rest"),
    "abort": (Abort, ""),
    "send-abort": (Abort, "size"),
    "mute": (Actor, ""),
}
_CLIENTS: dict[str, tuple[type[Writer], str]] = {
    "write": (Writer, "size"),
    "patient": (Patient, "size"),
    "write-later": (WriteLater, "size"),
    "write-rest": (WriteAndRest, "size"),
    "two-writes": (TwoWrites, "size"),
    "several": (Several, "size"),
    "several-rest": (SeveralAndRest, "size"),
    "write-end": (WriteAndEnd, "size"),
    "write-close": (WriteAndClose, "size"),
    "write-abort": (WriteAndAbort, "size"),
    "late-reader": (LateReader, "size"),
}
_STEADY = ("echo", "think", "late-close", "send")
_SECONDS = ("think", "wait", "rest", "late")


def accepts_after(spec: str) -> float:
    """Seconds for which a connection waits for the target's application."""
    name, _, number = spec.partition(":")
    return int(number) / 1000 if name == _LATE_ACCEPT and number.isdigit() else 0.0


def is_steady(spec: str) -> bool:
    """Whether the target's application takes its connection at once, reads, answers, and closes
    after its peer has."""
    return spec.partition(":")[0] in _STEADY


def server_of(spec: str, clock: Clock) -> Actor:
    """The target's application of that name. Raises SetupError where there is none."""
    if is_written_out(spec):
        return Stepping(spec, clock)
    name, _, number = spec.partition(":")
    if name not in _SERVERS:
        raise SetupError(f"no application {name!r}; there are {', '.join((*_SERVERS, NAME))}")
    made = _SERVERS[name][0](clock)
    if name == "two-sends":
        made.__setattr__("writes", 2)
    return _numbered(made, spec, _SERVERS[name][1], number)


def client_of(spec: str, clock: Clock) -> Writer:
    """The client of that name. Raises SetupError where there is none."""
    if is_written_out(spec):
        return Stepping(spec, clock)
    name, _, number = spec.partition(":")
    if name not in _CLIENTS:
        raise SetupError(f"no client {name!r}; there are {', '.join((*_CLIENTS, NAME))}")
    made = _CLIENTS[name][0](clock)
    _numbered(made, spec, _CLIENTS[name][1], number)
    return made


def _numbered(actor: Actor, spec: str, attribute: str, number: str) -> Actor:
    if bool(attribute) != number.isdigit():
        raise SetupError(
            f"application {spec!r} should {'have a' if attribute else 'have no'} number"
        )
    if attribute:
        value = int(number) / 1000 if attribute in _SECONDS else int(number)
        actor.__setattr__(attribute, value)
    return actor

"""A legal stack against segments written by hand: what its freedom looks like to a peer."""

from __future__ import annotations

from typing import Any

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK, SYN, Flags, Segment
from scapy_tfo.variants.registry import AnyStack, Variant, named
from tests.reference.wire import ISN, Script

NEXT = ISN + 1
MSS = 1000
REFERENCE = "reference"


def variant(name: str) -> Variant:
    """The variant of that name."""
    found = named(name)
    assert isinstance(found, Variant)
    return found


def against(name: str, **listen: Any) -> Script:
    """A stack of that name, and no connection yet."""
    found = named(name)
    return Script(found.settings, stack_class=found.stack, **listen)


class Talk(Script):
    """A connection with a wide window and segments of MSS bytes; offsets count from its begin.

    stack: or its name. offer: further options of the SYN. stamped: with timestamps; `tsval` is
    ours. flags: of the SYN.
    """

    def __init__(
        self,
        stack: str | AnyStack,
        *offer: opt.RawOption,
        stamped: bool = False,
        flags: Flags = SYN,
    ) -> None:
        found = named(stack) if isinstance(stack, str) else stack
        super().__init__(found.settings, stack_class=found.stack)
        self.stamped = stamped
        self.tsval = 100
        options = [opt.mss(MSS + 12 * stamped), *offer]
        if stamped:
            options += [opt.timestamps(self.tsval), opt.nop(), opt.nop()]
        self.syn_ack = self.last = self.one(flags, options=opt.push_options(options))
        self.begin = self.last.end
        self.ack(0)

    def tell(self, *extra: opt.RawOption, **fields: Any) -> list[Segment]:
        """Send a segment with the options that every one has; seq and ack as for no text."""
        options = list(extra)
        if self.stamped:
            times = self.last.timestamps
            assert times is not None
            options += [opt.nop(), opt.nop(), opt.timestamps(self.tsval, times[0])]
        given: dict[str, Any] = {"seq": NEXT, "ack": self.begin}
        given |= {"options": opt.push_options(options), "flags": ACK, **fields}
        return self.noted(self.send(**given))

    def ack(self, offset: int, *blocks: tuple[int, int], **fields: Any) -> list[Segment]:
        """Acknowledge so many bytes, and report ranges beyond."""
        extra = []
        if blocks:
            edges = [self.begin + edge for block in blocks for edge in block]
            data = b"".join(edge.to_bytes(4, "big") for edge in edges)
            extra = [opt.nop(), opt.nop(), opt.RawOption(opt.SACK, 2 + len(data), data)]
        return self.tell(*extra, ack=self.begin + offset, **fields)

    def text(self, offset: int, size: int = 10, **fields: Any) -> list[Segment]:
        """Text of ours."""
        return self.tell(seq=NEXT + offset, payload=b"x" * size, **fields)

    def write(self, size: int) -> list[Segment]:
        """The application writes; what is sent at once."""
        self.connection.write(bytes(size), self.now)
        return self.noted(self.answers())

    def until(self, seconds: float) -> list[Segment]:
        """Let time pass; what is sent meanwhile."""
        return self.noted(self.wait(seconds))

    def noted(self, segments: list[Segment]) -> list[Segment]:
        self.last = segments[-1] if segments else self.last
        return segments

    def pieces(self, segments: list[Segment]) -> list[tuple[int, int]]:
        """Offset and size of the text in each."""
        return [(each.seq - self.begin, len(each.payload)) for each in segments if each.payload]

    def numbers(self, segments: list[Segment]) -> list[int]:
        """Which full segments of our peer's stream these are."""
        return [at // MSS for at, _ in self.pieces(segments)]

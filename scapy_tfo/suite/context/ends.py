"""Addresses, ports and initial sequence numbers of the client in a context."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scapy_tfo.address import known_address
from scapy_tfo.segment import Address
from scapy_tfo.suite.context.context import Context

_NEAR = 16
"""Ports on both sides of a chosen one that later connections try."""


def ports(context: Context, theirs: int) -> Iterator[int]:
    """Source ports to try, the best first; none where any will do. theirs: the target's port."""
    wanted = context["port"]
    if wanted == "any":
        return
    port = theirs if wanted == "same" else int(wanted)
    yield port
    for step in range(1, _NEAR + 1):
        yield from (each for each in (port + step, port - step) if 0 < each < 1 << 16)


def isn(context: Context, drawn: int) -> int:
    """The ISN of a conversation. drawn: a random one."""
    wanted = context["isn"]
    return drawn if wanted == "any" else int(wanted)


def sources(
    context: Context, known: Sequence[Address], makes: Callable[[Address], bool]
) -> list[Address] | None:
    """The addresses to send from, those first that are apart in the bit of the context.

    known: those that the link has. makes: whether it may send from another one, too. None where
    there are no such two.
    """
    wanted = context["source"]
    if wanted == "pair" or not known:
        return list(known)
    bit = int(wanted.removeprefix("bit-")) * (1 if known[0].version == 4 else 4)
    by_number = {int(each): each for each in known}
    for each in known:
        other = int(each) ^ 1 << bit
        if other in by_number:
            return [
                each,
                by_number[other],
                *(it for it in known if int(it) not in (other, int(each))),
            ]
    other_end = known_address((int(known[0]) ^ 1 << bit).to_bytes(len(known[0].packed), "big"))
    return [known[0], other_end, *known[1:]] if makes(other_end) else None

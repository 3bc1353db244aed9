"""The client of a schedule before its first SYN: its address, its port, and the cookie it holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.conversation.world import Setting
from scapy_tfo.explore.ends.client import Client
from scapy_tfo.explore.ends.context import SAME, Context
from scapy_tfo.explore.ends.opening import (
    OF,
    OLD_KEY,
    PLAIN,
    REQUEST,
    Opening,
    later_option,
    opening_of,
    relative_of,
)
from scapy_tfo.option import Form
from scapy_tfo.segment import Address

_MOST_ALIKE = 1
"""Bits in which the cookies of two addresses that differ in one bit do not differ by chance: even
the shortest cookie has 32 (RFC 7413 section 4.1.2 wants a MAC)."""


@dataclass(slots=True)
class Prepared:
    """stack: the client, which holds what its opening wants. cookie: a good one of its address.
    problem: what its cookie tells."""

    address: Address
    stack: Client
    opening: Opening
    cookie: bytes
    problem: Problem | None


def prepared(world: Setting, schedule: Schedule, context: Context, port: int) -> Prepared:
    """A client with the cookie that its opening wants. port: of the target."""
    address = world.client_of(context)
    name, target = schedule.opening, world.addresses[context.family]
    cookie, others = b"", []
    if name not in (PLAIN, REQUEST):
        cookie = world.cookie(address, port, anew=name == OLD_KEY)

    def cookie_of(bit: int) -> bytes:
        others.append(world.cookie(relative_of(address, bit), port))
        return others[-1]

    opening = opening_of(name, cookie, cookie_of)
    settings = context.settings
    if opening.form is not Form.IANA or opening.sends_data:
        settings = replace(
            settings, client_form=opening.form, data_without_cookie=opening.sends_data
        )
    stack = Client(address, settings, seed=world.played)
    stack.port = port if context.port == SAME else context.port or world.free_port()
    stack.instead, stack.clock = opening.option, context.clock
    stack.offers, stack.pushes = context.offers, context.pushes
    stack.later = later_option(context.later, cookie)
    if opening.holds:
        stack.cache.learn(address, target, cookie=cookie or bytes(8), mss=context.mss)
    if name == OLD_KEY:
        world.rotate_keys()
    problem = _told(cookie, others[0]) if name.startswith(OF) and others else None
    return Prepared(address, stack, opening, cookie, problem)


def _told(own: bytes, other: bytes) -> Problem | None:
    """What the cookies of two clients tell whose addresses differ in one bit (RFC 7413 4.1.2)."""
    if not own or len(own) != len(other):
        return None
    if own == other:
        return Problem("cookie-of-another", -1, "a cookie for one address", "the same for two")
    apart = int.from_bytes(own, "big") ^ int.from_bytes(other, "big")
    if apart.bit_count() <= _MOST_ALIKE:
        told = f"one bit apart: {own.hex()} and {other.hex()}"
        return Problem("cookie-tells-another", -1, "cookies that tell nothing of each other", told)
    return None

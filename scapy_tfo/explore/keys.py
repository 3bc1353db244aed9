"""Which cookies are good while keys change, listeners come, and clients use each other's.

A walk, drawn by chance, asks for cookies and presents them: those that were granted, at once or
after a change of keys, those of a neighbour, and spoilt ones. RFC 7413 section 4.1.2: a cookie is
good for the address that it was granted to, whatever the port; who changes the key ends it. Whether
a cookie of the key before is good is left open, and whether an old one is.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import ip_address

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.address import known_address
from scapy_tfo.cookie import KEY_SIZE, KeyRing
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.world import ROOM, TARGETS, World
from scapy_tfo.explore.ends.opening import relative_of
from scapy_tfo.explore.walk import Mistaken, Walk
from scapy_tfo.option import MAX_COOKIE, MIN_COOKIE, FastOpen, RawOption
from scapy_tfo.oracle.parts.profile import MANY
from scapy_tfo.segment import ACK, RST, SYN, Address, Segment

RULES = ("fresh-cookie-refused", "foreign-cookie-taken", "retired-cookie-taken")
"""Names of what is found here."""

_CLIENTS = tuple(known_address(ip_address(each).packed) for each in ("10.74.13.9", "fd00:7413::9"))
_FIRST, _LISTENERS = 9001, 4
"""Ports of the target. The first two listeners use the keys of the host, each other its own."""
_SHARED = 2
_WALKS, _STEPS = 6, 160
_TEXT = bytes(range(60))
_APART, _FRESH, _REPEATED = 1.5, 10.0, 4.0
"""Seconds: between requests, since some stacks grant one cookie a second; for which a cookie is
good at any target; and within which a SYN-ACK comes again."""
_HELD = 12
"""Cookies that a walk remembers."""


@dataclass(frozen=True, slots=True)
class _Granted:
    """A cookie. keys: those of the listener that granted it, at that time, the first one first.
    at: in seconds."""

    cookie: bytes
    client: Address
    keys: tuple[bytes, ...]
    at: float


class Cookies(Walk):
    """One walk."""

    def __init__(self, world: World, dice: random.Random) -> None:
        super().__init__(world, dice)
        self._granted: list[_Granted] = []
        self._rings: list[KeyRing] = []
        for place in range(_LISTENERS):
            own = KeyRing([dice.randbytes(KEY_SIZE)])
            ring = world.keys if place < _SHARED else own
            cookies = None if place < _SHARED else own
            world.stack.listen(_FIRST + place, fast_open=ROOM, cookies=cookies)
            self._rings.append(ring)

    def problem(self) -> Problem | None:
        """What is wrong first, if anything is."""
        return next(filter(None, (self._step() for _ in range(_STEPS))), None)

    def _step(self) -> Problem | None:
        dice = self._dice
        kind = dice.random()
        if not self._granted or kind < 0.15:
            self._ask(dice.choice(_CLIENTS), dice.randrange(_LISTENERS))
            return None
        if kind < 0.3:
            self._change(dice.randrange(_LISTENERS))
            return None
        given = dice.choice(self._granted)
        if kind < 0.65:
            return self._present(given, dice.randrange(_LISTENERS))
        if kind < 0.8:
            return self._of_a_neighbour(given)
        return self._spoilt(given)

    # What a client does

    def _ask(self, client: Address, place: int) -> None:
        self._world.pass_time(_APART)
        syn = self._syn(client, place, opt.fast_open(), b"")
        self._end(syn, self._answer(syn, place))

    def _present(self, given: _Granted, place: int) -> Problem | None:
        """One that was granted, to the listener that granted it or another one."""
        keys = self._rings[place].keys
        is_fresh = self._world.now - given.at < _FRESH and given.keys[0] == keys[0]
        syn = self._syn(given.client, place, opt.fast_open(given.cookie), _TEXT)
        answer = self._answer(syn, place)
        if answer is None:
            return None
        is_taken = _takes(syn, answer)
        if is_taken and self._dice.random() < 0.2:
            self._change(place)
        after = self._end(syn, answer)
        if is_fresh and not is_taken:
            wanted = f"text taken: granted {self._world.now - given.at:.1f} s before, for that key"
            return Problem(RULES[0], -1, wanted, str(answer))
        if is_taken and not set(given.keys) & set(keys):
            return Problem(RULES[2], -1, "its text refused: none of its keys is left", str(answer))
        if is_taken and any(each.flags & RST for each in after):
            wanted = "the handshake ends: the cookie was taken with the SYN"
            return Problem(RULES[0], -1, wanted, str(after[0]))
        return None

    def _of_a_neighbour(self, given: _Granted) -> Problem | None:
        bit = self._dice.randrange(8 * len(given.client.packed))
        other = relative_of(given.client, bit)
        if ip_address(other.packed).is_multicast:
            return None
        what = f"its text refused: the cookie is of an address that differs in bit {bit}"
        return self._refused(other, given.cookie, what)

    def _spoilt(self, given: _Granted) -> Problem | None:
        size = len(given.cookie)
        bit = self._dice.randrange(8 * size)
        number = int.from_bytes(given.cookie, "big") ^ (1 << bit)
        cookie, what = number.to_bytes(size, "big"), f"bit {bit} of its cookie is wrong"
        if self._dice.random() < 0.25:
            other = self._dice.randrange(MIN_COOKIE, MAX_COOKIE + 1, 2)
            cookie, what = self._dice.randbytes(other), "nobody granted its cookie"
        return self._refused(given.client, cookie, f"its text refused: {what}")

    def _refused(self, client: Address, cookie: bytes, wanted: str) -> Problem | None:
        place = self._dice.randrange(_LISTENERS)
        self._world.pass_time(_APART)
        syn = self._syn(client, place, opt.fast_open(cookie), _TEXT)
        answer = self._answer(syn, place)
        self._end(syn, answer)
        if answer is not None and _takes(syn, answer):
            return Problem(RULES[1], -1, wanted, str(answer))
        return None

    # What the host does

    def _change(self, place: int) -> None:
        """Another key comes, or goes, or two change their places."""
        ring, new = self._rings[place], self._dice.randbytes(KEY_SIZE)
        first, *rest = ring.keys
        kinds: list[Callable[[], tuple[bytes, ...]]] = [
            lambda: (new, first),
            lambda: (new,),
            lambda: (first,),
            lambda: (*rest, first),
        ]
        keys = self._dice.choice(kinds)()
        if place < _SHARED:
            ring.keys = keys
        else:
            self._rings[place] = KeyRing(keys)
            self._world.stack.listeners[_FIRST + place].cookies = self._rings[place]

    # Segments

    def _syn(self, client: Address, place: int, option: RawOption, text: bytes) -> Segment:
        return Segment(
            src=client,
            dst=TARGETS[client.version],
            sport=self._world.free_port(),
            dport=_FIRST + place,
            seq=self._dice.getrandbits(32),
            flags=SYN,
            options=opt.padded(opt.push_options([opt.mss(1460), option])),
            payload=text,
        )

    def _answer(self, syn: Segment, place: int) -> Segment | None:
        """The SYN-ACK, at times a later copy; the cookies of both are kept."""
        found = None
        came = self.send(syn)
        # Some wait with their SYN-ACK for the application's answer.
        if not came or self._dice.random() < 0.15:
            came += self.wait(_REPEATED)
        for each in came:
            if each.dport != syn.sport or not each.is_syn_ack:
                continue
            found = each
            for option in each.fast_open:
                if isinstance(option, FastOpen) and option.cookie:
                    self._keep(option.cookie, syn.src, place)
        return found

    def _keep(self, cookie: bytes, client: Address, place: int) -> None:
        granted = _Granted(cookie, client, self._rings[place].keys, self._world.now)
        self._granted = [*self._granted[1 - _HELD :], granted]

    def _end(self, syn: Segment, answer: Segment | None) -> list[Segment]:
        """Finish the handshake, so that it pends no more, and reset the connection. What came
        between the two."""
        if answer is None:
            return []
        ack = replace(
            syn,
            seq=answer.ack,
            ack=seq.add(answer.seq, 1),
            flags=ACK,
            options=b"",
            payload=b"",
        )
        after = self.send(ack)
        self.send(replace(ack, flags=RST | ACK))
        return [each for each in after if each.dport == syn.sport]


def _takes(syn: Segment, answer: Segment) -> bool:
    return seq.distance(syn.seq, answer.ack) > 1


def mistaken(make: Callable[[int], World]) -> Mistaken | None:
    """Which cookie a target mistakes, if it does. make: a world, by a number."""
    for number in range(_WALKS):
        world = make(number)
        profile = world.profile
        skips = profile.cookies_once or profile.opens_without or profile.stateless
        if skips or not profile.fast_open or profile.connections < MANY:
            return None
        world.port_of("echo")
        if not world.answers_at_once():
            return None
        walk = Cookies(world, random.Random(number))
        found = walk.problem()
        if found is not None:
            return Mistaken(found, walk.packets)
    return None

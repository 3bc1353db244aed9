"""Connections whose segments are signed, by TCP MD5 (RFC 2385) or TCP-AO (RFC 5925).

A walk, drawn by chance: a client connects to a listener that demands signatures, asks for cookies
beside other options, opens fast with what it was granted, and writes; meanwhile others send what
would come next, signed with another key or not at all. What is not signed does nothing, what is
arrives, and the target signs all that it says on the connection. A stack may leave fast open alone
beside signatures; but where one cookie is good, each that it grants is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.world import BACKLOG, ROOM, TARGETS, World
from scapy_tfo.explore.ends.context import USUAL
from scapy_tfo.explore.walk import Mistaken, Walk
from scapy_tfo.option import RawOption
from scapy_tfo.oracle.parts.profile import MANY
from scapy_tfo.reference.parts.signatures import AoKey, Md5Key, Signature
from scapy_tfo.reference.states import Event, Received
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, Segment

RULES = ("wrong-signature", "forged-taken", "signed-cookie-refused", "signed-text-lost")
"""Names of what is found here."""

_PORT = 9201
_WALKS, _TALKS = 9, 14
_KEYS: tuple[Callable[[bytes], Signature], ...] = (
    Md5Key,
    AoKey,
    lambda key: AoKey(key, covers_options=False),
)
_BESIDE: tuple[tuple[RawOption, ...], ...] = (
    (),
    (opt.sack_permitted(),),
    (opt.window_scale(7),),
    (opt.timestamps(1000, 0),),
)
"""Options for which a request has room beside a signature."""
_PIECE, _PIECES = 40, 3
"""Bytes that are written at a time, and how often."""
_TRIES, _HELD = 6, 4
"""Times that text is sent again, and cookies that are kept."""
_USUAL = 8
"""Bytes of most cookies."""
_FRESH = 10.0
"""Seconds for which a cookie is good at any target."""
_SOON, _LATER = 0.2, 4.0
"""Seconds within which most answer, and within which a SYN-ACK has come, or an acknowledgement that
waits."""


class Signed(Walk):
    """One walk, in a world of its own."""

    def __init__(
        self, world: World, dice: random.Random, kind: Callable[[bytes], Signature]
    ) -> None:
        super().__init__(world, dice)
        self._key, self._other = kind(dice.randbytes(16)), kind(dice.randbytes(16))
        settings = replace(world.stack.settings, signature=self._key)
        world.stack.listen(_PORT, fast_open=ROOM, backlog=BACKLOG, settings=settings)
        self._cookies: list[tuple[bytes, float]] = []
        self._got: dict[int, bytearray] = {}
        self._refused, self._good = "", False

    def problem(self) -> Problem | None:
        """What is wrong first, if anything is."""
        for _ in range(_TALKS):
            found = next(self._talk(), None)
            if found is not None:
                return found
        if self._good and self._refused:
            wanted = "its text taken: another cookie of this listener was good"
            return Problem(RULES[2], -1, wanted, self._refused)
        return None

    def _talk(self) -> Iterator[Problem]:
        """One connection; what is wrong on it."""
        self._cookies = [(cookie, at) for cookie, at in self._cookies if self._is_fresh(at)]
        cookie = self._dice.choice([None, b"", *(cookie for cookie, _ in self._cookies)])
        syn = self._syn(cookie)
        yield from self._forge(replace(syn, sport=self._world.free_port()), (syn.seq, 0))
        heard = self._say(syn, (syn.seq, 0))
        answer = next((each for each in heard if each.is_syn_ack), None)
        if answer is None:
            return
        yield from self._unsigned(heard, (syn.seq, answer.seq))
        self._learn(syn, answer)
        yield from self._goes_on(syn, answer)

    def _goes_on(self, syn: Segment, answer: Segment) -> Iterator[Problem]:
        """It writes, and others do."""
        isns, dice = (syn.seq, answer.seq), self._dice
        # Who has agreed on timestamps drops what has none.
        times = answer.timestamps
        agreed = [] if times is None else [opt.nop(), opt.nop(), opt.timestamps(2000, times[0])]
        bare = replace(
            syn,
            seq=answer.ack,
            ack=seq.add(answer.seq, 1),
            flags=ACK,
            options=opt.push_options(agreed),
            payload=b"",
        )
        rest = syn.payload[seq.distance(syn.seq, answer.ack) - 1 :]
        said = syn.payload
        for _ in range(_PIECES):
            forged = dice.choice(((PSH, b"forged"), (FIN, b""), (RST, b"")))
            yield from self._forge(replace(bare, flags=ACK | forged[0], payload=forged[1]), isns)
            text, rest = rest + dice.randbytes(_PIECE), b""
            said += text[-_PIECE:]
            heard = self._say(replace(bare, flags=ACK | PSH, payload=text), isns)
            yield from self._unsigned(heard, isns)
            bare = replace(bare, seq=seq.add(bare.seq, len(text)))
        whole = replace(bare, seq=seq.add(syn.seq, 1), flags=ACK | PSH, payload=said)
        for _ in range(_TRIES):
            # What met a closed window, or an application that was not there yet, comes again.
            if self._delivered(syn) != said:
                self.wait(_LATER)
                self._say(whole, isns)
        got = self._delivered(syn)
        if got != said:
            yield Problem(RULES[3], -1, f"{said.hex()}, all of it signed", got.hex() or "nothing")
        self._say(replace(bare, flags=RST | ACK), isns)

    # What the client says

    def _syn(self, cookie: bytes | None) -> Segment:
        """cookie: b"" to ask for one, None for no fast open."""
        beside = self._dice.choice(_BESIDE) if not cookie else ()
        tfo = [] if cookie is None else [opt.fast_open(cookie)]
        # A long cookie leaves no room for the MSS.
        mss = [opt.mss(1460)] if not cookie or len(cookie) <= _USUAL else []
        return Segment(
            src=USUAL.client,
            dst=TARGETS[4],
            sport=self._world.free_port(),
            dport=_PORT,
            seq=self._dice.getrandbits(32),
            flags=SYN,
            options=opt.push_options([*mss, *beside, *tfo]),
            payload=self._dice.randbytes(_PIECE) if cookie else b"",
        )

    def _say(self, segment: Segment, isns: tuple[int, int]) -> list[Segment]:
        """Send a segment, signed; what came for it. isns: the client's, and the target's."""
        return self._answers(self._key.sign(segment, *isns), _LATER)

    def _answers(self, segment: Segment, within: float) -> list[Segment]:
        """What comes for a segment, on its connection, at once or within so many seconds."""
        came = self.send(segment)
        came += self.wait(0.0 if came else within)
        return [each for each in came if each.dport == segment.sport]

    def _is_fresh(self, at: float) -> bool:
        return self._world.now - at < _FRESH

    def _learn(self, syn: Segment, answer: Segment) -> None:
        """Which cookies it grants, and which of them are good."""
        if answer.cookie:
            self._cookies = [*self._cookies[1 - _HELD :], (answer.cookie, self._world.now)]
        if not syn.payload:
            return
        if seq.distance(syn.seq, answer.ack) > 1:
            self._good = True
        else:
            self._refused = str(answer)

    # What others say

    def _forge(self, segment: Segment, isns: tuple[int, int]) -> Iterator[Problem]:
        """Send it without its signature, and with that of another key: nothing happens."""
        for forged in (segment, self._other.sign(segment, *isns)):
            heard = self._answers(forged, _SOON)
            moved = [each for each in heard if each.is_rst or _takes(each, segment)]
            # What is delivered on an open connection is seen at its end.
            got = self._delivered(segment) if segment.is_syn else b""
            if got or moved:
                told = str(moved[0]) if moved else f"{len(got)} bytes delivered"
                yield Problem(RULES[1], -1, "nothing: the key of the listener is another", told)

    # What the target does

    def happened(self, event: Event) -> None:
        if isinstance(event, Received):
            self._got.setdefault(event.connection.remote[1], bytearray()).extend(event.data)
            # It answers, so that the target has something to sign.
            event.connection.write(event.data, self._world.now)

    def _delivered(self, of: Segment) -> bytes:
        """What the application got on the connection that a segment is of."""
        return bytes(self._got.get(of.sport, b""))

    def _unsigned(self, heard: Sequence[Segment], isns: tuple[int, int]) -> Iterator[Problem]:
        """Segments without the right signature. A RST may come from who has forgotten the key."""
        own, theirs = isns
        for each in heard:
            if not (each.is_rst or self._key.accepts(each, theirs, own)):
                yield Problem(RULES[0], -1, "the signature of the connection's key", str(each))


def _takes(answer: Segment, segment: Segment) -> bool:
    """Whether it acknowledges all of a segment, or the SYN of it."""
    if segment.is_syn:
        return answer.is_syn_ack
    end = seq.add(segment.seq, segment.length)
    return bool(segment.length) and answer.ack == end and not answer.is_syn_ack


def unsigned(make: Callable[[int], World]) -> Mistaken | None:
    """What a target does wrong where segments are signed, if anything. make: a world, by a
    number."""
    for number in range(_WALKS):
        world = make(number)
        if world.profile.connections < MANY or world.profile.cookies_once:
            return None
        walk = Signed(world, random.Random(number), _KEYS[number % len(_KEYS)])
        found = walk.problem()
        if found is not None:
            return Mistaken(found, walk.packets)
    return None

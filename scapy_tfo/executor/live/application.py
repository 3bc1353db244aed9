"""Meets the application of a target on plain connections, before programs are judged by its echo.

What another application does, the stack would be blamed for.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.errors import TargetError
from scapy_tfo.packet import Ends, Reply, build, key_of, read
from scapy_tfo.program.cookies import Client
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, Address, endpoint
from scapy_tfo.wire.links.batch import Batch

THINKING = 5.0
"""Seconds that an application may take for an answer, from the acknowledgement of the request, or
from one part of the answer to the next."""

_AGAIN, _SENDS = 1.0, 10
"""Seconds after which what was not acknowledged is sent again, and how often it is sent: 0.36 ** 10
is below one in ten thousand, where 20 % are lost each way."""

_CONNECTIONS = 3
"""That may be reset before they tell."""

_GOES_ON = 0.3
"""Seconds after the last answer in which no end of the connection may come."""

_ISN = 700
_REQUESTS = (b"<1> as it was sent", b"<2> and more than a line of it".ljust(500, b"."))
"""The second fits into the smallest segment that any host takes (RFC 9293 section 3.7.1)."""
_OPTIONS = {"main": "", "plain": " (--plain-port)", "second": " (--second-port)"}


def meet(
    batch: Batch,
    sources: Mapping[Client, Address],
    addresses: Mapping[int, Address],
    ports: Mapping[str, int],
) -> None:
    """Have each listener echo two requests on one connection, and see that this goes on then.

    sources, addresses: by client, and by family. ports: as in `Range`; of those, the ones where an
    echo is meant to listen. Raises TargetError where something else comes.
    """
    for family, target in addresses.items():
        source = next(each for (version, _), each in sources.items() if version == family)
        for name, option in _OPTIONS.items():
            if name not in ports:
                continue
            why = _wrong(batch, source, target, ports[name])
            if why:
                raise TargetError(
                    f"{endpoint(target, ports[name])}{option} does not answer a plain connection "
                    f"as an echo would ({why})"
                )


def _wrong(batch: Batch, source: Address, target: Address, port: int) -> str:
    """What is wrong with a listener's answers, "" where nothing is."""
    why = ""
    for _ in range(_CONNECTIONS):
        sport = batch.reserve_port(source)
        try:
            talk = _Talk(batch, Ends(source.packed, target.packed, sport, port))
            why = talk.judged()
            talk.reset()
        finally:
            batch.release_port(source, sport)
        if not (why and talk.was_reset):
            break
    return why


class _Talk:
    """One plain connection. was_reset: the target has reset it."""

    def __init__(self, batch: Batch, ends: Ends) -> None:
        self.was_reset = False
        self._batch = batch
        self._ends = ends
        self._open = False
        self._ended = False
        self._sent = self._heard = b""
        self._out: list[bytes] = []
        self._acked = 0
        self._next = 0
        """Their sequence number that comes next."""

    def judged(self) -> str:
        """What is wrong, "" where nothing is."""
        syn = build(self._ends, _ISN, 0, SYN, options=opt.push_options([opt.mss(1220)]))
        for _ in range(_SENDS):
            self._hear([syn], _AGAIN)
            if self._open or self.was_reset:
                break
        if not self._open:
            return "RST in answer to a SYN" if self.was_reset else "no answer to a SYN"
        for number, request in enumerate(_REQUESTS):
            why = self._ask(request)
            if why:
                return f"{why} after the first answer" if number and not self._ended else why
        self._hear([], _GOES_ON)
        return self._over()

    def reset(self) -> None:
        """End it."""
        if self._open and not self.was_reset:
            self._batch.exchange([*self._out, self._built(RST | ACK, len(self._sent))])

    def _ask(self, request: bytes) -> str:
        """What is wrong with the answer, "" where it is right."""
        at = len(self._sent)
        self._sent += request
        sends = 0
        until = time.monotonic() + _AGAIN * _SENDS + THINKING
        while self._heard != self._sent:
            if not self._sent.startswith(self._heard):
                return f"{len(self._heard)} bytes came, which are not those that were sent"
            if why := self._over():
                return why
            is_taken = self._acked == len(self._sent)
            if is_taken and sends:
                until = min(until, time.monotonic() + THINKING)
                sends = 0
            if time.monotonic() >= until:
                return "the request was acknowledged, and no answer came"
            if not is_taken and sends == _SENDS:
                return "the request was not acknowledged"
            out = [] if is_taken else [self._built(ACK | PSH, at, request)]
            sends += not is_taken
            before = len(self._heard)
            self._hear(out, _AGAIN)
            if len(self._heard) > before:
                until = max(until, time.monotonic() + THINKING)
        return self._over() if self._ended else ""

    def _over(self) -> str:
        """How the target has ended the connection, "" where it has not."""
        if self.was_reset:
            return "the connection was reset"
        if self._ended:
            return "the connection was closed, with the client's end still open"
        return ""

    def _built(self, flags: int, at: int, text: bytes = b"") -> bytes:
        return build(self._ends, _ISN + 1 + at, self._next, flags, payload=text)

    def _hear(self, packets: list[bytes], seconds: float) -> None:
        """Send, and take in what comes until something new has, or for so long."""
        self._out += packets
        key = self._ends.client, self._ends.sport, self._ends.dport
        until = time.monotonic() + seconds
        while True:
            out, self._out = self._out, []
            came = self._batch.exchange(out)
            left = until - time.monotonic()
            if not came and left > 0:
                came = self._batch.wait(left)
            replies = [read(each) for each in came if key_of(each) == key]
            news = [self._take(each) for each in replies if each.sound]
            if any(news) or left <= 0:
                return

    def _take(self, reply: Reply) -> bool:
        """Whether it brought something new."""
        if reply.flags & RST:
            news, self.was_reset = not self.was_reset, True
            return news
        if reply.flags & SYN:
            news = not self._open and reply.flags & ACK != 0
            if news:
                self._open, self._next = True, seq.add(reply.seq, 1)
            if self._open:
                self._out.append(self._built(ACK, len(self._sent)))
            return news
        if not self._open:
            return False
        before = self._acked
        if reply.flags & ACK:
            acked = seq.distance(_ISN + 1, reply.ack)
            if self._acked < acked <= len(self._sent):
                self._acked = acked
        return self._take_text(reply) or self._acked > before

    def _take_text(self, reply: Reply) -> bool:
        """Whether text or FIN came that are next; what came too early will come again."""
        old = seq.distance(reply.seq, self._next)
        ends = bool(reply.flags & FIN)
        if not (reply.payload or ends):
            return False
        news = old >= 0 and not self._ended and len(reply.payload) + ends > old
        if news:
            self._heard += reply.payload[old:]
            self._ended = ends
            self._next = seq.add(reply.seq, len(reply.payload) + ends)
        self._out.append(self._built(ACK, len(self._sent)))
        return news

"""Sends volleys of single SYNs, made from a seed, and checks each answer.

A volley quickly finds suspects: programs of one step whose answer, or silence, looks wrong. The
oracle decides whether they are wrong, when the bench runs them as programs.
"""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable, Mapping, Sequence

from scapy_tfo.executor.bench import VolleyResult
from scapy_tfo.executor.live.addresses import Range
from scapy_tfo.executor.live.ports import Ports
from scapy_tfo.executor.live.volley_recipes import TCP, Recipe, Template, cook
from scapy_tfo.executor.live.volley_shapes import FLAGS, PORTS, SIZES, draw
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.payload import text
from scapy_tfo.segment import ACK, RST, Address

SIZE = 1024
"""Probes in a volley."""

SHARING = 4
"""Volleys with successive seeds that choose from the same SYNs."""

RECIPES = 320
"""Different SYNs among them, apart from ports and ISNs."""

CHUNK, LEAST_CHUNK = 256, 16
"""SYNs that are sent at once: to a target that has room for all, and at first to one of others."""

_OVERRUN = 1 / 16
"""Share of a volley that has no answer at first and had one when fewer SYNs went at once."""

_TURN = 0.02

_WAITS = 16
"""Volleys between one that overran the target and the next attempt to send more at once."""

_REST = 0.3
"""Seconds for a port: its connection ends with the volley, for the target too."""
_WRAPS_EVERY = 8
_MASK = 0xFFFFFFFF
_TIMES = b"\x08\x0a"
_NO_TIMES = bytes(8)


MOST_SUSPECTS = 16


class Volleys:
    """Fires volleys, one after another.

    jar: cookies that the target granted. ports: of each source. take: asked before each chunk of
    packets, so as to limit the rate. patience: seconds for an answer, twice. chunk: SYNs that are
    sent at once, at first; then as many as the target bears.
    """

    def __init__(
        self,
        at: Range,
        jar: Jar,
        profile: Profile,
        ports: Mapping[Address, Ports],
        take: Callable[[int], None],
        patience: float = 0.3,
        chunk: int = CHUNK,
    ) -> None:
        self.at = at
        self.jar = jar
        self.profile = profile
        self.take = take
        self.patience = patience
        self.chunk = chunk
        self._silent = 1.0
        self._waits = 0
        self._ports = ports
        self._pool: _Pool | None = None

    def fire(self, seed: int, size: int = SIZE) -> VolleyResult:
        """Send the volley of a seed and check the answers. Raises TargetError.

        Where ports run short, it waits until enough of them have rested.
        """
        pool = self._pool_of(seed // SHARING)
        ports = self._ports[self.at.sources[pool.client]]
        sports = ports.take(size, time.monotonic())
        while len(sports) < size:
            time.sleep(_TURN)
            sports += ports.take(size - len(sports), time.monotonic())
        try:
            result = _Volley(self, pool, random.Random(seed), sports).run()
            self._adapt(result.again / size)
            return result
        finally:
            ports.give(sports, time.monotonic(), _REST)

    def _adapt(self, silent: float) -> None:
        """Send more at once next time, or fewer. silent: share of a volley without an answer at
        first: some are dropped by a target that is wrong, however few go at once."""
        if silent > self._silent + _OVERRUN:
            self.chunk = max(self.chunk // 2, LEAST_CHUNK)
            self._waits = _WAITS
            return
        self._silent = min(self._silent, silent)
        self._waits -= 1
        if self._waits < 0:
            self.chunk = min(self.chunk * 2, CHUNK)

    def _pool_of(self, number: int) -> _Pool:
        if self._pool is None or self._pool.number != number:
            self._pool = _Pool(self, number)
        return self._pool


class _Pool:
    """What `SHARING` volleys have in common: the client, and the SYNs but for ports and ISNs."""

    def __init__(self, volleys: Volleys, number: int) -> None:
        at = volleys.at
        dice = random.Random(~number)
        self.number = number
        self.client = dice.choice(sorted(at.sources))
        self.ours = at.sources[self.client].packed
        self.theirs = at.addresses[self.client[0]].packed
        self.ends = {
            port: (
                Template.of(self.ours, self.theirs, port, RST),
                Template.of(self.ours, self.theirs, port, ACK),
            )
            for port in at.ports.values()
        }
        now = int(time.monotonic() * 1000)
        cooked = [self._cook(volleys, dice, now) for _ in range(RECIPES)]
        self.recipes = [each for each in cooked if each is not None]

    def _cook(self, volleys: Volleys, dice: random.Random, now: int) -> Recipe | None:
        options = draw(dice)
        port = dice.choice([each for each in PORTS if each in volleys.at.ports])
        letters, size = dice.choice(FLAGS), dice.choice(SIZES)
        ends = self.ours, self.theirs, volleys.at.ports[port]
        jar, profile = volleys.jar, volleys.profile
        return cook(options, letters, size, port, self.client, ends, jar, profile, now)


class _Volley:
    def __init__(
        self, volleys: Volleys, pool: _Pool, dice: random.Random, sports: list[int]
    ) -> None:
        self._batch = volleys.at.batch
        self._patience = volleys.patience
        self._chunk = volleys.chunk
        self._jar = volleys.jar
        self._take = volleys.take
        self._ours = pool.ours
        self._is_ipv4 = pool.client[0] == 4
        self._pseudo = int.from_bytes(pool.ours + pool.theirs, "big") + 6
        self._ends = pool.ends
        size = len(sports)
        self._sports = sports
        self._index = {port: number for number, port in enumerate(sports)}
        self._chosen: list[Recipe] = dice.choices(pool.recipes, k=size)
        self._isns = list(struct.unpack(f"!{size}I", dice.randbytes(4 * size)))
        for each in range(0, size, _WRAPS_EVERY):
            self._isns[each] = _MASK - self._isns[each] % 1500
        self._answered: list[tuple[int, int] | None] = [None] * size
        """ISS and bytes acknowledged."""
        self._wrong: set[int] = set()
        self._result = VolleyResult(size)

    def run(self) -> VolleyResult:
        self._send(range(len(self._sports)))
        missing = self._missing()
        if missing:
            # Once more, as any client would: a packet may have been lost.
            self._result.again = len(missing)
            self._send(missing)
            for each in self._missing():
                self._suspect(each, "no answer")
        return self._result

    def _send(self, numbers: Sequence[int]) -> None:
        """Send SYNs, and wait for their answers. Where fewer may go at once, most of a chunk must
        be answered before the next one goes, or the time be over."""
        out: list[bytes] = []
        for start in range(0, len(numbers), self._chunk):
            some = numbers[start : start + self._chunk]
            self._take(len(some))
            out = self._read(self._batch.exchange(out + self._packets(some)))
            if self._chunk < CHUNK:
                until = time.monotonic() + self._patience
                while len(self._missing(some)) * 4 > len(some) and time.monotonic() < until:
                    came = self._batch.exchange(out) if out else self._batch.wait(_TURN)
                    out = self._read(came)
        self._settle(out)

    def _packets(self, numbers: Sequence[int]) -> list[bytes]:
        chosen, sports, isns = self._chosen, self._sports, self._isns
        return [chosen[each].syn.packet(sports[each], isns[each]) for each in numbers]

    def _missing(self, numbers: Sequence[int] = ()) -> list[int]:
        """Those of some SYNs, of all without them, that are owed an answer that has not come."""
        return [
            each
            for each in numbers or range(len(self._chosen))
            if self._answered[each] is None and self._chosen[each].owed and each not in self._wrong
        ]

    def _settle(self, out: list[bytes]) -> None:
        """Send, and wait until all that is owed has come, or for so long."""
        out = self._read(self._batch.exchange(out))
        until = time.monotonic() + self._patience
        while out or (self._missing() and time.monotonic() < until):
            if out:
                out = self._read(self._batch.exchange(out))
            else:
                out = self._read(self._batch.wait(until - time.monotonic()))

    def _read(self, came: list[bytes]) -> list[bytes]:
        """Check answers, and return what ends the connections."""
        at = 20 if self._is_ipv4 else 40
        ours, ours_at = self._ours, at - len(self._ours)
        first, pseudo = (0x45 if self._is_ipv4 else 0x60), self._pseudo
        unpack, index, isns = TCP.unpack_from, self._index, self._isns
        answered, chosen = self._answered, self._chosen
        out: list[bytes] = []
        self._result.heard += len(came)
        for packet in came:
            if packet[0] != first or packet[ours_at:at] != ours or len(packet) < at + 20:
                continue
            dport, sport, seq, ack, word, _, _, _ = unpack(packet, at)
            number = index.get(sport)
            if number is None:
                continue
            size = len(packet) - at
            total = int.from_bytes(packet[at:], "big") << (size & 1) * 8
            if (total + pseudo + size) % 0xFFFF:
                self._suspect(number, "a wrong checksum")
                continue
            recipe = chosen[number]
            offset = (word >> 12) * 4
            if answered[number] is not None:
                self._see_more(number, seq, packet[at + offset :])
                continue
            options = packet[at + 20 : at + offset]
            echoes = True
            if recipe.offer.times is not None:
                options, echoes = _without_times(options, recipe.offer.times[0])
            taken = (ack - isns[number] - 1) & _MASK
            answer = word & 0xF03F, taken, options
            if answer not in recipe.fine or not echoes:
                self._judge(number, answer, echoes, seq)
            answered[number] = seq, taken
            if word & RST:
                continue
            if size > offset:
                self._see_more(number, seq + 1, packet[at + offset :])
            reset, finish = self._ends[dport]
            if recipe.pends:
                out.append(_acknowledging(finish, sport, ack, seq + 1 & _MASK))
            out.append(reset.packet(sport, ack))
        return out

    def _judge(self, number: int, answer: tuple[int, int, bytes], echoes: bool, seq: int) -> None:
        """Look closely at a first answer."""
        recipe = self._chosen[number]
        fault = recipe.fault(answer, echoes, seq, self._jar)
        if fault:
            self._suspect(number, fault)
        elif recipe.rst_seq is None:
            recipe.fine.add(answer)

    def _see_more(self, number: int, seq: int, payload: bytes) -> None:
        """Text, and what comes behind the first answer: only the echo of what was taken may."""
        answer = self._answered[number]
        if answer is None or not payload:
            return
        iss, taken = answer
        at = (seq - iss) & _MASK
        if not self._chosen[number].pends:
            self._suspect(number, "text before the handshake has ended")
        elif at - 1 + len(payload) > taken or payload != text(0, at, len(payload)):
            self._suspect(number, "an echo of what was not sent")

    def _suspect(self, number: int, why: str) -> None:
        self._wrong.add(number)
        if len(self._result.suspects) < MOST_SUSPECTS:
            program = self._chosen[number].program(self._isns[number])
            self._result.suspects.append((program, why))


def _acknowledging(template: Template, sport: int, seq: int, ack: int) -> bytes:
    checksum = ~((template.base + sport + seq + ack) % 0xFFFF) & 0xFFFF
    fixed = TCP.pack(sport, template.dport, seq, ack, template.word, template.window, checksum, 0)
    return template.head + fixed


def _without_times(options: bytes, value: int) -> tuple[bytes, bool]:
    """The options with TSval and TSecr zero, and whether TSecr is what we sent, if there is one."""
    at = options.find(_TIMES)
    if at < 0:
        return options, True
    echoes = int.from_bytes(options[at + 6 : at + 10], "big") == value
    return options[: at + 2] + _NO_TIMES + options[at + 10 :], echoes

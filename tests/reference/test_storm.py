"""Any segments in any order: nothing raises, nothing hangs, no event is reported twice."""

from __future__ import annotations

import random

import pytest

from scapy_tfo import icmp
from scapy_tfo import option as opt
from scapy_tfo.reference import Closed, EndOfStream, Reset, Settings, State
from scapy_tfo.segment import ACK, FIN, RST, SYN, Flags

from .wire import ISN, Script

QUIET = (State.ESTABLISHED, State.CLOSE_WAIT, State.FIN_WAIT_2)
"""States in which a connection may wait for its peer for ever."""


class Storm:
    """A server under random segments, errors and application calls, by one seed."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        settings = Settings(
            accept_syn_fin=self.dice.random() < 0.3,
            timestamps=self.dice.random() < 0.5,
            hold_last_ack=self.dice.random() < 0.2,
        )
        self.script = Script(settings, fast_open=self.dice.choice([0, 1, 8]))
        self.cookie = opt.fast_open(self.script.cookie())
        self.seen: list[bytes] = []

    def options(self) -> bytes:
        dice = self.dice
        usual = [
            opt.timestamps(dice.getrandbits(8)),
            opt.window_scale(dice.randrange(20)),
            opt.mss(dice.choice([0, 1, 500, 1460])),
            self.cookie,
        ]
        chosen = dice.choice([[], [self.cookie], [opt.fast_open()], usual])
        return opt.push_options(chosen) or dice.randbytes(dice.choice([0, 4, 39]))

    def segment(self) -> None:
        dice, script = self.dice, self.script
        live = list(script.stack.connections.values())
        starts, acks = [ISN, ISN + 1, ISN + 5, dice.getrandbits(32)], [dice.getrandbits(32)]
        if live:
            connection = dice.choice(live)
            starts += [connection.recv.nxt + n for n in (-5, -1, 0, 0, 0, 1, 5, 70_000)]
            acks += [connection.send.nxt + n for n in (-1, 0, 0, 0, 1)] + [connection.send.una]
        usual = [SYN, SYN, ACK, ACK, ACK, ACK | FIN, RST, SYN | ACK]
        answers = script.send(
            dice.choice([*usual, Flags(dice.randrange(256))]),
            sport=dice.choice([1, 2]),
            seq=dice.choice(starts) % 2**32,
            ack=dice.choice(acks) % 2**32,
            options=self.options(),
            payload=bytes(dice.choice([0, 0, 5, 1000])),
            window=dice.choice([0, 1, 1000, 65535]),
        )
        self.seen += [answer.to_bytes() for answer in answers]

    def error(self) -> None:
        if self.seen:
            quoted = self.dice.choice(self.seen)
            error = icmp.unreachable(quoted, code=self.dice.randrange(8))
            if self.dice.random() < 0.5:
                error = icmp.packet_too_big(quoted, mtu=self.dice.choice([0, 68, 500, 1300]))
            self.script.stack.receive(error.to_bytes(), self.script.now)

    def application(self) -> None:
        now, live = self.script.now, list(self.script.stack.connections.values())
        if live:
            connection = self.dice.choice(live)
            call = self.dice.choice(["write", "write", "write", "close", "abort"])
            if call == "write" and not connection.send.fin_queued:
                connection.write(bytes(self.dice.choice([1, 3000])), now)
            elif call == "close":
                connection.close(now)
            elif call == "abort":
                connection.abort(now)

    def step(self) -> None:
        steps = [self.segment] * 6 + [self.application] * 2 + [self.error]
        self.dice.choice(steps)()
        if self.dice.random() < 0.2:
            self.script.wait(self.dice.choice([0.1, 1, 5, 60]))
        assert 0 <= self.script.listener.pending.count(self.script.now) <= 8


@pytest.mark.parametrize("seed", range(60))
def test_a_storm_of_segments(seed: int) -> None:
    storm = Storm(seed)
    for _ in range(60):
        storm.step()
    script = storm.script
    script.wait(3000)
    assert script.listener.pending.count(script.now) == 0
    assert all(each.state in QUIET for each in script.stack.connections.values())
    for kinds in (EndOfStream, (Closed, Reset)):
        told = [id(e.connection) for e in script.events if isinstance(e, kinds)]
        assert len(told) == len(set(told))

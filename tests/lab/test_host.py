"""The reference stack on an asyncio loop."""

from __future__ import annotations

import asyncio

import pytest

from scapy_tfo.lab.memory.target import TARGET_V4, ReferenceLab
from scapy_tfo.runner.clock import VirtualLoop, run_virtually
from scapy_tfo.segment import SYN, Segment

A_TURN = 0.01
"""Seconds that one turn of the busy loop takes."""


def test_a_timer_fires_however_busy_the_loop_is(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = 0
    idle = VirtualLoop.time
    monkeypatch.setattr(VirtualLoop, "time", lambda loop: idle(loop) + turns * A_TURN)

    async def conversation() -> list[Segment]:
        nonlocal turns
        lab = await ReferenceLab.start()
        heard: list[Segment] = []
        lab.link.start(lambda packet, _when: heard.append(Segment.from_bytes(packet)))

        def syn(sport: int) -> None:
            segment = Segment(
                src=lab.link.sources[0],
                dst=TARGET_V4,
                sport=sport,
                dport=lab.ports["echo"],
                flags=SYN,
            )
            lab.link.send(segment.to_bytes())

        syn(1024)
        await asyncio.sleep(0)
        timeout = lab.host.stack.deadline()
        assert timeout is not None
        while turns * A_TURN < 1.5 * timeout:
            turns += 1
            syn(1025)
            await asyncio.sleep(0)
        lab.close()
        return [each for each in heard if each.dport == 1024]

    assert len(run_virtually(conversation())) == 2

"""Fixtures: runs to report on."""

from __future__ import annotations

import pytest

from scapy_tfo.segment import SYN
from scapy_tfo.spec import Level as SpecLevel
from scapy_tfo.spec import Requirement
from scapy_tfo.suite.result import Run, Verdict

from .sample import HOSTILE, REFUSED, RESULTS, STARTED, captured, outbound, result


@pytest.fixture
def catalogue() -> dict[str, Requirement]:
    """Two requirements; the others that the run names are unknown."""
    return {
        key: Requirement(
            id=key,
            source=("RFC 7413 section 3", "RFC 7413 section 4.2.2"),
            section="A section",
            level=level,
            role="server",
            statement=statement,
            observed=("wire",),
            how="on the wire",
        )
        for key, level, statement in (
            ("ACC-2", SpecLevel.STEP, "A valid cookie lets the SYN's data in at once."),
            ("SRV-2", SpecLevel.SHOULD, "Nobody else can make a cookie."),
        )
    }


@pytest.fixture
def run() -> Run:
    return Run(
        target="192.0.2.7:80",
        tool="scapy-tfo 0.1.0",
        started=STARTED,
        seconds=4.5,
        results=RESULTS,
        packets=captured(*REFUSED, comment="sent by ACC-2-accept [ipv4]"),
        notes=("control handshake: 0.3 ms",),
    )


@pytest.fixture
def hostile_run() -> Run:
    """Every string of it wants to break out of the report."""
    return Run(
        target=HOSTILE,
        tool=HOSTILE,
        started=STARTED,
        seconds=1.0,
        results=tuple(
            result(
                HOSTILE,
                verdict,
                title=HOSTILE,
                requirements=("ACC-2", HOSTILE),
                reason=HOSTILE,
                expected=HOSTILE,
                actual=HOSTILE,
                flow=HOSTILE,
                packets=(1, 99),
                observed={HOSTILE: HOSTILE},
            )
            for verdict in Verdict
        ),
        packets=captured(
            outbound(SYN, payload=HOSTILE.encode("utf-8", "replace")), comment=HOSTILE
        ),
        notes=(HOSTILE,),
    )

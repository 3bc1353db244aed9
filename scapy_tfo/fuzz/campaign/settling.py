"""Makes findings of the violations that a campaign has seen, while there is time for it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Protocol

from scapy_tfo.errors import TargetError
from scapy_tfo.fuzz.campaign.liveness import AFTER, NONE, Patient, culprit
from scapy_tfo.fuzz.campaign.triage import given_up, resolve
from scapy_tfo.fuzz.findings.finding import ALIVE, ROBUST, Finding, Status
from scapy_tfo.fuzz.findings.keeper import Keeper
from scapy_tfo.fuzz.generation.batches import Kind
from scapy_tfo.program.program import waits

OF_DEATH: Kind = (ROBUST, ALIVE, AFTER, NONE, "")

_TRYING, _TRYING_SHARE = 15.0, 0.25
"""Seconds, and the share of those of sending, that confirming and reducing may take afterwards."""
_SOON = 5.0
"""Seconds that a program may wait which is tried while others are sent. Those that wait for longer
are tried behind all."""


def extra_seconds(seconds: float | None) -> float:
    """How long violations are tried when the time of a campaign is over."""
    return math.inf if seconds is None else max(_TRYING, _TRYING_SHARE * seconds)


class OnFinding(Protocol):
    """is_new: no sighting had shown it before."""

    def __call__(self, finding: Finding, *, is_new: bool) -> None: ...


class Settling:
    """store: has the violations. seconds: of the campaign, None for no limit; left: until it is
    over. on_finding: called with each finding that is kept.

    signatures: of the confirmed findings.
    """

    def __init__(
        self,
        store: Keeper,
        patient: Patient,
        seconds: float | None,
        left: Callable[[], float],
        on_finding: OnFinding,
    ) -> None:
        self._store = store
        self._patient = patient
        self._seconds = seconds
        self._left = left
        self._on_finding = on_finding
        self._until = math.inf
        findings = store.findings()
        self.signatures = {each.signature for each in findings if each.status is Status.CONFIRMED}

    def settle(self, *, sending: bool = False) -> None:
        """Make findings of what was seen and not tried yet. sending: programs are being sent, and
        their results must not wait long. Raises TargetError where the target does not come back."""
        plan, sightings = self._store.plan, self._store.open_sightings()
        if sending and plan.live:
            sightings = [
                each for each in sightings if each.kind == OF_DEATH or waits(each.program) <= _SOON
            ]
        for seen in [each for each in sightings if each.kind == OF_DEATH]:
            suspects = [(seen.number, seen.program)]
            self.keep(seen.kind, culprit(self._patient, plan, suspects, seen.actual))
        left = {each.kind: each for each in sightings if each.kind != OF_DEATH}
        try:
            for seen, finding in resolve(
                self._patient.bench,
                plan,
                list(left.values()),
                frozenset(self.signatures),
                until=self._end_of_trying(),
            ):
                self.keep(seen.kind, finding)
                del left[seen.kind]
        except TargetError:
            # It died of being tried: what is not known by then is as it was seen.
            self._patient.revive()
            for seen in left.values():
                self.keep(seen.kind, given_up(plan, seen))

    def keep(self, kind: Kind, finding: Finding) -> None:
        """Keep what became of the violations of a kind."""
        is_new = self._store.settle(kind, finding)
        if finding.status is Status.CONFIRMED:
            self.signatures.add(finding.signature)
        self._on_finding(finding, is_new=is_new)

    def _end_of_trying(self) -> float:
        """When, by the monotonic clock, no violation is tried any more."""
        left = self._left()
        if left > 0 or self._until == math.inf:
            self._until = time.monotonic() + max(left, 0.0) + extra_seconds(self._seconds)
        return self._until

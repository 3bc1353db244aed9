"""Writes the page of a campaign that is under way into its directory."""

from __future__ import annotations

import time
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.files.writing import put
from scapy_tfo.fuzz.campaign.campaign import Progress
from scapy_tfo.fuzz.findings.causes import leads
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.report.dashboard import EVERY, dashboard
from scapy_tfo.report.fuzz_report import by_weight, figures_of, line_of

NAME = "dashboard.html"


class Dashboard:
    """store: of the campaign. directory: where the page goes."""

    def __init__(self, store: Store, directory: Path) -> None:
        self._store = store
        self.path = directory / NAME
        self._last: Progress | None = None
        self._written = -float(EVERY)

    def show(self, progress: Progress) -> None:
        """Write the page, unless it was written just before. Raises SetupError."""
        self._last = progress
        if time.monotonic() - self._written >= EVERY:
            self._write("", over=False)
            self._written = time.monotonic()

    def end(self, ended: str) -> None:
        """The campaign is over; ended: how. Raises SetupError."""
        if self._last is not None:
            self._write(ended, over=True)

    def _write(self, ended: str, *, over: bool) -> None:
        progress = self._last
        assert progress is not None
        findings = self._store.findings()
        lead = leads(findings)
        page = dashboard(
            figures_of(self._store, ended=ended),
            (("programs", progress.programs_a_second), ("segments", progress.probes_a_second)),
            [line_of(each, lead=lead[each.id]) for each in by_weight(findings)],
            progress.slowest,
            left=progress.left,
            over=over,
        )
        try:
            put(self.path, page)
        except OSError as error:
            raise SetupError(f"cannot write {self.path}: {error.strerror}") from error

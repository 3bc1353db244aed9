"""Makes pytest tests of packetdrill scripts, one for each IP version: `pytest FILE.pkt`.

The first test runs all collected scripts, many at a time; each then reports its own verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.settings import MAPPED, Settings
from scapy_tfo.pkt.library import SLOW, ScriptFile, read_script, task_of
from scapy_tfo.pkt.local.pool import Answer, default_jobs, run_all
from scapy_tfo.pkt.local.run import Task
from scapy_tfo.pkt.play.outcome import Outcome
from scapy_tfo.pkt.results import Judged
from scapy_tfo.report.escape import visible

_answers = pytest.StashKey[dict[str, Answer]]()


class ScriptCollector(pytest.File):
    """A file with a script."""

    def collect(self) -> Iterator[ScriptItem]:
        """One item for IPv4 and one for IPv6, where the script is for both."""
        try:
            script = read_script(self.path)
        except SetupError as error:
            raise self.CollectError(str(error)) from None
        for version in script.versions:
            if version != MAPPED:
                yield ScriptItem.from_parent(self, name=version, script=script)


class ScriptItem(pytest.Item):
    """A script for one IP version."""

    def __init__(self, *, script: ScriptFile, **more: Any) -> None:
        super().__init__(**more)
        self.script = script
        self.task: Task = task_of(script, self.name, Settings(), {})
        if script.path.name.endswith(SLOW) and not self.config.getoption("--tfo-slow"):
            self.add_marker(pytest.mark.skip(reason="waits for long timers: give --tfo-slow"))

    def runtest(self) -> None:
        """Fail as pytest does, or skip a script that cannot run here."""
        answer = _all_answers(self.session)[self.nodeid]
        if isinstance(answer, ScriptError):
            pytest.fail(visible(answer.show()), pytrace=False)
        if isinstance(answer, SetupError):
            pytest.skip(visible(str(answer)))
        if isinstance(answer, Outcome) and answer.failures:
            pytest.fail(_told(Judged(self.task, self.script.requirements, "", answer)), False)

    def reportinfo(self) -> tuple[str, int, str]:
        """Where it is, and what it is called."""
        return str(self.path), 0, f"{self.path.name} [{self.name}]"


def _all_answers(session: pytest.Session) -> dict[str, Answer]:
    if _answers not in session.stash:
        items = [each for each in session.items if isinstance(each, ScriptItem)]
        wanted = [each for each in items if each.get_closest_marker("skip") is None]
        tasks = [each.task for each in wanted]
        found = {
            wanted[number].nodeid: answer for number, answer in run_all(tasks, jobs=default_jobs())
        }
        session.stash[_answers] = found
    return session.stash[_answers]


def _told(judged: Judged) -> str:
    lines = [f"{judged.name}: {', '.join(judged.requirements) or 'differs from the script'}"]
    for failure in judged.failures:
        lines.append(f"{judged.task.name}:{failure.line}: {failure.problem}")
        lines += [f"    expected  {failure.expected}"] if failure.expected else []
        lines += [f"    actual    {failure.actual}"] if failure.actual else []
        lines += [f"      {each}" for each in failure.differences]
    return visible("\n".join(lines))

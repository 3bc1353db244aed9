"""What GitHub Actions shows of a run."""

from __future__ import annotations

import dataclasses

from scapy_tfo.report.exchange.github import job_summary, workflow_commands
from scapy_tfo.suite.result import Run

from ..sample import HOSTILE


def test_failures_are_told_with_their_reasons(run: Run) -> None:
    text = job_summary(run)
    assert "### TCP Fast Open: 192.0.2.7:80" in text
    assert "the SYN-ACK acknowledges the SYN only |" in text
    assert "**WARNINGS" in text


def test_an_annotation_for_each_failure(run: Run) -> None:
    lines = workflow_commands(run)
    assert [line.split("::")[1].split(" ")[0] for line in lines] == ["error", "error", "warning"]
    assert lines[0].startswith("::error title=ACC-2-accept [ipv4]::the SYN-ACK acknowledges")


def test_a_failure_that_another_explains_has_none(run: Run) -> None:
    lead = run.results[1]
    follows = dataclasses.replace(lead, case="ACC-3-x", cause=lead.case)
    assert len(workflow_commands(dataclasses.replace(run, results=(lead, follows)))) == 1


def test_a_run_without_an_end_is_an_error(run: Run) -> None:
    (line,) = workflow_commands(dataclasses.replace(run, results=(), gone="no answer"))
    assert line == "::error title=scapy-tfo::no answer"


def test_nothing_of_a_target_is_a_command_or_markup(run: Run) -> None:
    evil = dataclasses.replace(
        run.results[1], case="a::b,c", reason=f"{HOSTILE}\n::set-env name=x::y%0A::z"
    )
    hostile = dataclasses.replace(run, results=(evil,), target=HOSTILE + "\n::error::x")
    (line,) = workflow_commands(hostile)
    assert "\n" not in line
    assert "%0A" not in line
    assert line.startswith("::error title=a%3A%3Ab%2Cc [ipv4]::")
    assert "<script>" not in job_summary(hostile)
    assert not any(each.startswith("::") for each in job_summary(hostile).splitlines())

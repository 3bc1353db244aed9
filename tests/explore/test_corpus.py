"""The corpus of schedules: its file, and what a run of cases tells of it."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

import scapy_tfo.explore
from scapy_tfo import spec, tcp_rules
from scapy_tfo.cli import parser_of_all
from scapy_tfo.commands.test import plays_schedules
from scapy_tfo.errors import SetupError
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.explorer import Explorer
from scapy_tfo.explore.judging import run as judging
from scapy_tfo.explore.judging.clauses import AUDITS, clause_of
from scapy_tfo.explore.judging.corpus import corpus, from_short, to_short
from scapy_tfo.explore.judging.run import with_schedules
from scapy_tfo.explore.limits import RULES
from scapy_tfo.explore.stages.mixed import mixed
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.session import Request, judge_once, run
from scapy_tfo.suite.result import Run, Verdict

SOURCES = Path(scapy_tfo.explore.__file__).parent
SOME = 100


def judged(target: str, **changes: object) -> Run:
    request = replace(Request(target=target, only=("OPT-1",)), **changes)
    return run(request, with_schedules(judge_once))


def failures(done: Run) -> dict[str, tuple[int, ...]]:
    return {each.case: each.packets for each in done.results if each.verdict is Verdict.FAIL}


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> tuple[Schedule, ...]:
    """Of the corpus, for what a run does with it."""
    some = corpus()[::6]
    monkeypatch.setattr(judging, "corpus", lambda: some)
    return some


def test_any_schedule_can_be_written_short() -> None:
    explorer = Explorer("reference")
    for batch in islice(mixed(random.Random(3), explorer.length_of), 4):
        for schedule in batch:
            assert from_short(to_short(schedule)) == schedule


@pytest.mark.parametrize(
    "short",
    [{"faults": ["x1:lost"]}, {"faults": ["c1:burnt"]}, {"deeds": ["gap"]}, {"wrong": 3}, []],
    ids=str,
)
def test_what_is_no_schedule_is_refused(short: dict[str, object]) -> None:
    with pytest.raises(SetupError, match="this is no schedule"):
        from_short(short)


def test_no_schedule_is_there_twice() -> None:
    assert len(set(corpus())) == len(corpus()) > 500


def test_the_whole_corpus_finds_nothing_at_the_reference() -> None:
    result = Explorer("reference").explore_these(corpus())
    assert (result.total, result.found) == (len(corpus()), {})


@pytest.mark.parametrize("name", ["variants-row-28", "acks-stretch", "variants-row-3"])
def test_a_part_of_the_corpus_finds_nothing_at_a_legal_stack(name: str) -> None:
    """Advice that it has reason not to follow is no finding."""
    some = random.Random(name).sample(corpus(), SOME)
    found = Explorer(name).explore_these(some).found
    assert {rule: str(each.schedule) for rule, each in found.items() if not each.is_advice} == {}


def test_a_run_tells_of_the_corpus_where_nothing_is_wrong(part: tuple[Schedule, ...]) -> None:
    done = judged("sim:reference")
    assert failures(done) == {}
    assert f"{len(part):,} schedules were played" in done.notes


@pytest.mark.usefixtures("part")
def test_a_wrong_stack_fails_a_requirement_of_its_own_with_the_packet_that_shows_it() -> None:
    """Its only case here is about something else."""
    done = judged("sim:timestamps-without-agreement")
    assert "TCP-TS-3.times-not-agreed" in failures(done)
    (number, *_) = failures(done)["TCP-TS-3.times-not-agreed"]
    shown = done.packets[number - 1]
    assert (shown.number, shown.outbound) == (number, False)
    assert shown.comment.startswith("schedule ")


@pytest.mark.usefixtures("part")
def test_what_an_audit_finds_fails_a_requirement_too() -> None:
    assert "LIM-1.pending-miscounted" in failures(judged("sim:duplicate-starts-over"))


@pytest.mark.parametrize(
    ("line", "plays"),
    [
        ("sim:reference --slow", True),
        ("lab:linux --slow", True),
        ("sim:reference", False),
        ("sim:reference --schedules", True),
        ("sim:reference --slow --no-schedules", False),
        ("sim:reference --slow --only OPT", False),
        ("sim:reference --slow --impair loss=5%", False),
        ("192.0.2.1 --app echo --slow", False),
        ("192.0.2.1 --app echo --schedules", True),
    ],
)
def test_slow_runs_at_our_targets_play_the_corpus_and_others_do_on_demand(
    line: str, plays: bool
) -> None:
    chosen = parser_of_all().parse_args(["test", *line.split()])
    impairment = None if chosen.impair is None else Impairment(loss=0.05)
    options = Options(impairment=impairment)
    request = Request(target=chosen.target, app=chosen.app, only=chosen.only, options=options)
    assert plays_schedules(chosen, request) is plays


def test_schedules_of_one_family_are_played_where_one_is_asked_for(
    part: tuple[Schedule, ...],
) -> None:
    options = replace(Request(target="sim:reference").options, families=(6,))
    done = judged("sim:reference", options=options)
    count = sum(judging.family_of(each) == 6 for each in part)
    assert 0 < count < len(part)
    assert f"{count:,} schedules were played" in done.notes


def test_a_target_without_an_echo_is_judged_by_its_cases_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_reach: object) -> None:
        raise SetupError("explore needs an echo there")

    monkeypatch.setattr(judging, "open_site", refuse)
    done = judged("lab:reference")
    assert "schedules were not played: explore needs an echo there" in done.notes
    assert failures(done) == {}


def test_every_problem_breaks_a_requirement_that_there_is() -> None:
    known = {*spec.load(), *tcp_rules.load()}
    assert {clause_of(each) for each in AUDITS} <= known
    text = "".join(path.read_text() for path in SOURCES.rglob("*.py"))
    named = set(re.findall(r'(?:_wrong|Problem)\(\s*"([a-z-]+)"', text)) | set(RULES)
    packets = {name for each in tcp_rules.load().values() for name in each.rule}
    ours = {*AUDITS, "backlog-moved", "pending-limit-moved"}
    assert named - packets <= ours

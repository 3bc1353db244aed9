"""Which clause a finding belongs to, and which wrong cookies show it, is told by its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.campaign.shard import Job
from scapy_tfo.fuzz.campaign.triage import resolve
from scapy_tfo.fuzz.findings.causes import leads
from scapy_tfo.fuzz.findings.finding import Finding, Status, finding_id
from scapy_tfo.fuzz.findings.known import EACH, Known, load_known, new_ones, unseen, write_known
from scapy_tfo.fuzz.findings.naming import ANY, ANY_OF_ITS_SIZE, named
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.generation.batches import Tally
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program.program import Cookie, Expect, Flow, Icmp, Option, Program, Send, Wait
from scapy_tfo.program.spoilt import EVERY, class_of, spoilt_by
from scapy_tfo.report.fuzz_report import by_weight, line_of

FLIP = Cookie(edits=(("flip", 6),))


def _opened(cookie: Cookie = FLIP, size: int = 1, **flow: object) -> Program:
    options = (Option("fo", cookie=cookie),)
    return Program((Flow(**flow),), (Send(0, "S", size=size, options=options),), "reset")


def _named(target: str, program: Program) -> Violation:
    bench = SimulatedBench(f"sim:{target}")

    def ask(programs: Sequence[Program]) -> list[Sequence[Violation]]:
        return [verdict.violations for _, verdict in bench.run(enumerate(programs))]

    ((_, verdict),) = bench.run([(0, program)])
    return named(program, verdict.violations[0], ask)


ONES = EVERY["ones"]
LAST = Cookie(edits=(("flip", 60),))


@pytest.mark.parametrize(
    ("target", "cookie", "requirement", "wrong"),
    [
        ("accepts-any-cookie", FLIP, "SRV-1", ANY),
        ("accepts-any-cookie", Cookie(edits=(("cut", 6),)), "SRV-1", ANY),
        ("accepts-any-cookie-of-the-right-size", FLIP, "SRV-2", ANY_OF_ITS_SIZE),
        ("accepts-ones", ONES, "SRV-2", "ones"),
        ("ignores-the-last-byte", LAST, "SRV-2", "last-byte"),
        ("takes-either-byte-order", EVERY["reversed"], "SRV-2", "reversed"),
        ("accepts-a-cookie-cut-short", EVERY["cut"], "SRV-10", "cut"),
        ("misaligned-cookie-is-not-checked", FLIP, "OPT-5", ANY),
    ],
)
def test_all_wrong_cookies_that_are_accepted_are_the_class(
    target: str, cookie: Cookie, requirement: str, wrong: str
) -> None:
    found = _named(target, _opened(cookie))
    assert (found.requirement, found.cookie) == (requirement, wrong)


RIGHT = Cookie()
OPTION = Option("fo", cookie=RIGHT)


@pytest.mark.parametrize(
    ("target", "program", "requirement"),
    [
        # What a plain connection does right is fast open's; what it does wrong is not.
        ("data-is-acknowledged-and-lost", replace(_opened(RIGHT), end="finish"), "ACC-2"),
        ("last-byte-is-lost", replace(_opened(RIGHT), end="finish"), "ACC-9"),
        ("data-is-cut-at-the-default-mss", replace(_opened(RIGHT, 900), end="finish"), "ACC-10"),
        ("syn-is-delivered-as-a-byte", _opened(RIGHT, 0), "ACC-9"),
        ("cookie-alone-is-a-byte", _opened(RIGHT, 0), "ACC-5"),
        ("acks-one-byte-too-many", _opened(RIGHT, 0), "ACC-10"),
        # The place of the option among others.
        ("reads-behind-an-mss-only", _opened(RIGHT), "OPT-5"),
        # A listener without fast open, or one that is full.
        ("takes-any-data-when-off", Program((Flow(port="plain"),), (Send(size=1),)), "ACC-1"),
        ("resets-fast-opens-over-the-limit", _opened(RIGHT, port="plain"), "LIM-1"),
        # Ports, and addresses.
        ("cookie-bound-to-the-source-port", _opened(RIGHT), "SRV-3"),
        (
            "limits-each-client",
            Program(
                (Flow(),) * 4,
                tuple(Send(at, "S", size=1, options=(OPTION,)) for at in range(4)),
                "reset",
            ),
            "LIM-5",
        ),
        # Of several things that are wrong in one run, the one about the input.
        (
            "hangs-on-length-zero",
            Program(
                (Flow(),),
                (Send(), Send(options=(Option("raw", kind=34, length=0),))),
            ),
            "OPT-7",
        ),
    ],
)
def test_the_clause_is_the_one_that_neighbours_point_to(
    target: str, program: Program, requirement: str
) -> None:
    assert _named(target, program).requirement == requirement


def test_what_is_wrong_without_the_option_is_not_about_the_option() -> None:
    """A RST with an option that is not believed: without the option it is not, either."""
    opened = (Send(0, "S", size=1, options=(OPTION,)), Wait())
    program = Program((Flow(),), (*opened, Send(0, "R.", 2, 1, options=(OPTION,)), Wait()), "reset")
    deaf = Violation("OPT-4", "lives-on", "LISTEN", "ack", 0, 2, "silence after RST", "ack")

    def ask(programs: Sequence[Program]) -> list[Sequence[Violation]]:
        bare = [all(each.options is None for each in some.steps[2:3]) for some in programs]
        return [[replace(deaf, requirement="AFT-9")] if each else [deaf] for each in bare]

    assert named(program, deaf, ask).requirement == "AFT-9"
    assert named(program, deaf, lambda some: [()] * len(some)).requirement == "OPT-4"


def test_what_is_wrong_far_from_zero_is_not_about_crossing_it() -> None:
    opened = _opened(RIGHT, 20, isn=0xFFFFFFF0)
    assert _named("acks-one-byte-too-many", opened).requirement == "ACC-10"
    assert _named("crossing-zero-is-refused", opened).requirement == "ACC-11"


def test_the_class_of_a_cookie_leaves_chance_out() -> None:
    assert [class_of(each) for each in (Cookie(), Cookie("flow:3"), FLIP, LAST)] == [
        *("", "", "flip", "flip")
    ]
    assert class_of(Cookie("other")) == "other"
    assert class_of(Cookie("a1b2c3d4", (("cut", 2),))) == "made-up,cut"
    twice = Program((Flow(), Flow()), (*_opened(LAST).steps, Send(1, options=(OPTION,)), Wait()))
    assert [spoilt_by(twice, flow, 2) for flow in (0, 1)] == ["flip", ""]
    assert spoilt_by(twice, 0, -1) == ""


@pytest.mark.parametrize(
    ("target", "cookie"), [("accepts-ones", ONES), ("ignores-the-last-byte", LAST)]
)
def test_known_ones_hide_only_themselves(tmp_path: Path, target: str, cookie: Cookie) -> None:
    """Two stacks that break one clause by one rule in one state: neither hides the other."""
    found = _settled(tmp_path, target, cookie)
    wrong = {"accepts-ones": "ones", "ignores-the-last-byte": "last-byte"}
    path = tmp_path / "known.toml"
    for held in wrong.values():
        signature = ("SRV-2", found.state, found.reply, held)
        write_known(path, [Known(signature, found.rule, "a test", found.reduced)])
        known = load_known(path)
        assert known[0].id == finding_id(signature)
        assert bool(new_ones([found], known)) is (held != wrong[target])


def test_an_entry_may_stand_for_every_state(tmp_path: Path) -> None:
    """It still hides no other rule, and no other reply."""
    found = _settled(tmp_path, "accepts-ones", ONES)
    path = tmp_path / "known.toml"
    for rule, reply, is_new in (
        (found.rule, found.reply, False),
        ("another", found.reply, True),
        (found.rule, "rst", True),
        (found.rule, EACH, False),
    ):
        write_known(path, [Known(("SRV-2", EACH, reply, EACH), rule, "a test", found.reduced)])
        known = load_known(path)
        assert bool(new_ones([found], known)) is is_new
        assert bool(unseen([found], known)) is is_new


def test_another_toml_file_is_no_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A slip of the command line must not cost a user's own file."""
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\nname = "theirs"\n')
    given = ["--programs", "8", "--known", str(path), "--out", str(tmp_path / "out")]
    assert main(["fuzz", "sim:reference", "--update-known", *given]) == 2
    assert "it has 'project'" in capsys.readouterr().err
    assert "theirs" in path.read_text()


def _settled(tmp_path: Path, target: str, cookie: Cookie) -> Finding:
    bench = SimulatedBench(f"sim:{target}")
    program, tally = _opened(cookie), Tally()
    ((_, verdict),) = bench.run([(0, program)])
    for violation in verdict.violations:
        tally.note(0, violation, program)
    plan = Job(target=f"sim:{target}").plan(bench, (1, 1))
    with closing(Store.create(tmp_path / "campaign.sqlite", plan)) as store:
        store.commit_volleys(0, tally, seconds=0.0)
        sightings = store.open_sightings()
        assert {each.kind[4] for each in sightings} == {class_of(cookie)}
        for seen, finding in resolve(bench, plan, sightings):
            assert store.settle(seen.kind, finding)
        taken, told = by_weight(store.findings())
    # What is taken is answered, too: one cause.
    assert (taken.rule, told.rule) == ("takes-text", "early-text")
    assert leads([told, taken]) == {taken.id: taken.id, told.id: taken.id}
    assert line_of(told, lead=taken.id).endswith(f"; one cause with {taken.id}")
    assert "one cause" not in line_of(taken, lead=taken.id)
    return taken


def test_findings_about_other_cookies_are_of_another_cause(tmp_path: Path) -> None:
    taken = _settled(tmp_path, "accepts-ones", ONES)
    other = replace(taken, signature=(*taken.signature[:3], "zeros"))
    assert len(set(leads([taken, other]).values())) == 2
    unsure = replace(taken, signature=("ACC-4", *taken.signature[1:]), status=Status.FLAKY)
    assert leads([taken, unsure])[unsure.id] == unsure.id


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("echo-reply-ends-the-connection", "echo-reply"),
        ("error-about-udp-ends-the-connection", "udp"),
        ("error-of-ports-alone-closes-the-listener", "ports"),
    ],
)
def test_of_findings_about_icmp_the_kind_of_message_is_told(target: str, message: str) -> None:
    steps = (Send(0, "S"), Expect(), Icmp(0, message), Send(1, "S"), Wait())
    found = _named(target, Program((Flow(), Flow()), steps, "finish"))
    assert (found.requirement, found.cookie) == ("AFT-8", message)

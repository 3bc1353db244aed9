"""Campaigns as boofuzz sessions, whose results are read with boofuzz's own reader."""

from __future__ import annotations

import importlib
import re
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import TargetError
from scapy_tfo.executor.bench import VolleyResult
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.boofuzz.cases import PATHS, Deck, Numbers, node_of
from scapy_tfo.fuzz.campaign.liveness import Patient
from scapy_tfo.fuzz.generation.batches import LONG
from scapy_tfo.fuzz.generation.grammar import program_for
from scapy_tfo.fuzz.generation.plan import Plan
from scapy_tfo.program.program import loads, waits
from scapy_tfo.targets import benches
from tests.fuzz.fakes import FakeBench, Fault

boofuzz = pytest.importorskip("boofuzz", reason="boofuzz is not installed (the extra 'boofuzz')")
session_info = importlib.import_module("boofuzz.sessions.session_info")

MUTANT = "sim:accepts-any-cookie"
PLAN = Plan(target="sim:fake", profile="linux", grammar="1", batch=64)
Case = list[tuple[str, str, bytes]]


def cases_of(path: Path) -> list[Case]:
    """Type, words and bytes of each step of each case."""
    info = session_info.SessionInfo(str(path))
    return [
        [(step.type, step.description, step.data) for step in info.test_case_data(number + 1).steps]
        for number in range(info.total_mutant_index)
    ]


def of_type(case: Case, kind: str) -> list[str]:
    return [words for found, words, _ in case if found == kind]


def campaign(
    database: Path,
    bench: Any,
    reopen: Callable[[], Any] | None = None,
    plan: Plan = PLAN,
    **wishes: Any,
):
    from scapy_tfo.fuzz.boofuzz.session import Campaign, Wishes

    patient = Patient(reopen or (lambda: bench), bench)
    fires = hasattr(bench, "volley")
    made = Campaign(
        plan, program_for, patient, database, Wishes(**{"cases": 3, **wishes}), fires=fires
    )
    made.run()
    return made


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of three batches that nothing is wrong with."""
    database = tmp_path_factory.mktemp("passed") / "boofuzz.db"
    campaign(database, FakeBench())
    return database


def test_a_session_walks_through_the_grammar(passed: Path) -> None:
    info = session_info.SessionInfo(str(passed))
    names = [info.test_case_data(number).name for number in (1, 2, 3)]
    assert [name.partition(":[")[0] for name in names] == [
        "cookie-request",
        "cookie-request->fast-open",
        "cookie-request->fast-open->teardown",
    ]
    assert info.monitor_results == {}


def test_each_case_is_a_batch_behind_what_leads_up_to_it(passed: Path) -> None:
    sent = [[data for kind, _, data in case if kind == "send"] for case in cases_of(passed)]
    assert [len(each) for each in sent] == [1, 2, 3]
    assert sent[2][2] == b'{"node": "teardown", "programs": [0, 64]}'
    assert loads(sent[2][0].decode()).origin == "valid cookie-request"
    assert loads(sent[2][1].decode()).origin == "valid fast-open"


def test_the_oracles_speak_in_the_log(passed: Path) -> None:
    said = of_type(cases_of(passed)[2], "info")
    assert any(re.match(r"\d+ programs, \d+ segments, ", line) for line in said)
    assert "alive: a control handshake and a valid fast open succeed" in said


def test_nodes_share_the_numbers_between_them() -> None:
    deck = Deck(PLAN, program_for)
    found = {
        node: {number for number, _ in deck.programs(Numbers(node, range(200)))} for node in PATHS
    }
    assert sum(map(len, found.values())) == 200
    assert set().union(*found.values()) == set(range(200))
    for node, numbers in found.items():
        assert all(node_of(deck.program(each), live=False) == node for each in numbers)


def test_a_wrong_stack_fails_with_its_requirement(tmp_path: Path) -> None:
    database = tmp_path / "boofuzz.db"
    assert main(["fuzz", "boofuzz", MUTANT, "--cases", "3", "--batch", "32", *to(database)]) == 1
    failed = session_info.SessionInfo(str(database)).monitor_results
    assert failed
    assert all("SRV-2 takes-text" in "\n".join(reasons) for reasons in failed.values())
    case = cases_of(database)[min(failed) - 1]
    program = next(line for line in of_type(case, "info") if line.startswith("program"))
    verdict, _ = SimulatedBench(MUTANT).trace(loads(program.partition(": ")[2]))
    assert "SRV-2" in {each.requirement for each in verdict.violations}
    assert any(re.match(r"packet \d+, came at .* S\. ", line) for line in of_type(case, "step"))


def to(database: Path) -> list[str]:
    return ["--db", str(database), "--quiet"]


def test_the_right_stack_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = tmp_path / "boofuzz.db"
    target = "sim:reference"
    assert main(["fuzz", "boofuzz", target, "--cases", "3", "--batch", "8", *to(database)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("3 cases, ")
    assert f"boo open {database}" in said
    assert len(cases_of(database)) == 3


def test_single_cases_have_every_packet_whole(tmp_path: Path) -> None:
    database = tmp_path / "boofuzz.db"
    main(["fuzz", "boofuzz", "sim:reference", "--single", "--cases", "9", *to(database)])
    bench = SimulatedBench("sim:reference")
    for case in cases_of(database):
        program = next(line for line in of_type(case, "info") if line.startswith("program: "))
        _, packets = bench.trace(loads(program.removeprefix("program: ")))
        assert logged(case) == [(each.outbound, each.data) for each in packets]


def logged(case: Case) -> list[tuple[bool, bytes]]:
    """Packets in the log of a case, put together of their pieces."""
    found: list[tuple[bool, bytes]] = []
    within = False
    for kind, words, data in case:
        if kind == "step":
            within = words.startswith("packet ")
            if within:
                found.append((", sent at " in words, b""))
        elif within and kind in ("send", "receive"):
            found[-1] = found[-1][0], found[-1][1] + data
    return found


def test_one_case_can_be_run_alone(tmp_path: Path) -> None:
    all_of_them, one = tmp_path / "all.db", tmp_path / "one.db"
    arguments = ["fuzz", "boofuzz", MUTANT, "--cases", "3", "--batch", "16"]
    main([*arguments, *to(all_of_them)])
    main([*arguments, "--case", "3", *to(one)])
    assert session_info.SessionInfo(str(one)).total_mutant_index == 1
    alone = session_info.SessionInfo(str(one)).monitor_results
    assert set(alone) == {3}
    assert alone[3] == session_info.SessionInfo(str(all_of_them)).monitor_results[3]


def test_what_does_not_come_again_fails_no_case(tmp_path: Path) -> None:
    class Once(FakeBench):
        def trace(self, program):
            verdict, packets = super().trace(program)
            return type(verdict)(), packets

    made = campaign(tmp_path / "boofuzz.db", Once(faults=[Fault(lambda _: True)]))
    assert not made.failures
    said = of_type(cases_of(tmp_path / "boofuzz.db")[0], "info")
    assert any(line.startswith("ACC-2 planted did not come again: ") for line in said)


def test_long_waits_are_tried_again_all_at_once(tmp_path: Path) -> None:
    class Impatient(FakeBench):
        def trace(self, program):
            raise AssertionError(program)

    bench = Impatient(faults=[Fault(lambda program: waits(program) >= LONG)])
    plan = replace(PLAN, live=True)
    made = campaign(tmp_path / "b.db", bench, plan=plan, node="patience", patience=True, cases=1)
    assert "ACC-2" in made.failures[1][0]


def test_many_failures_end_nothing_early(tmp_path: Path) -> None:
    made = campaign(tmp_path / "b.db", FakeBench(faults=[Fault(lambda _: True)]), cases=60)
    assert len(made.failures) == 60


def test_one_node_may_have_all_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = tmp_path / "boofuzz.db"
    made = campaign(database, FakeBench(), cases=2, node="fast-open")
    assert made.counts == {"cookie-request": 0, "fast-open": 2, "teardown": 0}
    sent = [data for kind, _, data in cases_of(database)[1] if kind == "send"]
    assert sent[-1] == b'{"node": "fast-open", "programs": [64, 128]}'
    arguments = ["fuzz", "boofuzz", "sim:reference", "--node", "volley"]
    assert main([*arguments, *to(tmp_path / "none.db")]) == 2
    assert "give one of cookie-request, fast-open, teardown" in capsys.readouterr().err


def test_without_boofuzz_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["fuzz", "boofuzz", "sim:reference"]) == 2
    assert "pip install 'scapy-tfo[boofuzz]'" in capsys.readouterr().err


def test_a_target_that_dies_is_opened_anew(tmp_path: Path) -> None:
    benches = [FakeBench(kills=lambda program: program.origin == "spoilt")]
    first = benches[0]

    def reopen() -> FakeBench:
        benches.append(FakeBench())
        return benches[-1]

    made = campaign(tmp_path / "boofuzz.db", first, reopen)
    assert len(benches) == 2
    assert set(made.failures) == {1}
    assert "liveness" in made.failures[1][0]
    assert "the target was opened anew" in of_type(cases_of(tmp_path / "boofuzz.db")[0], "info")


def test_a_target_that_is_gone_for_good_ends_it(tmp_path: Path) -> None:
    dead = FakeBench(kills=lambda _: True)
    with pytest.raises(TargetError, match="does not recover"):
        campaign(tmp_path / "boofuzz.db", dead)


def test_counters_that_cannot_be_fail_a_case(tmp_path: Path) -> None:
    class Counting(FakeBench):
        asked = 0

        def counters(self) -> dict[str, int]:
            self.asked += 1
            return {"TCPFastOpenPassive": 10_000 * self.asked}

    made = campaign(tmp_path / "boofuzz.db", Counting())
    assert set(made.failures) == {1, 2, 3}
    assert "10000 fast opens counted for " in made.failures[1][0]


def test_volleys_have_a_node_where_they_can_be_sent(tmp_path: Path) -> None:
    class Firing(FakeBench):
        def volley(self, seed: int) -> VolleyResult:
            fault = next(program_for(each, "auto") for each in range(9) if each == seed)
            return VolleyResult(1024, 1000, 0, [(fault, "looks wrong")])

    bench = Firing(faults=[Fault(lambda _: True)])
    made = campaign(tmp_path / "boofuzz.db", bench, cases=4)
    assert made.counts["volley"] == 1
    assert "ACC-2" in made.failures[4][0]
    said = of_type(cases_of(tmp_path / "boofuzz.db")[3], "info")
    assert any(line.startswith("1,024 single SYNs, 1,000 packets back") for line in said)


def test_the_web_ui_shows_a_campaign(tmp_path: Path) -> None:
    from boofuzz.web.app import app

    made = campaign(tmp_path / "boofuzz.db", FakeBench(faults=[Fault(lambda _: True)]))
    app.session = session_info.SessionInfo(str(made.database))
    client = app.test_client()
    assert "ACC-2 planted" in client.get("/").text
    log = client.get("/api/test-case/2").get_json()["log_data"]
    assert "cookie-request->fast-open" in log[0]["log_line"]


def test_a_taken_port_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        arguments = ["fuzz", "boofuzz", "sim:reference", "--web-port", port]
        assert main([*arguments, *to(tmp_path / "boofuzz.db")]) == 2
    assert f"cannot use --web-port {port}" in capsys.readouterr().err


def test_a_database_is_never_written_over(passed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "boofuzz", "sim:reference", *to(passed)]) == 2
    assert "already exists" in capsys.readouterr().err


def test_cases_are_sent_without_boofuzz_counting_them() -> None:
    """Counting all mutations before each case is what boofuzz spends most of its time on."""
    from scapy_tfo.fuzz.boofuzz.session import Cases

    def never() -> Any:
        raise AssertionError

    assert Cases(b"", never, 1 << 30, "programs").get_num_mutations() == 1 << 30


def test_a_directory_of_its_own_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(benches, "batch_of", lambda _: 8)
    assert main(["fuzz", "boofuzz", "sim:reference", "--cases", "3", "--quiet"]) == 0
    assert (tmp_path / "tfo-results/latest/boofuzz.db").is_file()

"""The command `scapy-tfo fuzz`: its files, its exit statuses, its error messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from scapy_tfo.capture.reader import read_frames
from scapy_tfo.cli import main
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.campaign import shard as shards
from scapy_tfo.targets import benches
from tests.fuzz.command_line import MUTANT, complaint, first, results

Fuzz = Callable[..., int]


class Blameless(SimulatedBench):
    """The reference stack, whatever the model thinks of it."""

    def run(self, programs):
        for number, verdict in super().run(programs):
            yield number, Verdict((), verdict.reached, verdict.sent, verdict.heard)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Campaigns write into a directory of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def blameless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benches, "SimulatedBench", Blameless)
    monkeypatch.setattr(shards, "batch_of", lambda _: 32)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a campaign at a stack that is wrong."""
    out = tmp_path_factory.mktemp("campaign")
    assert main(["fuzz", MUTANT, "--programs", "40", "--out", str(out), "--quiet"]) == 1
    return out


def test_a_wrong_stack_is_found_out(campaign: Path) -> None:
    found = results(campaign / "results.json")
    assert (found["sequences"], found["target"], found["ended"]) == (40, MUTANT, "finished")
    assert found["probes"] > 40
    finding = next(each for each in found["findings"] if each["requirement"] == "ACC-2")
    assert finding["new"]
    assert finding["status"] == "confirmed"
    assert finding["steps"] <= 2
    assert finding["packets"][finding["packet"]]["sent"] is False


@pytest.mark.usefixtures("blameless")
def test_a_right_stack_is_status_0_and_latest_points_there(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fuzz", "sim:reference", "--programs", "24", "--json", "r.json"]) == 0
    assert "sim:reference: 24 programs" in capsys.readouterr().out
    found = results(elsewhere / "r.json")
    assert found["findings"] == []
    assert found == results(elsewhere / "tfo-results" / "latest" / "results.json")
    assert main(["fuzz", "list", "--json", "again.json"]) == 0
    assert results(elsewhere / "again.json") == found


@pytest.mark.usefixtures("blameless", "elsewhere")
def test_nothing_found_is_said_last(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "sim:reference", "--programs", "24", "--out", "f", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "sim:reference: nothing found"


@pytest.mark.usefixtures("blameless")
def test_a_resumed_campaign_sends_what_one_run_does(elsewhere: Path) -> None:
    whole = ["fuzz", "sim:reference", "--quiet", "--out", "whole", "--programs", "100"]
    assert main(whole) == 0
    part = ["fuzz", "sim:reference", "--quiet", "--out", "part", "--resume"]
    assert main([*part, "--programs", "40"]) == 0
    assert main([*part, "--programs", "100"]) == 0
    assert main(part) == 0
    one, other = (results(elsewhere / each / "results.json") for each in ("whole", "part"))
    assert one["fingerprints"] == other["fingerprints"]
    assert one["sequences"] == other["sequences"] == 100


@pytest.mark.usefixtures("blameless")
def test_shards_are_merged_to_the_whole(elsewhere: Path) -> None:
    common = ["fuzz", "sim:reference", "--quiet", "--programs", "120", "--seed", "3"]
    assert main([*common, "--out", "whole"]) == 0
    for shard in ("1/2", "2/2"):
        assert main([*common, "--shard", shard, "--store", f"{shard[0]}.sqlite"]) == 0
    merge = ["fuzz", "merge", "all.sqlite", "1.sqlite", "2.sqlite", "--json", "all.json"]
    assert main(merge) == 0
    whole, merged = results(elsewhere / "whole" / "results.json"), results(elsewhere / "all.json")
    for each in ("fingerprints", "sequences", "probes", "reached", "batches"):
        assert whole[each] == merged[each]


def test_known_findings_are_no_news_and_those_that_are_gone_are_told(
    elsewhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fuzz = ["fuzz", MUTANT, "--programs", "40", "--quiet", "--known", "known.toml"]
    assert main([*fuzz, "--update-known", "--out", "1"]) == 1
    assert main([*fuzz, "--out", "2"]) == 0
    findings = results(elsewhere / "2" / "results.json")["findings"]
    assert findings
    assert not any(each["new"] for each in findings)
    known = elsewhere / "known.toml"
    reason = 'reason = "we know: it is a mutant"'
    known.write_text(re.sub('reason = ".*"', reason, known.read_text(), count=1))
    capsys.readouterr()
    assert main([*fuzz, "--update-known", "--out", "3"]) == 0
    assert known.read_text().count(reason) == 1
    assert known.read_text().count("[[known]]") == len(findings)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(benches, "SimulatedBench", Silent)
    assert main([*fuzz, "--out", "4"]) == 0
    told = capsys.readouterr().err
    gone = "known finding {} no longer occurs: remove it from the list"
    assert all(gone.format(each["id"]) in told for each in findings)
    assert main([*fuzz, "--update-known", "--out", "5"]) == 0
    assert "no longer occurs: it is no longer in the list" in capsys.readouterr().err
    assert "[[known]]" not in known.read_text()


class Silent(SimulatedBench):
    """Finds nothing, alone or among others."""

    def run(self, programs):
        for number, _ in programs:
            yield number, Verdict(sent=1)

    def trace(self, _program):
        return Verdict(), ()


def test_a_finding_is_shown_with_clause_and_packets(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["fuzz", "show", first(campaign), "--store", str(campaign / "campaign.sqlite")]) == 0
    )
    told = capsys.readouterr().out
    assert "RFC 7413 section 3 (2a)" in told
    assert "end: reset" in told
    assert re.search(r"\* +2 .*S\. seq 0 ack 1", told)


def test_every_export_can_be_read(campaign: Path, elsewhere: Path) -> None:
    name, store = first(campaign), str(campaign / "campaign.sqlite")
    for form in ("json", "pcapng", "pkt", "pytest"):
        assert main(["fuzz", "export", name, "--store", store, "--format", form]) == 0
    assert results(elsewhere / f"{name}.json")["id"] == name
    comments = [each.comment for each in read_frames(elsewhere / f"{name}.pcapng")]
    assert sum(each.startswith("ACC-2: expected") for each in comments) == 1
    assert main(["pkt", "check", f"{name}.pkt"]) == 0
    assert "ACC-2" in (elsewhere / f"{name}.pkt").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no target"),
        (["sim:nothing"], "no such stack"),
        (["lab:nothing"], "not a target for fuzz"),
        (["sim:reference", "--for", "soon"], "write a time as"),
        (["sim:reference", "--shard", "4/3"], "third of sixteen"),
        (["sim:reference", "--shard", "9/9", "--programs", "64"], "has none of 64 programs"),
        (["sim:reference", "--json", "absent/r.json"], "there is no directory"),
        (["sim:reference", "--json", "."], "it is a directory"),
        (["sim:reference", "--store", "absent/s.sqlite"], "there is no directory"),
        (["sim:reference", "--known", "absent.toml"], "cannot read"),
        (["sim:reference", "--update-known"], "--update-known needs --known"),
        (["sim:reference", "--corpus", "absent.sqlite"], "there is no campaign"),
        (["sim:reference", "--rate", "5"], "on the wire"),
        (["sim:reference", "--profile", "linux"], "leave out --profile linux"),
        (["list"], "there is no campaign"),
        (["show", "ACC-2-123456"], "there is no campaign"),
        (["replay", "absent.json"], "there is no such file"),
        (["export", "ACC-2-123456", "--store", "absent"], "there is no campaign"),
        (["merge", "out.sqlite", "absent.sqlite"], "there is no campaign"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], elsewhere: Path
) -> None:
    assert main(["fuzz", *arguments]) == 2
    assert says in complaint(capsys)
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[[known]]\nid = 3", "known.toml"),
        ("known = 7", "its 'known' is a number, not a list"),
        ("[[known", "it is not TOML"),
        (
            '[[known]]\nrequirement="A"\nstate="b"\nreply="c"\nrule="d"\nreason="e"\nprogram="{}"',
            "its schema is not 1",
        ),
    ],
)
def test_a_damaged_list_of_known_ones_is_status_2(
    content: str, says: str, capsys: pytest.CaptureFixture[str], elsewhere: Path
) -> None:
    (elsewhere / "known.toml").write_text(content)
    assert main(["fuzz", MUTANT, "--known", "known.toml"]) == 2
    assert says in complaint(capsys)


def test_what_is_no_program_is_status_2(
    capsys: pytest.CaptureFixture[str], elsewhere: Path
) -> None:
    for content in ("nothing", "[]", '{"schema": 1}', '{"reduced": {}}'):
        (elsewhere / "p.json").write_text(content)
        assert main(["fuzz", "replay", "p.json", "--target", MUTANT]) == 2
        assert "holds no program" in complaint(capsys)


@pytest.mark.usefixtures("blameless")
def test_a_store_is_neither_overwritten_nor_taken_for_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fuzz = ["fuzz", "sim:reference", "--programs", "10", "--store", "s.sqlite", "--quiet"]
    assert main(fuzz) == 0
    assert main(fuzz) == 2
    assert "already exists" in complaint(capsys)
    assert main([*fuzz, "--resume", "--seed", "4"]) == 2
    assert "belongs to another campaign: seed 0, not 4" in complaint(capsys)
    Path("s.sqlite").write_bytes(b"no database at all, but something long enough" * 99)
    assert main([*fuzz, "--resume"]) == 2
    assert "the store s.sqlite is damaged" in complaint(capsys)


@pytest.mark.usefixtures("blameless")
def test_an_earlier_corpus_is_mutated_from_the_first_batch_on(elsewhere: Path) -> None:
    fuzz = ["fuzz", "sim:reference", "--programs", "64", "--quiet"]
    assert main([*fuzz, "--out", "first"]) == 0
    assert main([*fuzz, "--out", "second", "--corpus", "first/campaign.sqlite"]) == 0
    first, second = (results(elsewhere / each / "results.json") for each in ("first", "second"))
    assert first["fingerprints"]["seeded"] != second["fingerprints"]["seeded"]
    assert first["fingerprints"]["mutated"] != second["fingerprints"]["mutated"]


def test_help_is_that_of_a_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fuzz", "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "usage: scapy-tfo fuzz [-h]" in told
    assert "scapy-tfo fuzz merge OUT STORE..." in told

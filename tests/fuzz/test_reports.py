"""Reports of a campaign: Markdown for a job page, all exports at once, known findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.cli import main
from scapy_tfo.report.tables.fuzz import markdown

MUTANT = "sim:data-is-not-acknowledged"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a campaign at a stack that is wrong, with a list of what is known of it."""
    out = tmp_path_factory.mktemp("campaign")
    given = ["--out", str(out), "--known", str(out / "known.toml"), "--update-known", "--quiet"]
    main(["fuzz", MUTANT, "--programs", "40", *given])
    return out


def figures(**changed: Any) -> dict[str, Any]:
    finding = {
        "id": "ACC-2-abcdef",
        "requirement": "ACC-2",
        "expected": "acknowledging 5",
        "actual": "acknowledging 1",
        "steps": 1,
        "count": 1234,
        "new": True,
    }
    return {
        "target": "lab:linux",
        "sequences": 10,
        "probes": 100,
        "seconds": 2.0,
        "reached": 7,
        "seed": 3,
        "grammar": "1",
        "profile": "linux",
        "findings": [finding],
        "flaky": [],
        "gone": [],
        **changed,
    }


class TestMarkdown:
    def test_a_new_finding_is_in_the_headline_and_the_table(self) -> None:
        page = markdown(figures()).splitlines()
        assert page[0] == "### scapy-tfo fuzz lab:linux: 1 new finding"
        assert page[2].startswith("10 programs, 100 segments in 2 s of sending (50 a second)")
        told = "| ACC-2 (step) | acknowledging 5 | acknowledging 1 | 1 | 1,234 |"
        assert page[-1] == f"| **NEW** | `ACC-2-abcdef` {told}"

    def test_known_ones_and_flaky_ones_are_no_news(self) -> None:
        (finding,) = figures()["findings"]
        page = markdown(figures(findings=[{**finding, "new": False}], flaky=[finding]))
        assert "lab:linux: nothing new" in page
        assert "| known | `ACC-2-abcdef`" in page
        assert "| flaky | `ACC-2-abcdef`" in page

    def test_without_findings_there_is_no_table(self) -> None:
        page = markdown(figures(findings=[]))
        assert "no findings" in page
        assert "|" not in page

    def test_one_that_is_gone_is_told(self) -> None:
        assert "Known finding ACC-2-abcdef no longer occurs" in markdown(
            figures(gone=["ACC-2-abcdef"])
        )

    def test_what_a_target_says_is_no_markup(self) -> None:
        (finding,) = figures()["findings"]
        wild = {**finding, "actual": "a | b\n<script> `x` [y](z)"}
        row = markdown(figures(findings=[wild])).splitlines()[-1]
        assert "a \\| b \\<script\\> \\`x\\` \\[y\\](z)" in row


class TestStores:
    def test_a_list_says_what_is_known(
        self, campaign: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store = ["--store", str(campaign / "campaign.sqlite")]
        assert main(["fuzz", "list", *store]) == 0
        assert "confirmed ACC-2-" in capsys.readouterr().out
        assert main(["fuzz", "list", *store, "--known", str(campaign / "known.toml")]) == 0
        told = capsys.readouterr().out
        assert "known     ACC-2-" in told
        assert "NEW" not in told

    def test_a_list_may_be_markdown(
        self, campaign: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store = str(campaign / "campaign.sqlite")
        assert main(["fuzz", "list", "--store", store, "--markdown"]) == 0
        assert capsys.readouterr().out.startswith(f"### scapy-tfo fuzz {MUTANT}: ")

    def test_all_findings_become_files_of_every_kind(
        self, campaign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store, out = str(campaign / "campaign.sqlite"), tmp_path / "files"
        assert main(["fuzz", "export", "all", "--store", store, "--output", str(out)]) == 0
        assert f"findings: {out}" in capsys.readouterr().out
        assert {each.suffix for each in out.iterdir()} == {".json", ".pcapng", ".pkt", ".py"}

    def test_all_of_one_kind_is_refused(
        self, campaign: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store = str(campaign / "campaign.sqlite")
        assert main(["fuzz", "export", "all", "--store", store, "--format", "pkt"]) == 2
        assert "leave out --format" in capsys.readouterr().err

    def test_a_merge_makes_a_new_file_only(
        self, campaign: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store = str(campaign / "campaign.sqlite")
        assert main(["fuzz", "merge", store, store]) == 2
        assert "give a new file to merge into" in capsys.readouterr().err


@pytest.mark.parametrize("mutant", ["cookie-alone-is-dropped"])
def test_the_script_of_a_silence_fails_at_the_silent_stack(mutant: str, tmp_path: Path) -> None:
    main(["fuzz", f"sim:{mutant}", "--programs", "400", "--out", str(tmp_path), "--quiet"])
    (script,) = (tmp_path / "findings").glob("*.pkt")
    assert main(["pkt", "run", str(script), "--target", f"sim:{mutant}"]) == 1
    assert main(["pkt", "run", str(script), "--target", "sim:reference"]) == 0

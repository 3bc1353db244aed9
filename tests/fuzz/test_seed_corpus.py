"""The programs of fuzz/corpus: each can be read, passes at the reference, and finds a mutant."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.program.files import read_directory, read_program
from scapy_tfo.program.program import to_json
from scapy_tfo.spec import load

FUZZ = Path(__file__).resolve().parents[2] / "fuzz"
PROGRAMS = read_directory(FUZZ / "corpus")
ROW = re.compile(r"\| `([a-z0-9-]+)` \| (.+) \| `([a-z0-9-]+)` \|")
TOLD = {
    match[1]: (match[2], match[3])
    for match in map(ROW.fullmatch, (FUZZ / "README.md").read_text().splitlines())
    if match
}
CLAUSE = re.compile(r"(acc|aft|dup|lim|opt|rel|srv)-([0-9]+[a-z]?)-.+")


@cache
def bench(name: str) -> SimulatedBench:
    return SimulatedBench(f"sim:{name}")


def test_the_table_has_them_all() -> None:
    assert {name: program.origin for name, program in PROGRAMS.items()} == {
        name: what for name, (what, _) in TOLD.items()
    }


@pytest.mark.parametrize("name", PROGRAMS)
class TestProgram:
    def test_it_is_named_after_a_requirement(self, name: str) -> None:
        match = CLAUSE.fullmatch(name)
        assert match is None or f"{match[1].upper()}-{match[2]}" in load()

    def test_its_file_holds_nothing_else(self, name: str) -> None:
        raw = json.loads((FUZZ / "corpus" / f"{name}.json").read_text())
        assert raw == json.loads(json.dumps(to_json(PROGRAMS[name])))

    def test_the_reference_does_nothing_wrong(self, name: str) -> None:
        verdict, packets = bench("reference").trace(PROGRAMS[name])
        assert (verdict.violations, verdict.unjudged) == ((), "")
        assert packets

    def test_a_stack_that_is_wrong_does(self, name: str) -> None:
        verdict, _ = bench(TOLD[name][1]).trace(PROGRAMS[name])
        assert verdict.violations


class TestFiles:
    def test_a_campaign_may_begin_with_a_directory(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        given = ["fuzz", "sim:reference", "--programs", "16", "--out", str(tmp_path), "--quiet"]
        main([*given, "--corpus", str(FUZZ / "corpus")])
        assert "sim:reference: 16 programs" in capsys.readouterr().out

    def test_one_may_be_replayed(self, capsys: pytest.CaptureFixture[str]) -> None:
        file = str(FUZZ / "corpus" / "acc-2-good-cookie-with-data.json")
        assert main(["fuzz", "replay", file, "--target", "sim:reference"]) == 0
        assert main(["fuzz", "replay", file, "--target", "sim:only-pushed-data-is-taken"]) == 1
        assert "ACC-2" in capsys.readouterr().out

    def test_a_directory_without_programs_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(SetupError, match="no programs in"):
            read_directory(tmp_path)

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 1}', '{"schema": 9}', "\xff"])
    def test_a_file_that_is_no_program_is_told(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "wrong.json"
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(SetupError, match="holds no program"):
            read_program(path)

    def test_a_file_that_is_not_there_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(SetupError, match="cannot read"):
            read_program(tmp_path / "nowhere.json")

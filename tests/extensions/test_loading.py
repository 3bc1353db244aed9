"""Cases of users: files and entry points are run, and what is wrong with them is told."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.extensions import loading
from scapy_tfo.mutants import registry as mutants
from scapy_tfo.suite import registry as cases

OWN = '''
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.server import Listener
from scapy_tfo.suite.registry import case


@case("ACC-2")
async def our_own(peer):
    """A case of a user."""
    await peer.cookie()


@mutant("ACC-2")
class OurOwnMutant(Listener):
    """A mutant of a user."""
'''


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    cases.all_cases()
    mutants.all_mutants()
    monkeypatch.setattr(cases, "_cases", dict(cases._cases))
    monkeypatch.setattr(mutants, "_mutants", dict(mutants._mutants))
    monkeypatch.setattr(loading, "_loaded", set())


def test_a_file_registers_cases_and_mutants(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN)
    loading.load_files([own, own, tmp_path / "." / "own.py"])
    assert "ACC-2.our-own" in {each.id for each in cases.all_cases()}
    assert mutants.named("our-own-mutant").breaks == "ACC-2"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x =", "SyntaxError"),
        ("\n1 / 0", "line 2: ZeroDivisionError"),
        (OWN.replace('"ACC-2")\nasync', '"ACC-2", needs=["no such"])\nasync'), "no such"),
        (OWN + OWN.replace("OurOwnMutant", "Other"), "id taken"),
        ("import nothing_of_that_name", "nothing_of_that_name"),
    ],
)
def test_a_file_that_fails_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    own = tmp_path / "own.py"
    own.write_text(text)
    with pytest.raises(SetupError, match=f"cannot load .*own.py: .*{says}"):
        loading.load_file(own)


@pytest.mark.parametrize("name", ["absent.py", "notes.txt", "."])
def test_what_is_no_python_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SetupError, match="cannot load"):
        loading.load_file(tmp_path / name)


def test_an_installed_package_names_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_cases.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    names = ["their_cases"]

    def found(group: str) -> list[EntryPoint]:
        return [EntryPoint("x", name, group) for name in names]

    monkeypatch.setattr(loading, "entry_points", found)
    loading.load_installed()
    assert "ACC-2.our-own" in {each.id for each in cases.all_cases()}
    names.append("nothing_of_that_name")
    with pytest.raises(SetupError, match=r"the cases of .*nothing_of_that_name"):
        loading.load_installed()


BREAKS = """
from scapy_tfo import case


@case("ACC-2")
async def of_a_user_that_breaks(peer):
    \"\"\"A case with a mistake.\"\"\"
    await peer.cookie()
    [][0]
"""


def test_a_case_of_a_user_that_breaks_does_not_pass_for_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(BREAKS)
    only = ["--only", "ACC-2.of-a-user-that-breaks", "--cases", "own.py"]
    assert main(["test", "sim:reference", *only, "--json", "r.json"]) == 70
    told = " ".join(capsys.readouterr().out.split())
    assert "a fault of the case, not of the target" in told
    assert "own.py:9" in told
    assert "please report" not in told
    assert "exit 70: a case broke" in told
    assert '"exit_status": 70' in (tmp_path / "r.json").read_text("utf-8")


def test_pytest_fails_the_test_of_a_case_that_breaks_and_keeps_the_label(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(BREAKS)
    only = ["--tfo-only", "ACC-2.of-a-user-that-breaks", "--tfo-cases", "own.py"]
    more = ["--tfo-target", "sim:reference", "--tfo-label", "ours", "--tfo-out", "out"]
    command = [sys.executable, "-m", "pytest", "-q", "--pyargs", "scapy_tfo.conformance"]
    done = subprocess.run(
        [*command, *only, *more], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the case broke with IndexError" in done.stdout
    assert json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))["label"] == "ours"

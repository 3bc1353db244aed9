"""The steps of the nightly workflow, run here, with a directory for each job in GitHub's place."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "nightly-fuzz.yml"
MUTANT = "sim:data-is-not-acknowledged"
SHARDS = 2
# GitHub's runners have it; here the steps already run as whoever runs the tests.
SUDO = '#!/bin/sh\nexec "$@"\n'
SHELL = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c")

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (the extra 'cluster')")
pytestmark = pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")


class Night:
    """One run of the workflow at a target. corpus: what the cache held before, and holds after."""

    def __init__(self, place: Path, target: str, corpus: Path) -> None:
        workflow = yaml.safe_load(WORKFLOW.read_text())
        self._jobs: dict[str, Any] = workflow["jobs"]
        self._place, self._corpus = place, corpus
        self._env = {
            **workflow["env"],
            "TARGET": target,
            "DURATION": "1s",
            "SEED": "7",
            "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
            "GITHUB_OUTPUT": str(place / "output"),
            "PATH": f"{_tools(place)}:{Path(sys.executable).parent}:/usr/bin:/bin",
        }
        self.said = ""

    def run(self) -> int:
        """All jobs as they depend on each other; the status of the last."""
        before = self._directory("corpus")
        shutil.copytree(self._corpus, before / "corpus", dirs_exist_ok=True)
        assert self._steps("corpus", before) == 0
        for shard in range(1, SHARDS + 1):
            here = self._directory(f"fuzz-{shard}")
            shutil.copytree(before / "corpus", here / "corpus")
            assert self._steps("fuzz", here, SHARD=f"{shard}/{SHARDS}") == 0, self.said
            shutil.copytree(here / "out", self._place / "merge" / "shards" / f"shard-{shard}")
        last = self._directory("merge")
        status = self._steps("merge", last)
        shutil.copytree(last / "corpus", self._corpus, dirs_exist_ok=True)
        return status

    @property
    def summary(self) -> str:
        """The job's page."""
        return (self._place / "summary.md").read_text()

    def artefacts(self) -> list[str]:
        """Names of the files of findings that the last job keeps."""
        return sorted(each.suffix for each in (self._place / "merge" / "findings").rglob("*.*"))

    def _steps(self, job: str, here: Path, **env: str) -> int:
        for step in self._jobs[job]["steps"]:
            # What is under test is installed already.
            if "run" not in step or step.get("name") == "Install":
                continue
            status = self._shell(step, here, env)
            if status:
                return status
        return 0

    def _shell(self, step: Mapping[str, Any], here: Path, env: Mapping[str, str]) -> int:
        outputs = self._place / "output"
        told = outputs.read_text() if outputs.exists() else ""
        found = re.search(r"status=(\d+)", told)
        known = {**self._env, **env, "STATUS": found[1] if found else ""}
        assert set(step.get("env", {})) <= set(known), step
        done = subprocess.run(
            [*SHELL, step["run"]], cwd=here, env=known, capture_output=True, text=True, timeout=60
        )
        self.said += done.stdout + done.stderr
        return done.returncode

    def _directory(self, name: str) -> Path:
        """As a checkout: the files of the repository that the steps name."""
        made = self._place / name
        made.mkdir(parents=True, exist_ok=True)
        (made / "fuzz").symlink_to(ROOT / "fuzz")
        return made


def _tools(place: Path) -> Path:
    made = place / "bin"
    made.mkdir()
    (made / "sudo").write_text(SUDO)
    (made / "sudo").chmod(0o755)
    return made


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    made = tmp_path / "cache"
    made.mkdir()
    return made


def test_two_nights_are_red_for_what_is_new_alone_and_the_second_begins_where_the_first_ended(
    tmp_path: Path, corpus: Path
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        night = Night(tmp_path / name, "sim:reference", corpus)
        # How far a second goes, and whether it meets something, is the machine's affair.
        status = night.run()
        assert status == ("**NEW**" in night.summary), night.said
        assert bool(night.artefacts()) == bool(status)
    begun_with = tmp_path / "second" / "corpus" / "corpus" / "contents.txt"
    assert "campaign.sqlite" in begun_with.read_text()


def test_a_night_with_a_new_finding_is_red_and_keeps_what_shows_it(
    tmp_path: Path, corpus: Path
) -> None:
    (tmp_path / "night").mkdir()
    night = Night(tmp_path / "night", MUTANT, corpus)
    assert night.run() == 1, night.said
    assert "**NEW**" in night.summary
    assert {".json", ".pcapng", ".pkt", ".py"} <= set(night.artefacts())

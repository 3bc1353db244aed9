"""The agent in C, built once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

AGENTS = Path(__file__).resolve().parents[2] / "docs" / "hooks"


@pytest.fixture(scope="session")
def agent_in_c(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler: apt-get install gcc libc6-dev")
    made = tmp_path_factory.mktemp("agent") / "agent"
    warnings = ("-Wall", "-Wextra", "-Werror", "-std=gnu99")
    subprocess.run([compiler, "-O2", *warnings, "-o", made, AGENTS / "agent.c"], check=True)
    return made

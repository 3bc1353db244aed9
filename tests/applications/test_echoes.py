"""The echo servers that docs/echo offers to copy: back pressure, half close, fast open."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.applications.conftest import ECHOES, HERE, Judge, in_namespace

COMPILERS = {
    "c": ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", "{out}", "{source}"],
    "go": ["go", "build", "-o", "{out}", "{source}"],
    "rs": ["rustc", "-O", "-o", "{out}", "{source}"],
}


@pytest.fixture(scope="module", params=["c", "go", "rs", "py"])
def echo_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """The command of an echo, built where it has to be."""
    kind: str = request.param
    source = ECHOES / f"echo.{kind}"
    if kind == "py":
        return [sys.executable, str(source)]
    build: Sequence[str] = COMPILERS[kind]
    if not shutil.which(build[0]):
        pytest.skip(f"needs {build[0]}, to build docs/echo/{source.name}")
    made = tmp_path_factory.mktemp("echo") / "echo"
    words = [each.format(out=made, source=source) for each in build]
    subprocess.run(words, check=True, env={**os.environ, "GO111MODULE": "off"})
    return [str(made)]


def test_it_reads_no_more_than_it_can_write_and_closes_when_all_is_sent_back(
    echo_server: list[str],
) -> None:
    run = [sys.executable, str(HERE / "pushing.py"), "7"]
    status, said = in_namespace([[*echo_server, "7", "4096"]], run)
    assert (status, said) == (0, "")


def test_a_stack_is_judged_whole_behind_it(echo_server: list[str], judge: Judge) -> None:
    servers = [[*echo_server, "7", "4096"], [*echo_server, "8"], [*echo_server, "9", "4096"]]
    options = ["--app", "echo", "--plain-port", "8", "--second-port", "9", "--exclude", "LIM"]
    done = judge(servers, "127.0.0.1:7", *options)
    assert (done.status, done.failed) == (0, []), done.said
    assert "inconclusive" not in {each["verdict"] for each in done.results.values()}
    for case in ("ACC-2.syn-data-is-acknowledged", "AFT-11.bulk-after-a-fast-open-is-echoed"):
        assert done.results[case]["verdict"] == "pass"
    granted = done.results["ACC-1.fast-open-off-grants-no-cookie"]
    assert granted["verdict"] == "pass"


def test_wrong_usage_is_told(echo_server: list[str]) -> None:
    done = subprocess.run(echo_server, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "usage: echo" in done.stderr


def test_the_table_names_each() -> None:
    table = (ECHOES / "README.md").read_text(encoding="utf-8")
    sources = [each.name for each in ECHOES.iterdir() if each.name != "README.md"]
    assert sorted(sources) == ["echo.c", "echo.go", "echo.py", "echo.rs"]
    assert all(f"[{each}]({each})" in table for each in sources)

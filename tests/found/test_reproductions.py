"""The reproductions of docs/found run, and show what their pages say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FOUND = DOCS / "found"
ROW = re.compile(r"^ *(TCP|MPTCP) +(.*\S) +acknowledged +(\d+), read +(\d+): ", re.MULTILINE)
PACKET = re.compile(r" *\d+\.\d  (<--|-->) |ruby \d|Scapy \d")
"""Lines of a reproduction that hold times or versions."""
SHOWS, NO_MPTCP = 1, 77
NOT_RUN = {"at.py", "wire.py"}
"""Programs of the folder that are no reproductions."""

NEEDS = [
    pytest.mark.skipif(os.geteuid() != 0, reason="makes a network namespace: needs root"),
    pytest.mark.skipif(
        shutil.which("ip") is None, reason="ip is not installed: apt-get install iproute2"
    ),
    pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="this host has no /dev/net/tun"),
]
PAGES = sorted(FOUND.glob("*.md"))
STACKS = "freebsd-", "gvisor-", "lwip-", "pytcp-", "smoltcp-"
OF_A_STACK = [each.stem for each in PAGES if each.stem.startswith(STACKS)]


def needed(test: Callable[[], None]) -> Callable[[], None]:
    """What makes a namespace with a device."""
    for each in NEEDS:
        test = each(test)
    return test


def ran(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)


def shows_what_its_page_says(name: str, done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the fault is there, and if it is, whether the page has what tells so."""
    assert done.returncode in (0, SHOWS), done.stdout + done.stderr
    told = [line for line in done.stdout.splitlines() if line and not PACKET.match(line)]
    assert told, done.stdout + done.stderr
    page = (FOUND / f"{name}.md").read_text("utf-8")
    if done.returncode:
        assert [line for line in told if f"    {line}\n" not in page] == []
    return bool(done.returncode)


def test_each_page_is_in_the_table() -> None:
    table = (FOUND / "README.md").read_text("utf-8")
    pages = {each.name for each in PAGES} - {"README.md"}
    assert {name for name in pages if f"]({name})" not in table} == set()


def test_each_page_has_its_parts_and_a_reproduction() -> None:
    for page in PAGES:
        if page.name != "README.md":
            text = page.read_text("utf-8")
            parts = re.findall(r"^## (.*)$", text, re.MULTILINE)
            assert [each for each in parts if each != "Packets"] == [
                *("Versions", "Steps", "Expected", "Actual", "Analysis")
            ], page.name
            script = next(FOUND.glob(f"{page.stem}.[pr]*"))
            assert f"docs/found/{script.name}" in text
    scripts = {each.name for each in FOUND.glob("*.[pr]*")} - NOT_RUN
    assert {each for each in scripts if not (FOUND / each).with_suffix(".md").exists()} == set()


@needed
def test_an_overlap_after_a_fallback_of_mptcp() -> None:
    """A kernel without the fault reads all; one with it loses what the page says, and no more."""
    name = "linux-mptcp-overlap"
    done = ran(sys.executable, FOUND / f"{name}.py")
    if done.returncode == NO_MPTCP:
        pytest.skip(done.stdout.strip())
    rows = ROW.findall(done.stdout)
    lost = [row for row in rows if row[2] != row[3]]
    page = ROW.findall((FOUND / f"{name}.md").read_text("utf-8"))
    assert len(rows) == len(page) > 0, done.stdout + done.stderr
    assert lost in ([], [row for row in page if row[2] != row[3]])
    assert done.returncode == (SHOWS if lost else 0)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("linux-rst-of-the-fin", marks=NEEDS),
        pytest.param("linux-ecn-syn-ack-again", marks=NEEDS),
        pytest.param("linux-sack-of-the-taken", marks=NEEDS),
        pytest.param("linux-times-of-zero", marks=NEEDS),
        pytest.param("linux-old-times-after-zero", marks=NEEDS),
        pytest.param("linux-accept-not-woken", marks=NEEDS),
        pytest.param("linux-fin-behind-fin", marks=NEEDS),
    ],
)
def test_a_page_holds_what_its_reproduction_prints(name: str) -> None:
    """A kernel without the fault exits with 0; one with it prints what the page says."""
    done = ran(sys.executable, FOUND / f"{name}.py")
    assert done.returncode in (0, SHOWS), done.stderr
    page = (FOUND / f"{name}.md").read_text("utf-8")
    printed = "".join(f"    {line}\n" for line in done.stdout.splitlines())
    assert (printed in page) == bool(done.returncode)


@pytest.mark.parametrize("name", [pytest.param(each, marks=NEEDS) for each in OF_A_STACK])
def test_a_stack_that_is_built_does_what_the_page_says(name: str) -> None:
    """The version of the stack is fixed by its recipe, so the fault has to show."""
    stack = DOCS / "stacks" / name.partition("-")[0]
    if not (stack / "build").exists():
        pytest.skip(f"{stack.name} is not built: see docs/stacks/{stack.name}/README.md")
    at, file = FOUND / "at.py", stack / "stack.toml"
    script = FOUND / f"{name}.py"
    done = ran(DOCS / "stacks" / "with-tap.sh", sys.executable, at, file, script)
    assert shows_what_its_page_says(name, done)


@pytest.mark.parametrize("name", ["wireshark-lost-syn", "wireshark-tcp-option"])
def test_wireshark(name: str) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: apt-get install tshark")
    shows_what_its_page_says(name, ran(sys.executable, FOUND / f"{name}.py"))


def test_scapy() -> None:
    name = "scapy-option-34"
    shows_what_its_page_says(name, ran(sys.executable, FOUND / f"{name}.py"))


@needed
def test_ruby() -> None:
    if shutil.which("ruby") is None:
        pytest.skip("ruby is not installed: apt-get install ruby")
    script = FOUND / "ruby-sendmsg.rb"
    shows_what_its_page_says("ruby-sendmsg", ran("unshare", "-n", "ruby", script))

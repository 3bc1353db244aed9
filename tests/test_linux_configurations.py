"""scripts/linux_configurations.py: what it reads, what it makes of a result, and what it leaves.

What it judges takes minutes: `make configurations`.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "linux_configurations.py"
OURS = runpy.run_path(str(SCRIPT))
BENCH = runpy.run_path(str(ROOT / "scripts" / "linux_bench.py"))
KNOWN = OURS["load"](OURS["DATA"])
SERVER_KEYS = {
    *("app", "asked", "queue", "defer_accept", "reuseport", "mptcp", "no_cookie", "mtu"),
    *("small", "congestion", "nft"),
}
WITHIN = 60.0
MARK = "SCAPY_TFO_TEST_OF_CONFIGURATIONS"


def row(name: str, status: int, **counts: int) -> object:
    configuration = next(each for each in KNOWN if each.name == name)
    zero = dict.fromkeys(OURS["COUNTS"], 0)
    return OURS["Row"](configuration, status, counts=zero | counts if counts else None)


def test_each_configuration_differs_from_the_others_and_has_keys_that_the_server_reads():
    names = [each.name for each in KNOWN]
    assert len(names) == len(set(names)) >= 40
    differing = [
        (each.sysctls, each.server, each.families)
        for each in KNOWN
        if each.sysctls or each.server is not None
    ]
    assert len(differing) == len(KNOWN)
    assert all(first != second for first, second in pairwise(differing))
    for each in KNOWN:
        assert set(each.server or {}) <= SERVER_KEYS, each.name


def test_the_target_file_has_the_families_and_the_ports_that_the_suite_may_know():
    settings = {"name": "n", "families": [4], "server": {"app": "discard", "asked": "echo"}}
    written = BENCH["target_file"](settings)
    assert 'app = "echo"' in written
    assert "fd88" not in written
    assert "small" not in written
    assert "small = 10" in BENCH["target_file"]({**settings, "server": {"small": True}})


@pytest.mark.parametrize(
    ("name", "status", "counts", "wrong", "doubtful"),
    [
        ("reno", 0, {"pass": 9}, False, False),
        ("reno", 0, {"inconclusive": 1}, False, True),
        ("reno", 1, {"failed": 1}, True, True),
        ("reno", 3, {}, True, True),
        ("discards", 3, {}, False, False),
        ("discards", 1, {"failed": 33}, True, True),
        ("cubic", OURS["LACKS"], {}, False, False),
    ],
)
def test_what_is_wrong_and_what_another_run_may_settle(name, status, counts, wrong, doubtful):
    found = row(name, status, **counts)
    assert (found.wrong, found.doubtful) == (wrong, doubtful)


def test_a_row_that_is_run_anew_replaces_its_own_and_rows_of_another_kernel_go():
    order = ["reno", "cubic"]
    first = [row("cubic", 0, **{"pass": 1}), row("reno", 0, **{"pass": 2})]
    page = OURS["markdown"](first, "", order)
    again = OURS["markdown"]([row("cubic", 0, **{"pass": 3})], page, order)
    found = [each.split(" | ") for each in again.splitlines() if each.startswith(("| r", "| cub"))]
    assert [(each[0], each[2]) for each in found] == [("| reno", "2"), ("| cubic", "3")]
    elsewhere = page.replace(os.uname().release, "2.6.32")
    assert "| reno" not in OURS["markdown"]([first[0]], elsewhere, order)


def processes(mark: str) -> list[str]:
    """Command lines of those that have a mark in their environment."""
    found = []
    for each in Path("/proc").glob("[0-9]*/environ"):
        # It may end while it is looked at.
        with contextlib.suppress(OSError):
            if mark in each.read_bytes().decode(errors="replace"):
                found.append(each.with_name("cmdline").read_text(errors="replace"))
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_however_it_ends(how, tmp_path):
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), "own-server"],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), MARK: str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        until = time.monotonic() + WITHIN
        while not list(tmp_path.glob("*/own-server/1/target.toml")):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        assert len(processes(f"{MARK}={tmp_path}")) >= 2
        # A terminal's Ctrl-C reaches all of them, a kill only the one.
        send = os.killpg if how == signal.SIGINT else os.kill
        send(process.pid, how)
        assert process.wait(WITHIN) != 0
    finally:
        process.kill()
        process.wait()
    until = time.monotonic() + WITHIN
    while left := processes(f"{MARK}={tmp_path}"):
        assert time.monotonic() < until, left
        time.sleep(0.05)
    # Nobody hears of SIGKILL in time to remove the reports.
    assert how == signal.SIGKILL or not list(tmp_path.iterdir())

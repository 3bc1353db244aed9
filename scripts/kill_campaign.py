"""Checks that a fuzz campaign killed many times sends the same programs as an unbroken one.

`python scripts/kill_campaign.py [TARGET] [--programs N] [--kills N] [--seed N]` (as root for
lab:linux, the default). One campaign runs unbroken, one is killed with SIGKILL and resumed; the
kills come at random moments, a few seconds apart. Exits with 1 if the programs made from seeds
differ, the store is damaged, or a process of the killed campaign outlives it. Mutations of earlier
programs depend on what those reached: on a target in real time they are only counted.
"""

from __future__ import annotations

import argparse
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.findings.totals import Totals

BETWEEN = 1.5, 6.0
"""Seconds that the campaign runs between two kills; of those it takes one or two to begin."""

GONE_WITHIN = 10.0
"""Seconds for what a killed campaign began to end by itself."""


def main(arguments: list[str]) -> int:
    """Run both and print how they compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("target", nargs="?", default="lab:linux")
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    campaign = [
        *(sys.executable, "-m", "scapy_tfo.cli", "fuzz", chosen.target, "--quiet"),
        *("--seed", str(chosen.seed), "--programs", str(chosen.programs)),
    ]
    with tempfile.TemporaryDirectory(prefix="scapy-tfo-") as directory:
        unbroken, broken = Path(directory) / "unbroken", Path(directory) / "broken"
        subprocess.run([*campaign, "--out", str(unbroken)], check=True)
        kills, left = killed(campaign, broken, chosen.kills)
        whole, pieces = totals(unbroken), totals(broken)
    print(f"unbroken: {whole.programs} programs, {whole.seeded}")
    print(f"killed {kills} times: {pieces.programs} programs, {pieces.seeded}")
    print(f"processes left behind: {left}")
    is_same = (whole.programs, whole.seeded) == (pieces.programs, pieces.seeded)
    print("the same programs" if is_same else "NOT the same programs")
    return 0 if is_same and not left and kills == chosen.kills else 1


def killed(campaign: list[str], out: Path, kills: int) -> tuple[int, int]:
    """Run a campaign to its end, killing it so often on the way; returns how often that was, and
    how many processes were left behind."""
    dice = random.Random(1)
    done = left = 0
    while True:
        resume = ["--resume"] if (out / "campaign.sqlite").exists() else []
        running = subprocess.Popen([*campaign, "--out", str(out), *resume], start_new_session=True)
        try:
            running.wait(dice.uniform(*BETWEEN) if done < kills else None)
            if running.returncode:
                raise SystemExit(f"the campaign failed with status {running.returncode}")
            return done, left
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.wait()
            done += 1
        left += outlive(running.pid)


def outlive(session: int) -> int:
    """Processes of a session that have not ended in time."""
    until = time.monotonic() + GONE_WITHIN
    while True:
        listed = subprocess.run(["ps", "-o", "pid=", "-s", str(session)], capture_output=True)
        alive = len(listed.stdout.split())
        if not alive or time.monotonic() > until:
            return alive
        time.sleep(0.05)


def totals(out: Path) -> Totals:
    """What a campaign has sent. Raises SystemExit where its store is damaged."""
    path = out / "campaign.sqlite"
    with closing(sqlite3.connect(path)) as database:
        (told,) = database.execute("PRAGMA integrity_check").fetchone()
    if told != "ok":
        raise SystemExit(f"{path} is damaged: {told}")
    with closing(Store.open(path)) as store:
        return store.totals()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

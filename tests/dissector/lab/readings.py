"""The last outcome shown for each connection, in each way to read a capture."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from random import Random

from scapy_tfo.capture.reader import read_frames
from scapy_tfo.dissector.files import own_plugin
from scapy_tfo.dissector.tshark import find, run_alone
from scapy_tfo.segment import Segment

PASSES = {
    "one pass": (False, ()),
    "two passes": (True, ()),
    "two passes, filtered": (True, ("-R", "frame")),
}
"""Whether with `-2`, and what else."""

OUT_OF_ORDER = "out of order"

_FIELDS = ("frame.number", "tfo.outcome")
_OUTCOME = re.compile(r'tfo\.outcome == \\"([a-z-]+)\\"')
_NOBODY = 65534


@cache
def outcomes(capture: Path, mode: str) -> dict[int, str]:
    """By the client's port, which each connection has for itself; those without are left out."""
    ports = {}
    for frame in read_frames(capture):
        segment = Segment.from_bytes(frame.data)
        # A client's port is above those of the servers' listeners.
        ports[frame.number] = max(segment.sport, segment.dport)
    shown = _by_sharkd(capture, ports) if mode == OUT_OF_ORDER else _by_tshark(capture, mode)
    return {ports[number]: outcome for number, outcome in sorted(shown)}


def _by_tshark(capture: Path, mode: str) -> Iterator[tuple[int, str]]:
    fields = [word for each in _FIELDS for word in ("-e", each)]
    twice, more = PASSES[mode]
    words = [*more, "-T", "fields", *fields]
    done = run_alone(find(), words, capture=capture, plugin=own_plugin(), twice=twice)
    assert not done.status, done.errors
    for line in done.output.splitlines():
        number, outcome = line.split("\t")
        if outcome:
            yield int(number), outcome


def _by_sharkd(capture: Path, numbers: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Frame by frame, in no order, as a user clicks on them.

    sharkd takes plugins from the user's directory alone, and from root's not since 4.4.
    """
    asked = list(numbers)
    Random(0).shuffle(asked)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        plugins = home / ".local/lib/wireshark/plugins"
        plugins.mkdir(parents=True)
        shutil.copy(own_plugin(), plugins)
        copy = shutil.copy(capture, home)
        for each in (home, *home.rglob("*")):
            each.chmod(0o755)
        requests = [
            ("load", {"file": copy}),
            *(("frame", {"frame": n, "proto": True}) for n in asked),
        ]
        told = subprocess.run(
            ["sharkd", "-"],
            input="\n".join(map(_request, itertools.count(1), requests)),
            env={"PATH": os.environ["PATH"], "HOME": name},
            capture_output=True,
            text=True,
            check=True,
            **({"user": _NOBODY, "group": _NOBODY} if os.geteuid() == 0 else {}),
        )
    for line in told.stdout.splitlines():
        found = _OUTCOME.search(line)
        if found:
            yield asked[json.loads(line)["id"] - 2], found[1]


def _request(number: int, request: tuple[str, dict[str, object]]) -> str:
    method, parameters = request
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})

"""A farm of this machine's kernels behind a relay that balances, judged from one end only."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from base64 import b64decode
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.kernel.target import LinuxHooks
from scapy_tfo.lab.links import two_ends
from scapy_tfo.middleboxes.box import Box, Out, changed
from scapy_tfo.segment import Segment

CLIENT, SERVER, PORT = 100, 1, 80
COMMAND = [sys.executable, "-c", "import sys; from scapy_tfo.cli import main; sys.exit(main())"]
OLD, NEW, OTHER = (bytes([each]) * 16 for each in (1, 2, 3))

NEAR = [sys.executable, str(Path(__file__).with_name("near_program.py")), str(PORT)]
JUDGED = ["--only", "OPT-3", "--connections", "24", "--quiet", "--out"]

LIMIT = 300.0
"""Seconds for all farms together."""

FARMS = {
    "different": [[OLD], [NEW], [OTHER]],
    "shared": [[OLD], [OLD], [OLD]],
    "in step": [[OLD, NEW], [NEW, OLD]],
    "out of step": [[NEW, OLD], [OLD]],
}
"""By name, the keys of each listener."""


class Balances(Box):
    """Sends each connection to one of some ports, by chance."""

    def __init__(self, dice: random.Random, ports: list[int]) -> None:
        super().__init__(dice)
        self._ports = ports
        self._chosen: dict[int, int] = {}

    def onward(self, segment: Segment, now: float) -> Out:
        to = self._chosen.setdefault(segment.sport, self.dice.choice(self._ports))
        return super().onward(changed(segment, dport=to), now)

    def homeward(self, segment: Segment, now: float) -> Out:
        return super().homeward(changed(segment, sport=PORT), now)


async def judged(out: Path) -> dict[str, Any]:
    with ExitStack() as stack:
        client = await two_ends.namespace(stack, CLIENT, "1")
        server = await two_ends.namespace(stack, SERVER, "3", everywhere=True)
        hooks, boxes, servers = LinuxHooks(server), {}, {}
        for place, (name, keys) in enumerate(FARMS.items(), 1):
            ports = [await hooks.listen(ListenerOptions("echo", keys=tuple(each))) for each in keys]
            servers[name] = two_ends.address(4, SERVER, place)
            boxes[servers[name]] = [Balances(random.Random(place), ports)]
        crossing = two_ends.Crossing(
            two_ends.link_to(stack, client, list(servers.values())),
            two_ends.link_to(stack, server, two_ends.addresses([(CLIENT, 1)])),
            boxes,
        )
        stack.callback(crossing.close)
        said = await client.ask("run", [*NEAR, *map(str, servers.values())], LIMIT, limit=LIMIT + 1)
        assert said["status"] == 0, said["errors"]
        found = json.loads(b64decode(said["output"]))
        told = await client.ask("run", [*COMMAND, "path", f"{servers['different']}:{PORT}"])
        judged = {
            name: await client.ask("run", [*COMMAND, "test", f"{at}:{PORT}", *JUDGED, str(out)])
            for name, at in servers.items()
        }
    whole = {name: found[str(at)] for name, at in servers.items()}
    return whole | {"told": told, "judged": judged}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    try:
        return asyncio.run(judged(tmp_path_factory.mktemp("farms")))
    except SetupError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    ("farm", "found", "holders"),
    [
        ("different", ["different-keys"], 3),
        ("shared", [], 1),
        ("in step", ["keys-in-step"], 2),
        ("out of step", ["keys-out-of-step"], 2),
    ],
)
def test_a_farm_of_kernels(
    results: dict[str, Any], farm: str, found: list[str], holders: int
) -> None:
    result = results[farm]
    assert [each["name"] for each in result["findings"]] == found, result
    assert result["keys"]["holders"] == holders


def test_the_command_says_so(results: dict[str, Any]) -> None:
    told = results["told"]
    assert told["status"] == 1
    assert "load-balanced to servers with different keys" in b64decode(told["output"]).decode()


@pytest.mark.parametrize(
    ("farm", "said"),
    [
        ("different", "3 holders of different keys answer"),
        ("shared", "one holder of a key answers"),
        ("in step", "as in a rotation that is in step"),
        ("out of step", "a rotation out of step"),
    ],
)
def test_so_does_a_judgement_of_the_servers(results: dict[str, Any], farm: str, said: str) -> None:
    told = b64decode(results["judged"][farm]["output"]).decode()
    assert said in " ".join(told.split()), told

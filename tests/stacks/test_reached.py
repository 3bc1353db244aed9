"""Ports that a user gives for listeners which differ."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.targets.reached import Reach, reached


def refused(reach: Reach) -> str:
    async def go() -> None:
        async with reached(reach):
            pass

    with pytest.raises(SetupError) as raised:
        asyncio.run(go())
    return str(raised.value)


@pytest.mark.parametrize(
    ("ports", "said"),
    [
        ({"plain": 7}, "a listener with fast open off (--plain-port)"),
        ({"second": 7}, "another listener with fast open on (--second-port)"),
        ({"small": 7}, "an echo with a limit of 4 pending fast opens (--small-port)"),
        ({"second": 8, "plain": 8}, "as the second port and as the plain port"),
        ({"plain": 8, "small": 8}, "as the plain port and as the small port"),
    ],
)
def test_a_port_for_two_listeners_that_differ(ports: dict[str, int], said: str) -> None:
    assert said in refused(Reach(target="127.0.0.1:7", app="echo", ports=ports))


@pytest.mark.parametrize("role", ["plain", "small"])
def test_an_app_port_has_fast_open_and_room(role: str) -> None:
    reach = Reach(target="127.0.0.1:7", ports={role: 8}, standing={"mute": 8})
    assert f"port 8 is given as the {role} port and for 'mute'" in refused(reach)


def test_the_command_line_and_a_target_file_go_together(tmp_path: Path) -> None:
    path = tmp_path / "stack.toml"
    path.write_text('address = "127.0.0.1"\n[ports]\nmain = 7\nplain = 8\n')
    said = refused(Reach(target=str(path), ports={"second": 8}))
    assert "port 8 is given as the second port and as the plain port" in said

"""What is opened over the hooks before a stack is judged."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from scapy_tfo.errors import TargetError
from scapy_tfo.stacks.file import load
from scapy_tfo.stacks.running import running

AGENT = """
import sys
port = 7000
for line in sys.stdin:
    verb, *given = line.split()
    if verb == "hello":
        answer = "ok 1 listen"
    elif int(given[1]) > int(sys.argv[1]):
        answer = "no limit above " + sys.argv[1]
    else:
        port += 1
        answer = f"ok {port}"
    print(answer, flush=True)
"""


def opened(tmp_path, most):
    """Ports by role, where the agent takes limits up to `most`."""
    path = tmp_path / "stack.toml"
    command = json.dumps([sys.executable, "-c", AGENT, str(most)])
    path.write_text(f'address = "192.0.2.1"\nhooks.command = {command}\n')

    async def ports():
        async with running(load(path)) as stack:
            return stack.ports

    return asyncio.run(ports())


@pytest.mark.parametrize("most", [16384, 0])
def test_listeners_are_opened_with_fast_open_where_the_stack_has_it(tmp_path, most):
    assert opened(tmp_path, most) == {"main": 7001, "second": 7002, "plain": 7003}


def test_an_agent_that_opens_none_at_all_is_told(tmp_path):
    with pytest.raises(TargetError, match="'listen': limit above -1"):
        opened(tmp_path, -1)

"""Nothing is left on the machine, however a run ends and whoever runs it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

NOBODY = 65534
PATIENCE = 5.0
ROOT = Path(__file__).parents[2]

RUN = """
import asyncio, os, sys
from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel.target import LinuxLab
from scapy_tfo.lab.kernel.servers import RealServerLab

async def main():
    target = sys.argv[1]
    try:
        lab = await (LinuxLab.start() if target == "linux" else RealServerLab.start(target))
    except SetupError as error:
        print("skip", error, flush=True)
        return
    agent = lab._agent._process.pid
    print("ready", agent, os.readlink(f"/proc/{agent}/ns/net"), flush=True)
    if sys.argv[2] == "stay":
        await asyncio.sleep(60)
    lab.close()

asyncio.run(main())
"""


def _start(target, then, interpreter=sys.executable, environ=None, **options):
    process = subprocess.Popen(
        [interpreter, "-c", RUN, target, then],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(environ or {})},
        **options,
    )
    said = process.stdout.readline().split(maxsplit=2)
    if said[0] == "skip":
        process.wait()
        pytest.skip(" ".join(said[1:]))
    assert said[0] == "ready", " ".join(said) + process.stdout.read()
    return process, int(said[1]), said[2].strip()


def _in_namespace(name):
    """Processes that hold the network namespace."""
    holders = []
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            if os.readlink(link) == name:
                holders.append(link.parts[2])
        except OSError:
            continue
    return holders


def _lives(process):
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"


def _gone(name, *processes):
    """Whether the namespace and these processes end; the kernel takes its time over both."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if not _in_namespace(name) and not any(_lives(each) for each in processes):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("target", ["linux", "nginx", "haproxy"])
def test_killed_in_mid_run(target):
    process, agent, name = _start(target, "stay")
    members = _in_namespace(name)
    assert str(agent) in members
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert _gone(name, agent, *members)


def test_the_agent_killed_takes_its_server_along():
    process, agent, name = _start("nginx", "stay")
    os.kill(agent, signal.SIGKILL)
    # The suite's process still holds the TUN device: nobody has to be in the namespace for that.
    assert _gone(name)
    process.kill()
    process.wait()
    process.stdout.close()


def _unprivileged():
    """An interpreter that nobody may run, with this package and its libraries in sight."""
    if os.getuid():
        return sys.executable, {}, {}
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    environ = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), *libraries]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/",
    }
    modules = "sys, scapy_tfo.lab.kernel.target, pyroute2"
    probe = f"import {modules}; sys.exit(sys.version_info < (3, 11))"
    for interpreter in (sys.executable, shutil.which("python3", path="/usr/bin")):
        try:
            done = subprocess.run(
                [interpreter or "", "-c", probe],
                env={**os.environ, **environ},
                capture_output=True,
                check=False,
                **who,
            )
        except OSError:
            continue
        if done.returncode == 0:
            return interpreter, environ, who
    pytest.skip("no Python 3.11 that an unprivileged user may run, or the repository is hidden")


@pytest.mark.parametrize("target", ["linux", "nginx", "haproxy"])
@pytest.mark.parametrize("then", ["end", "stay"])
def test_without_privilege(target, then):
    interpreter, environ, who = _unprivileged()
    process, agent, name = _start(target, then, interpreter, environ, cwd="/", **who)
    if then == "stay":
        process.send_signal(signal.SIGKILL)
    assert process.wait() == (-signal.SIGKILL if then == "stay" else 0)
    process.stdout.close()
    assert _gone(name, agent)

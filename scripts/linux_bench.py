"""Judges a server of ours in two namespaces of their own with a veth between; both end with this.

linux_configurations.py starts it as `python scripts/linux_bench.py SETTINGS TARGET ARGUMENT...`:
SETTINGS is a configuration's as JSON, TARGET the target file to write, the rest what `scapy-tfo
test` gets after it. Where the machine lacks something it prints why, and exits with 77.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.process.namespace import die_with_parent, enter_namespace

SERVER = Path(__file__).resolve().parent.parent / "docs" / "stacks" / "linux" / "server.py"
LACKS = 77
"""Exit status where the machine lacks what the configuration is about."""

OURS = {4: ("10.88.0.1/24", "10.88.0.11/24"), 6: ("fd88::1/64", "fd88::11/64")}
THEIRS = {4: "10.88.0.2/24", 6: "fd88::2/64"}
BASE = {
    "net.ipv4.tcp_fastopen": "3",
    "net.core.somaxconn": "4096",
    "net.ipv4.tcp_max_syn_backlog": "4096",
}
"""Of the server: fast open on, and room for all that cases leave open."""


def target_file(settings: dict[str, Any]) -> str:
    """The target, for `scapy-tfo test`."""
    server = settings["server"]
    app = server.get("asked", server.get("app", "echo"))
    families = settings["families"]
    lines = [
        f"name = {json.dumps(settings['name'])}",
        f"version = {json.dumps(os.uname().release)}",
        f"address = {json.dumps([bare(THEIRS[each]) for each in families])}",
        f"app = {json.dumps(app)}",
        f"sources = {json.dumps([bare(own) for each in families for own in OURS[each]])}",
        "intrusive = true",
        "[ports]",
        *("main = 7", "plain = 8", "second = 9"),
    ]
    return "\n".join([*lines, *(["small = 10"] if server.get("small") else []), ""])


def bare(address: str) -> str:
    return address.partition("/")[0]


def end_of_link(name: str, addresses: list[str]) -> list[list[str]]:
    """Commands that give an interface its addresses, and bring it up."""
    given = [
        ["ip", "addr", "add", each, "dev", name, *(["nodad"] if ":" in each else [])]
        for each in addresses
    ]
    return [["ip", "link", "set", "lo", "up"], *given, ["ip", "link", "set", name, "up"]]


def server_config(settings: dict[str, Any]) -> dict[str, Any]:
    """What server.py is told."""
    server = settings["server"]
    link = end_of_link("s0", [THEIRS[each] for each in settings["families"]])
    commands: list[dict[str, Any]] = [{"argv": each} for each in link]
    if rules := server.get("nft"):
        commands.append({"argv": ["nft", "-f", "-"], "input": rules})
    return {**server, "sysctls": {**BASE, **settings["sysctls"]}, "commands": commands}


def start_server() -> subprocess.Popen[str]:
    """The server in a namespace of its own."""
    return subprocess.Popen(
        [sys.executable, str(SERVER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=entering(os.getpid()),
    )


def entering(parent: int) -> Callable[[], None]:
    def enter() -> None:
        enter_namespace()
        die_with_parent(parent)

    return enter


def connect(server: subprocess.Popen[str], settings: dict[str, Any]) -> None:
    """Lay a link to the server's namespace. Raises CalledProcessError."""
    size = str(settings["server"].get("mtu", 1500))
    names = ["c0", "mtu", size, "type", "veth", "peer", "name", "s0", "mtu", size]
    making = ["ip", "link", "add", *names, "netns", str(server.pid)]
    own = [each for family in settings["families"] for each in OURS[family]]
    for command in [making, *end_of_link("c0", own)]:
        subprocess.run(command, check=True)


def main() -> int:
    parent = os.getppid()
    settings, target = json.loads(sys.argv[1]), Path(sys.argv[2])
    enter_namespace()
    die_with_parent(parent)
    server = start_server()
    assert server.stdin is not None
    assert server.stdout is not None
    connect(server, settings)
    server.stdin.write(json.dumps(server_config(settings)) + "\n")
    server.stdin.flush()
    said = server.stdout.readline().strip()
    if said != "ready":
        print(said.removeprefix("lacks ") or "the server did not start")
        return LACKS
    target.write_text(target_file(settings), encoding="utf-8")
    ours = os.getpid()
    return subprocess.run(
        [sys.executable, "-m", "scapy_tfo", "test", str(target), *sys.argv[3:]],
        preexec_fn=lambda: die_with_parent(ours),
    ).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (SetupError, FileNotFoundError) as error:
        print(error)
        sys.exit(LACKS)
    except KeyboardInterrupt:
        # What was started ends with us.
        sys.exit(130)

"""Run in a namespace of its own: starts servers, runs one command, and ends with its status.

inside.py COMMANDS, which is JSON: {"servers": [[argv...], ...], "run": [argv...]}. Each server
writes a line when it is ready.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def main() -> int:
    commands = json.loads(sys.argv[1])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    Path("/proc/sys/net/ipv4/tcp_fastopen").write_text("3", encoding="ascii")
    Path("/proc/sys/net/core/somaxconn").write_text("4096", encoding="ascii")
    servers = []
    try:
        for argv in commands["servers"]:
            server = subprocess.Popen(argv, stdout=subprocess.PIPE)
            servers.append(server)
            if server.stdout is None or not server.stdout.readline():
                sys.exit(f"{argv} did not start")
        return subprocess.run(commands["run"], check=False).returncode
    finally:
        for server in servers:
            server.kill()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())

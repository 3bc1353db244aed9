"""Shows that tshark crashes where a Lua dissector of a TCP option calls the one that it replaced.

It needs tshark with Lua. Exit status: 0 no crash, 1 a crash.
"""

import base64
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

CAPTURE = base64.b64decode(
    # One SYN with an option of kind 34, in a pcap of raw IP.
    "1MOyoQIABAAAAAAAAAAAAP//AABlAAAAAAAAAAAAAAA4AAAAOAAAAEUAADgAAAAAQAb2vMAAAgHAAAICnEAAUAAA"
    "A+gAAAAAkAL//xSDAAACBAW0IgoAAQIDBAUGBwEB"
)
LUA = """
local options = DissectorTable.get("tcp.option")
local replaced = options:get_dissector(34)
local hook = Proto("hook", "An observer of option 34")
function hook.dissector(buffer, pinfo, tree)
    if os.getenv("CALLS") == "yes" then replaced:call(buffer, pinfo, tree) end
    return buffer:len()
end
if os.getenv("HOOKS") == "yes" then options:add(34, hook) end
"""


def run(folder, **environment):
    """Status of tshark, and the cookie that it shows."""
    done = subprocess.run(
        ["tshark", "-X", f"lua_script:{folder / 'hook.lua'}", "-r", folder / "syn.pcap", "-T",
         "fields", "-e", "tcp.options.tfo.cookie"],
        capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    return done.returncode, done.stdout.strip()


def main():
    # A crash need not leave a core behind.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hook.lua").write_text(LUA)
        (folder / "syn.pcap").write_bytes(CAPTURE)
        rows = {
            "no hook": run(folder, HOOKS="no", CALLS="no"),
            "a hook": run(folder, HOOKS="yes", CALLS="no"),
            "a hook that calls the dissector": run(folder, HOOKS="yes", CALLS="yes"),
        }
    for row, (status, cookie) in rows.items():
        print(f"{row}: status {status}, cookie {cookie or 'not shown'}")
    return int(rows["a hook that calls the dissector"][0] < 0)


if __name__ == "__main__":
    sys.exit(main())

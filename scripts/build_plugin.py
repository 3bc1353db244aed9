"""Write the Wireshark plugin, dissector/tfo.lua, from its parts in dissector/src.

`python scripts/build_plugin.py [--write FILE]`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

DISSECTOR = Path(__file__).resolve().parent.parent / "dissector"
SOURCE = DISSECTOR / "src"

PARTS = (
    "head.lua",
    "segments.lua",
    "options.lua",
    "connections.lua",
    "replies.lua",
    "feeding.lua",
    "outcome.lua",
    "verdict.lua",
    "text.lua",
    "protocol.lua",
    "frames.lua",
    "statistics.lua",
)
"""The parts, in the order in which they are joined: each uses local names of the parts before it.

They are joined unchanged, into one chunk. With `require`, users would have to copy several files.
A function around each part would hide its names from the other parts, which would have to look
them up in tables and call them there, for every packet. The disadvantage is Lua's limit of 200
local variables at the top level of all parts together.
"""

NOTICE = b"-- Built from dissector/src by `make plugin`: change it there.\n"


def built() -> bytes:
    """The plugin, joined from the present parts."""
    return NOTICE + b"".join((SOURCE / name).read_bytes() for name in PARTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--write",
        type=Path,
        default=DISSECTOR / "tfo.lua",
        metavar="FILE",
        help="write the plugin there (default: dissector/tfo.lua)",
    )
    chosen = parser.parse_args()
    chosen.write.write_bytes(built())


if __name__ == "__main__":
    main()

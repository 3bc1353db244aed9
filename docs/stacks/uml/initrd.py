"""Writes an initial file system, as cpio in its newc form, without cpio(1) and without root.

initrd.py OUT NAME=FILE...: NAME is the path inside, FILE the one to copy, with its permissions.
"""

import gzip
import os
import sys
from pathlib import Path

DIRECTORY, DEVICE = 0o40755, 0o20600
CONSOLE = (5, 1)


def entry(
    number: int, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)
) -> bytes:
    """One file (the kernel's Documentation/driver-api/early-userspace/buffer-format.rst)."""
    named = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(named), 0)
    head = b"070701" + b"".join(b"%08X" % each for each in fields) + named
    return padded(head) + padded(data)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def main(out: Path, files: list[str]) -> None:
    entries = [(name, DIRECTORY, b"", (0, 0)) for name in ("dev", "proc", "sys", "mod")]
    entries.append(("dev/console", DEVICE, b"", CONSOLE))
    for each in files:
        name, _, path = each.partition("=")
        entries.append((name, os.stat(path).st_mode, Path(path).read_bytes(), (0, 0)))
    entries.append(("TRAILER!!!", 0, b"", (0, 0)))
    content = b"".join(entry(number, *each) for number, each in enumerate(entries, 1))
    out.write_bytes(gzip.compress(content, 1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

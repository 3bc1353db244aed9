"""Writes files whole, and never through a symbolic link that stands in a file's place."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def make_directory(path: Path) -> None:
    """Make a directory of ours, or take the one that is there, but none behind a symbolic link.
    Raises OSError."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a symbolic link")
    path.mkdir(parents=True, exist_ok=True)


def in_bytes(content: str | bytes) -> bytes:
    """Text as UTF-8, with the lone surrogates of names and stores as escapes."""
    if isinstance(content, bytes):
        return content
    return content.encode("utf-8", "backslashreplace")


def put(path: Path, content: str | bytes) -> None:
    """Write a file of ours into a directory, in place of whatever has that name.

    A symbolic link of that name is replaced, not followed: others may have been able to write to
    the directory. The file is there whole or not at all. For a file that the user named, which may
    well be a link or a device, write to it instead. Raises OSError.
    """
    aside = path.with_name(f".{secrets.token_hex(8)}.part")
    descriptor = os.open(aside, _FLAGS, 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(in_bytes(content))
        aside.replace(path)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise

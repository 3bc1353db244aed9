"""Starts a module of this package in its own process, and hands it a control socket."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Collection, Sequence

from scapy_tfo.errors import SetupError


def start_module(
    module: str,
    control: socket.socket,
    words: Sequence[str],
    descriptors: Collection[int] = (),
    *,
    output: int | None = None,
    apart: bool = False,
) -> subprocess.Popen[bytes]:
    """`python -m MODULE CONTROL WORD...`, CONTROL being the socket's descriptor.

    descriptors: that it gets with their numbers. output: descriptor for all that it prints, None
    for ours. apart: in a session of its own, which our terminal's signals do not reach. Raises
    SetupError where Python cannot be started.
    """
    try:
        return subprocess.Popen(
            [sys.executable, "-m", module, str(control.fileno()), *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[control.fileno(), *descriptors],
            start_new_session=apart,
        )
    except OSError as error:
        raise SetupError(f"cannot start {sys.executable}: {error.strerror}") from error

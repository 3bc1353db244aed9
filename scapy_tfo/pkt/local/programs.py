"""Programs that commands of scripts call: our sysctl, and what to do without others."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

_OWN = Path(__file__).with_name("bin")
"""Searched last: what the machine has of the same name is taken."""

_PACKAGES = {
    **dict.fromkeys(("ip", "nstat", "ss", "tc"), "iproute2"),
    **dict.fromkeys(("pgrep", "pkill", "ps"), "procps"),
    "ethtool": "ethtool",
}
"""Debian's packages of the programs that scripts usually call."""

_MISSED = re.compile(r"^\S+: (?:line )?(?:\d+: )?([\w./-]+): (?:command )?not found$", re.MULTILINE)
"""As bash and dash say it."""

_REFUSED = os.strerror(errno.EPERM)


def environment() -> dict[str, str]:
    """This process's own, with our programs behind all others."""
    path = os.environ.get("PATH", os.defpath)
    # A shell says in the locale's language what it misses.
    return os.environ | {"PATH": f"{path}{os.pathsep}{_OWN}", "LC_ALL": "C.UTF-8"}


def advice(said: str) -> str:
    """What a command lacked on this machine, and what to do; "" where it failed otherwise."""
    missed = _MISSED.search(said)
    package = _PACKAGES.get(missed[1]) if missed else None
    if missed is not None and package is not None:
        return (
            f"it needs the program {missed[1]}, which is not on PATH: install it (package "
            f"{package} on Debian and Ubuntu)"
        )
    if said.rstrip().endswith(_REFUSED) and not _is_hosts_root():
        return "one of its commands is for this host's root: run as root"
    return ""


def _is_hosts_root() -> bool:
    """Root of a user namespace of its own may do less than the host's (user_namespaces(7))."""
    return Path("/proc/self/uid_map").read_text().split() == ["0", "0", str(2**32 - 1)]

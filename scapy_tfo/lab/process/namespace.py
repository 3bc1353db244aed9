"""Namespaces without a name, which live in a process and its children, and end with them."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from scapy_tfo.errors import SetupError

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNS = 0x00020000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_MS_REC = 0x4000
_MS_PRIVATE = 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)

_WAY_OUT = (
    "run as root (in a container, with CAP_SYS_ADMIN), or allow user namespaces: sysctl "
    "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0 and "
    "user.max_user_namespaces above 0, if the host has these settings"
)


def _check(status: int) -> None:
    if status:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _unshare(flags: int) -> None:
    _check(_libc.unshare(flags))


def enter_namespace() -> None:
    """Move this process into a network namespace of its own.

    Without the privilege it takes a user namespace too, in which it is root. The process must
    have a single thread. Raises SetupError where the host allows neither.
    """
    uid, gid = os.getuid(), os.getgid()
    try:
        _unshare(_CLONE_NEWNET)
    except PermissionError:
        try:
            _unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
            Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
        except OSError as error:
            raise SetupError(
                f"cannot make a network namespace for the lab ({error.strerror}): {_WAY_OUT}"
            ) from None
    except OSError as error:
        raise SetupError(
            f"cannot make a network namespace for the lab ({error.strerror})"
        ) from None


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent ends, however that happens.

    parent: the parent's id, taken before it could have gone. Changing credentials undoes the
    request (prctl(2)), so call it after `enter_namespace`.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def write_sysctls(values: Mapping[str, str], *, required: bool) -> None:
    """Write settings of this namespace, by their dotted names.

    required: raise SetupError for one that cannot be written, instead of leaving it as it is.
    """
    for name, value in values.items():
        try:
            Path("/proc/sys", *name.split(".")).write_text(value)
        except OSError as error:
            if required:
                raise SetupError(f"cannot set sysctl {name}={value}: {error.strerror}") from None


def enter_private_tmp(files: Mapping[str, bytes]) -> None:
    """Give this process a /tmp of its own, in memory, with these files by relative path.

    Raises OSError.
    """
    mount_private(Path("/tmp"))
    for name, content in files.items():
        path = Path("/tmp", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def mount_private(directory: Path) -> None:
    """Lay an empty directory in memory over one, for this process and its children alone.

    It goes with them. Raises OSError.
    """
    _unshare(_CLONE_NEWNS)
    _check(_libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None))
    _check(_libc.mount(b"tmpfs", bytes(directory), b"tmpfs", 0, None))

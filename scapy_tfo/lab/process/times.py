"""How long a process or thread has computed."""

from __future__ import annotations

from pathlib import Path

from scapy_tfo.errors import SetupError


def processor_seconds(thread: int) -> float:
    """Seconds that a thread, by its id, or a process of one thread has computed so far (proc(5),
    schedstat). Raises SetupError where the kernel does not count them."""
    path = Path(f"/proc/{thread}/schedstat")
    try:
        return int(path.read_text().split()[0]) / 1e9
    except FileNotFoundError:
        if not path.parent.exists():
            raise SetupError(f"process {thread} has ended while it was measured") from None
        raise SetupError(
            f"{path} is missing: this kernel does not count the time of threads; use one that is "
            "built with CONFIG_SCHED_INFO, as those of distributions are"
        ) from None

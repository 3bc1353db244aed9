"""Connects to a Dask scheduler that is already running."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from scapy_tfo.errors import SetupError, TargetError

if TYPE_CHECKING:
    from distributed import Client

_CONNECTING = 10.0


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address. Raises SetupError, and TargetError where the
    connection to it is lost."""
    try:
        from distributed import Client
    except ImportError as error:
        raise SetupError(
            "--scheduler needs Dask, which is not installed: pip install 'scapy-tfo[cluster]'"
        ) from error
    try:
        client = Client(address, timeout=_CONNECTING)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SetupError(
            f"no Dask scheduler answers at {address} ({why}): start one with 'dask scheduler', and"
            " give its address as tcp://HOST:8786"
        ) from error
    try:
        _wait_for_workers(client, address)
        yield client
    except OSError as error:
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        raise TargetError(f"the Dask scheduler at {address} was lost ({why})") from error
    finally:
        # Nothing depends on a farewell that the scheduler hears.
        with suppress(OSError):
            client.close()


def _wait_for_workers(client: Client, address: str) -> None:
    """One that was lost may be about to come back. Raises SetupError."""
    try:
        client.wait_for_workers(1, timeout=_CONNECTING)
    except TimeoutError:
        raise SetupError(
            f"the Dask scheduler at {address} has no workers: start at least one"
        ) from None

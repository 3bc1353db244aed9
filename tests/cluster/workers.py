"""A Dask cluster of this machine, for tests that lose its workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two workers, each a process that is started again when it dies."""
    configured = {
        "distributed.logging.distributed": "critical",
        "temporary-directory": str(tmp_path_factory.mktemp("workers")),
    }
    import dask

    with (
        dask.config.set(configured),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
            silence_logs=50,
        ) as found,
    ):
        yield found


def pids_at_work(client: Any) -> list[int]:
    """Of the workers that have a shard under way."""
    pids = client.run(os.getpid, on_error="ignore")
    busy = [address for address, keys in client.processing().items() if keys]
    return [pids[address] for address in busy if address in pids]

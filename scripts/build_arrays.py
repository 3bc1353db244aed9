"""Writes the covering arrays that every run needs: making them takes seconds of each, and more at
strength 3. Run it where factors or their levels have changed.

python scripts/build_arrays.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import scapy_tfo
from scapy_tfo import covering
from scapy_tfo.client_laws.schedules.context import CONTEXT as OF_CLIENTS
from scapy_tfo.explore.ends.context import FACTORS
from scapy_tfo.explore.live.scan import LEFT_OUT
from scapy_tfo.explore.stages import crossed, deeds, rows, single
from scapy_tfo.vary.plan import STRENGTH, whole

WHERE = Path(scapy_tfo.__file__).with_name(covering.FILE)
Asked = tuple[list[int], int, int]
"""Levels, strength, and seed."""


def main() -> int:
    """Write the file."""
    lines = [
        f"{json.dumps(covering.name_of(*each))}: {_rows(covering.made(*each))}" for each in asked()
    ]
    WHERE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(WHERE)
    return 0


def asked() -> Iterator[Asked]:
    """What is asked for in any case."""
    yield [len(each) for each in FACTORS.values()], 3, 0
    yield [len(each) for each in deeds.LEVELS], 2, 0
    for levels in (single.OF_DEEDS, single.OF_FAULTS):
        for seed in range(single.ARRAYS):
            yield [len(each) for each in levels], 2, seed
    for without in ((), LEFT_OUT):
        factors = [len(levels) for name, levels in FACTORS.items() if name not in without]
        yield factors, rows.STRENGTH, 0
        contexts = [()] * _contexts(factors)
        yield [len(each) for each in crossed.levels(contexts)], crossed.STRENGTH, 0
    yield [len(each) for each in whole().levels.values()], STRENGTH, 0
    yield [len(each) for each in OF_CLIENTS.values()], 2, 0


def _contexts(levels: list[int]) -> int:
    """How many rows of contexts are not the usual one."""
    return sum(any(row) for row in covering.made(levels, rows.STRENGTH, 0))


def _rows(made: list[covering.Row]) -> str:
    return json.dumps(made, separators=(",", ":"))


if __name__ == "__main__":
    sys.exit(main())

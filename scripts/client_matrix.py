"""Which case for clients catches which wrong client: docs/client-matrix.md.

`python scripts/client_matrix.py [--write docs/client-matrix.md] [--jobs N]`. Exits with 1 where a
requirement is unchecked, a case idles, or a mutant survives.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scapy_tfo.clients.matrix import CLIENTS
from scapy_tfo.matrix_command import show_matrix


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the matrix there")
    parser.add_argument("--kills", type=Path, metavar="FILE", help="write there each kill")
    parser.add_argument("--jobs", type=int, metavar="N", help="mutants at a time")
    chosen = parser.parse_args()
    return show_matrix(
        CLIENTS,
        title="The matrix of clients: requirements, cases, mutants",
        command="make client-matrix",
        write=chosen.write,
        kills=chosen.kills,
        processes=chosen.jobs,
    )


if __name__ == "__main__":
    sys.exit(main())

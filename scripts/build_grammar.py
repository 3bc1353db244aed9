"""Writes the table of the grammar of packetdrill scripts, from which its parser is loaded.

python scripts/build_grammar.py
"""

from __future__ import annotations

import json
import sys
from typing import Any

from scapy_tfo.pkt.language.parser import GRAMMAR, TABLE, table_of


def main() -> int:
    """Write the file."""
    TABLE.write_text(_text(table_of(GRAMMAR.read_text(encoding="utf-8"))), encoding="utf-8")
    print(TABLE)
    return 0


def _text(table: dict[str, Any]) -> str:
    """As JSON, with lines that a change of the grammar leaves alone where it can."""
    parts = [f'"{name}": {_part(value)}' for name, value in table.items()]
    return "{" + ",\n".join(parts) + "}\n"


def _part(value: Any) -> str:
    compact = json.dumps(value, separators=(",", ":"))
    return compact.replace("},{", "},\n{").replace("]],[[", "]],\n[[")


if __name__ == "__main__":
    sys.exit(main())

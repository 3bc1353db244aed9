"""Makes the rows of contexts that `scapy-tfo explore` meets: a covering array of strength 2.

Any two levels of any two factors are together in one row at least. allpairspy of the extra `test`
makes it; --check says whether the file is as it would be made.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from scapy_tfo.explore.conversation.context import FACTORS

FILE = Path(__file__).resolve().parent.parent / "scapy_tfo" / "explore" / "rows.py"
HEAD = '''"""The rows of a covering array over the contexts. Made by scripts/explore_rows.py."""

from __future__ import annotations

ROWS: tuple[tuple[tuple[str, str], ...], ...] = (
'''


def made() -> str:
    """The file's text. What is usual is left out of a row."""
    from allpairspy import AllPairs

    usual = {name: next(iter(levels)) for name, levels in FACTORS.items()}
    lines = [HEAD]
    for row in AllPairs([list(levels) for levels in FACTORS.values()]):
        pairs = zip(FACTORS, row, strict=True)
        odd = tuple((name, level) for name, level in pairs if level != usual[name])
        if odd:
            lines.append(f"    {odd!r},\n")
    return "".join([*lines, ")\n"])


def formatted(text: str) -> str:
    """As ruff writes it."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FILE), "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        cwd=FILE.parent,
    )
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = formatted(made())
    if parser.parse_args().check:
        same = FILE.read_text(encoding="utf-8") == text
        if not same:
            print(f"{FILE} is not as {Path(__file__).name} makes it")
        return not same
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the commands of fresh.sh came to, as a table in Markdown, and what failed or was skipped.

Usage: python3 scripts/fresh_table.py SUITE DIRECTORY [WHO,WHO]. DIRECTORY holds, for each WHO and
command, what the command printed, in WHO-make-COMMAND, and beside it, in a file with .status at its
end, its exit status and its seconds. It needs nothing but Python: it is run without .venv.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

_CALLED = {"root": "root", "user": "an ordinary user"}
_SUMMARY = re.compile(r"^=+ (?P<counts>.*\d+ (?:passed|failed|error|skipped).*) in [\d.]+s.*=+$")
_JUDGED = re.compile(r"^(?P<counts>\d.*) - exit \d+: ")
_COUNT = re.compile(r"(\d+) ([a-z]+)")
_SKIPPED = re.compile(r"^SKIPPED \[(\d+)\] \S+?(?::\d+)?: (.*)$")
_NEEDS = re.compile(r"^SKIPPED \((\d+)\): and what it takes")
_NAMES = {"pass": "passed", "fail": "failed", "errors": "failed", "error": "failed"}
_LAST_LINES = 40


def main(suite: str, directory: Path, whose: Iterable[str]) -> None:
    print("| suite | who | command | time | exit | passed | failed | skipped |")
    print("|---|---|---|---|---|---|---|---|")
    said: list[tuple[str, str]] = []
    for who in whose:
        for command in ("demo", "test"):
            log = directory / f"{who}-make-{command}"
            if not log.is_file():
                continue
            text = log.read_text(encoding="utf-8", errors="replace")
            status, seconds = map(int, Path(f"{log}.status").read_text().split())
            counts = _counts(text)
            numbers = " | ".join(str(counts[name]) for name in ("passed", "failed", "skipped"))
            time = f"{seconds // 60}:{seconds % 60:02}"
            print(
                f"| {suite} | {_CALLED[who]} | `make {command}` | {time} | {status} | {numbers} |"
            )
            said.append((f"{suite}, {_CALLED[who]}, make {command}", _said(text, status)))
    for title, words in said:
        if words:
            print(f"\n{title}:\n{words}")


def _counts(text: str) -> Counter[str]:
    """What pytest's closing line counts, or the closing lines of runs of cases, in all."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        match = _SUMMARY.match(line) or _JUDGED.match(line)
        for number, name in _COUNT.findall(match["counts"]) if match else ():
            found[_NAMES.get(name, name)] += int(number)
    return found


def _said(text: str, status: int) -> str:
    """Reasons of pytest's skips, most frequent first; failures; the end of what failed."""
    reasons: Counter[str] = Counter()
    lines = text.splitlines()
    for line in lines:
        if match := _SKIPPED.match(line):
            reasons[match[2]] += int(match[1])
    shown = [f"- {number} skipped: {reason}" for reason, number in reasons.most_common()]
    failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    shown += [f"- {line}" for line in failed]
    if status and not failed:
        shown += [f"    {line}" for line in lines[-_LAST_LINES:]]
    return "\n".join(shown)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), ("root", "user"))

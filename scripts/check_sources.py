"""Checks what specs/ quotes against the texts of the RFCs: `check_sources.py --rfc DIR`.

DIR holds them as rfc9293.txt and so on. Checked are `text` in specs/tcp-rules.toml and `words` in
specs/freedoms.toml, each within the section that it names; the ids of RFC 9293, appendix B, of
which each must be named; and the problems of RFC 2525. Prints what is wrong, and ends with 1 where
anything is.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from scapy_tfo import freedoms, tcp_rules

_NUMBER = r"[0-9]+(?:\.[0-9]+)*"
# At the margin, or further in with dots and a capital, as RFC 1122 has it.
_HEADING = re.compile(rf"^({_NUMBER})\.?(?: +\S| *$)|^ +([0-9]+(?:\.[0-9]+)+) +[A-Z]")
_PAGE_BREAK = re.compile(r"\[Page [0-9]+\] *$|\[page [0-9]+\] *$|^RFC ?[0-9]+ .*[12][0-9]{3} *$")
_REQID = re.compile(r"\b(?:MUST|SHLD|MAY|REC)-[0-9]+\b")


def words_of(text: str) -> str:
    """Text with single spaces, without bars beside quotations, and with words that a line break
    parts after a hyphen in one piece."""
    plain = " ".join(re.sub(r"^\s*\|", " ", line) for line in text.splitlines())
    return re.sub(r"- (?=\w)", "-", " ".join(plain.split()))


class Texts:
    """The RFCs of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sections = cache(self._sections)

    def lines(self, number: str) -> list[str]:
        """The lines of an RFC, without what stands between two pages."""
        raw = (self.folder / f"rfc{number}.txt").read_text(encoding="utf-8", errors="replace")
        lines = raw.replace("\f", "\n").splitlines()
        return [line for line in lines if not _PAGE_BREAK.search(line)]

    def _sections(self, number: str) -> dict[str, str]:
        """Section -> its own text, without its subsections'. A heading that comes twice, as in the
        table of contents, adds to the first."""
        found: dict[str, list[str]] = {}
        current: list[str] = []
        for line in self.lines(number):
            heading = _HEADING.match(line)
            if heading and not re.search(r"\. ?\. ?\.", line):
                current = found.setdefault(heading[1] or heading[2], [])
            current.append(line)
        return {name: words_of("\n".join(text)) for name, text in found.items()}

    def has(self, number: str, section: str, words: str) -> bool:
        """Whether a section, or one below it, has these words."""
        wanted = words_of(words)
        return any(
            wanted in text
            for name, text in self.sections(number).items()
            if name == section or name.startswith(f"{section}.")
        )


def quotations() -> Iterator[tuple[str, str, str]]:
    """Who quotes, the source, the words."""
    for rule in tcp_rules.load().values():
        yield rule.id, rule.source, rule.text
    for freedom in freedoms.load().values():
        yield f"freedom {freedom.id}", freedom.clause, freedom.words


def complaints(texts: Texts) -> Iterator[str]:
    """What is wrong, a line each."""
    for who, source, words in quotations():
        number, section = re.fullmatch(rf"RFC ([0-9]+) section ({_NUMBER})", source).groups()  # type: ignore[union-attr]
        for part in re.split(r"\s*\.\.\.\s+", words):
            if not texts.has(number, section, part):
                yield f"{who}: {source} has not: {part}"
    rules = tcp_rules.load()
    named = {each for rule in rules.values() for each in rule.reqid}
    named |= {each for row in rules.unjudged for each in row.reqid}
    told = set(_REQID.findall(words_of("\n".join(texts.lines("9293")))))
    yield from (f"RFC 9293 has {each}, and nothing names it" for each in sorted(told - named))
    yield from (f"{each} is named, and RFC 9293 has it not" for each in sorted(named - told))
    memo = words_of("\n".join(texts.lines("2525")))
    # The first one explains the words.
    found = tuple(re.findall(r"Name of Problem (.+?) Classification", memo))[1:]
    if found != tcp_rules.PROBLEMS:
        yield f"RFC 2525 lists other problems: {', '.join(found)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rfc", type=Path, required=True, metavar="DIR", help="the RFCs as text")
    wrong = list(complaints(Texts(parser.parse_args().rfc)))
    for line in wrong:
        print(line)
    print(f"{sum(1 for _ in quotations())} quotations, {len(wrong)} complaints", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

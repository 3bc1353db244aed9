"""scripts/check_sources.py: it finds words in their section alone, over lines and pages."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

CHECK = runpy.run_path(str(Path(__file__).resolve().parent.parent / "scripts" / "check_sources.py"))

MEMO = """\
Table of Contents

   3.1.  Resets . . . . . . . . . . . . . . . . . . . . . . . . . .   2
   3.2.  Windows  . . . . . . . . . . . . . . . . . . . . . . . . .   3

3.1.  Resets

   A reset MUST NOT be answered, since two hosts that answer out-of-
   order resets

Author                      Standards Track                     [Page 2]
\f
RFC 9999                   A Memo of the Tests                 June 2020

   would do so for ever (MUST-
   1).

3.1.1.  Exceptions

   |  There are none.

3.2.  Windows

   Windows SHOULD NOT shrink (SHLD-2).
"""


@pytest.fixture
def texts(tmp_path: Path) -> Any:
    (tmp_path / "rfc9999.txt").write_text(MEMO, encoding="utf-8")
    return CHECK["Texts"](tmp_path)


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("3.1", "A reset MUST NOT be answered"),
        ("3.1", "answer out-of-order resets would do so for ever (MUST-1)"),
        ("3.1", "There are none."),
        ("3.1.1", "There are none."),
        ("3.2", "Windows SHOULD NOT\n  shrink"),
    ],
)
def test_words_are_found_in_their_section(texts: Any, section: str, words: str) -> None:
    assert texts.has("9999", section, words)


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("3.2", "A reset MUST NOT be answered"),
        ("3.1.1", "A reset MUST NOT be answered"),
        ("3.1", "A reset MUST be answered"),
        ("3", "There are some."),
        ("3.3", "Windows SHOULD NOT shrink"),
        ("3.2", "windows SHOULD NOT shrink"),
        ("3.1", "resets Author"),
    ],
)
def test_other_words_are_not(texts: Any, section: str, words: str) -> None:
    assert not texts.has("9999", section, words)


def test_what_specs_quotes_has_a_source_each() -> None:
    found = list(CHECK["quotations"]())
    assert ("TCP-HDR-1", "RFC 9293 section 3.1", "The sender MUST generate it (MUST-2)") in found
    assert any(who.startswith("freedom ") for who, _, _ in found)

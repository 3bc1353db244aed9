"""The freedoms in specs/: enough of them, well-formed, and what the loader says of damage."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from scapy_tfo import freedoms
from scapy_tfo.errors import SetupError
from scapy_tfo.freedoms import Kind

SPECS = Path(__file__).resolve().parent.parent / "specs"
EVERY = freedoms.load(SPECS)

# Those that the freedoms were looked for in.
SOURCES = {
    *("RFC 1122", "RFC 1191", "RFC 2018", "RFC 2385", "RFC 2883", "RFC 3168", "RFC 4015"),
    *("RFC 5681", "RFC 5925", "RFC 5961", "RFC 6093", "RFC 6298", "RFC 6437", "RFC 6528"),
    *("RFC 6864", "RFC 6928", "RFC 6994", "RFC 7323", "RFC 7413", "RFC 8201", "RFC 9293"),
}


def test_there_are_many_of_every_kind() -> None:
    assert len(EVERY) >= 150
    assert set(Counter(each.kind for each in EVERY.values())) == set(Kind)


def test_each_is_read_as_it_was_written() -> None:
    each = EVERY["ack-delay"]
    assert each.kind is Kind.INTERVAL
    assert each.role == "wire"
    assert each.clause == "RFC 9293 section 3.8.6.3"
    assert each.words == "the delay MUST be less than 0.5 seconds (MUST-40)"
    assert each.default == each.choices[0] == "not at all"


def test_each_is_one_line_of_its_own() -> None:
    told = [each.free for each in EVERY.values()]
    assert len(set(told)) == len(told)
    for each in EVERY.values():
        for text in (each.words, each.free, *each.choices):
            assert "\n" not in text
            assert "  " not in text
        assert re.fullmatch(r"[A-Z].*[^.]\.", each.free), each.id
        assert len(each.words.split()) <= 30, each.id


def test_a_keyword_is_in_the_words_that_are_quoted() -> None:
    """A MAY is quoted with its keyword; a SHOULD, too, where the clause has one."""
    for each in EVERY.values():
        if each.kind is Kind.MAY:
            assert re.search(r"\b(MAY|may)\b|go to step 5", each.words), each.id


def test_each_stands_in_a_text_that_was_read() -> None:
    assert {" ".join(each.clause.split()[:2]) for each in EVERY.values()} == SOURCES


def complaint(text: str, tmp_path: Path) -> str:
    (tmp_path / freedoms.FILE).write_text(text, encoding="utf-8")
    with pytest.raises(SetupError) as caught:
        freedoms.load(tmp_path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


GOOD = """[[freedom]]
id = "ack-delay"
role = "wire"
kind = "interval"
clause = "RFC 9293 section 3.8.6.3"
words = "less than 0.5 seconds"
free = "How long an ACK waits."
choices = ["not at all", "40 ms"]
default = "not at all"
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('role = "wire"\n', "", "freedom 1: field role: missing"),
        ('role = "wire"', 'role = "router"', "'router' is none of wire, server, client"),
        ('kind = "interval"', 'kind = "MUST"', "'MUST' is none of MAY, SHOULD"),
        ('id = "ack-delay"', 'id = "Ack delay"', "no name such as"),
        ("section 3.8.6.3", "somewhere", "write it as in"),
        ('["not at all", "40 ms"]', '["not at all"]', "at least two"),
        ('["not at all", "40 ms"]', '"not at all"', "array of strings"),
        ('default = "not at all"', 'default = "1 s"', "'1 s' is none of not at all, 40 ms"),
        ('words = "less than 0.5 seconds"', 'words = ""', "a string that is not empty"),
        ('role = "wire"', 'role = "wire"\nnote = "x"', "field note: unknown"),
        ("[[freedom]]", "[[freedom]", "not valid TOML"),
        ("[[freedom]]", "[[requirement]]", "as a [[freedom]] table"),
        ('default = "not at all"\n', 'default = "not at all"\n' + GOOD, "used twice"),
    ],
)
def test_damage_is_told_in_one_line(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert said in complaint(GOOD.replace(old, new), tmp_path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="restore the file"):
        freedoms.load(tmp_path)


def test_the_loader_looks_where_the_requirements_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(SPECS / freedoms.FILE, tmp_path)
    monkeypatch.setenv("SCAPY_TFO_SPECS", str(tmp_path))
    assert dict(freedoms.load()) == dict(EVERY)

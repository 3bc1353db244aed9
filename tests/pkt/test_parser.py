"""The parser of scripts, made of the grammar and loaded from its table."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import lark
import pytest
from lark.exceptions import UnexpectedInput

from scapy_tfo.pkt.language.parser import GRAMMAR, TABLE, loaded, made, table_of
from scapy_tfo.pkt.library import find_scripts, own_directory

TEXT = GRAMMAR.read_text(encoding="utf-8")


MOST = re.compile(r"\b(4294967295|18446744073709551616)\b")
"""How many characters a pattern without an end may match, by version of Python."""


def comparable(table: dict[str, object]) -> str:
    return MOST.sub('"any"', json.dumps(table, sort_keys=True))


def test_the_table_is_that_of_the_grammar() -> None:
    stored, fresh = json.loads(TABLE.read_text(encoding="utf-8")), table_of(TEXT)
    if stored["key"] != fresh["key"] and lark.__version__ != stored["lark"]:
        pytest.skip(f"the table is for lark {stored['lark']}, this is {lark.__version__}")
    assert comparable(stored) == comparable(fresh), "run `make grammar`"


def test_what_is_loaded_parses_as_what_is_made() -> None:
    quick, slow = loaded(TEXT, {}), made(TEXT, {})
    if quick is None:
        pytest.skip(f"the table is not for lark {lark.__version__}")
    for script in find_scripts([str(own_directory())]):
        assert quick.parse(script.text) == slow.parse(script.text)
    for wrong in ("+0 > S. 0:0(0) win )", "+0 <", "+0 f( = 0", "+0 > . 1:1(0) ack 1 <mss>"):
        told = []
        for each in (quick, slow):
            with pytest.raises(UnexpectedInput) as refused:
                each.parse(wrong)
            told.append(_told(refused.value))
        assert told[0] == told[1]


def _told(refused: UnexpectedInput) -> tuple[object, ...]:
    """What a refusal says. Its text lists a set, in an order that is another in each parser."""
    names = ("line", "column", "token", "char", "accepts", "expected", "allowed")
    return (type(refused), *(getattr(refused, name, None) for name in names))


@pytest.mark.parametrize("change", ["another grammar", "another key", "no file", "no JSON"])
def test_a_table_of_something_else_is_not_loaded(change: str, tmp_path: Path) -> None:
    """lark's version is part of the key: how it keeps a parser may change with it."""
    table = tmp_path / "grammar.json"
    stored = json.loads(TABLE.read_text(encoding="utf-8"))
    if change == "another key":
        stored["key"] = "0"
    if change != "no file":
        table.write_text("{" if change == "no JSON" else json.dumps(stored))
    text = TEXT + "\n// more\n" if change == "another grammar" else TEXT
    assert loaded(text, {}, table) is None


def test_no_rule_of_the_grammar_has_many_forms() -> None:
    """A rule with n optional parts has 2**n: each takes its time whenever the parser is made."""
    forms = Counter(rule.origin.name for rule in made(TEXT, {}).rules)
    assert "packet" in forms
    assert {name: count for name, count in forms.items() if count > 24} == {}

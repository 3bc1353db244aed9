"""The rules of TCP in specs/: enough of them, well-formed, and what the loader says of damage."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import pytest

from scapy_tfo import freedoms, spec, tcp_rules
from scapy_tfo.errors import SetupError
from scapy_tfo.spec import Level
from scapy_tfo.tcp_rules import Form, Shown, Witness

ROOT = Path(__file__).resolve().parent.parent
SPECS = ROOT / "specs"
EVERY = tcp_rules.load(SPECS)

SOURCES = {
    *("RFC 1122", "RFC 1191", "RFC 2018", "RFC 2525", "RFC 2883", "RFC 3168", "RFC 5681"),
    *("RFC 5961", "RFC 6093", "RFC 6298", "RFC 6437", "RFC 6528", "RFC 6864", "RFC 6928"),
    *("RFC 7323", "RFC 7413", "RFC 8200", "RFC 8201", "RFC 9293"),
}
"""Those that rules were looked for in."""

# How many ids of each kind RFC 9293 has in its appendix B.
APPENDIX_B = {"MUST": 69, "SHLD": 31, "MAY": 18, "REC": 1}


def names_in_the_oracle() -> set[str]:
    """Every string of the oracle's source: the ids of its rules are among them."""
    return {
        node.value
        for path in (ROOT / "scapy_tfo" / "oracle").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_a_rule_is_read_as_it_was_written() -> None:
    each = EVERY["TCP-ACK-4"]
    assert each.level is Level.MUST
    assert each.form is Form.MUST_WITHIN
    assert each.witness is Witness.SILENCE
    assert each.source == "RFC 9293 section 3.8.6.3"
    assert each.text == "the delay MUST be less than 0.5 seconds (MUST-40)"
    assert each.states == ("ESTABLISHED", "FIN-WAIT-1", "FIN-WAIT-2")
    assert each.seconds == 0.5
    assert "ack-delay" in each.freedoms
    assert each.reqid == ("MUST-40",)
    assert each.topic == "ACK"


def test_what_shows_a_rule_is_read() -> None:
    assert EVERY["TCP-ACK-4"].shown is None
    assert EVERY["TCP-HDR-9"].shown == Shown(mutant="minds-the-ack-of-a-syn")
    assert EVERY["TCP-TW-4"].shown == Shown(
        mutant="time-wait-takes-every-syn", case="DUP-3.syn-replayed-into-time-wait"
    )
    patient = EVERY["TCP-PAWS-5"].shown
    assert patient is not None
    assert patient.schedule[1] == "steps:wait-2160000000,write-100"


def test_names_of_several_states_are_taken_apart() -> None:
    assert EVERY["TCP-HDR-1"].states == tcp_rules.STATES
    assert EVERY["TCP-SEQ-1"].states == tcp_rules.SYNCHRONIZED


def test_there_are_many_of_them() -> None:
    assert len(EVERY) >= 150
    assert {each.source.split(" section ")[0] for each in EVERY.values()} == SOURCES


def test_every_row_of_appendix_b_is_judged_or_has_a_reason() -> None:
    judged = {each for rule in EVERY.values() for each in rule.reqid}
    unjudged = [each for row in EVERY.unjudged for each in row.reqid]
    assert not judged & set(unjudged)
    assert len(set(unjudged)) == len(unjudged)
    assert judged | set(unjudged) == {
        f"{kind}-{number}" for kind, last in APPENDIX_B.items() for number in range(1, last + 1)
    }
    assert sum(each.startswith("MUST-") for each in judged) >= 50


def test_every_problem_of_rfc_2525_is_named() -> None:
    assert len(tcp_rules.PROBLEMS) == 18
    assert {each.problem for each in EVERY.values()} - {""} == set(tcp_rules.PROBLEMS)


def test_there_are_rules_of_every_form_and_witness() -> None:
    assert {each.form for each in EVERY.values()} == set(Form)
    assert {each.witness for each in EVERY.values()} == set(Witness)
    assert {each.judges for each in EVERY.values()} == set(tcp_rules.JUDGES)


def test_topics_are_numbered_from_1_and_stand_together() -> None:
    expected = [
        f"TCP-{topic}-{number}"
        for topic in EVERY.topics
        for number in range(1, len(EVERY.about(topic)) + 1)
    ]
    assert list(EVERY) == expected


def test_statements_are_one_short_sentence_each() -> None:
    keywords = re.compile(r"\b(MUST|SHALL|SHOULD|RECOMMENDED|MAY|OPTIONAL|REQUIRED)\b")
    statements = [each.statement for each in EVERY.values()]
    assert len(set(statements)) == len(statements)
    for each in EVERY.values():
        assert re.fullmatch(r"(An? |Every )[^.]*(\.[0-9][^.]*)*\.", each.statement), each.id
        assert len(each.statement.split()) <= 40, each.id
        assert not keywords.search(each.statement), each.id


def test_statements_say_what_their_form_says() -> None:
    for each in EVERY.values():
        if each.form is Form.NEVER:
            assert " never " in each.statement, each.id
        elif each.form is Form.MAY_ONLY_IF:
            assert " only if " in each.statement, each.id
        else:
            assert " never " not in each.statement, each.id


def test_only_what_must_come_can_be_missed_at_a_time() -> None:
    for each in EVERY.values():
        if each.form is Form.MUST_WITHIN:
            assert each.seconds is not None, each.id
            assert each.bound.endswith("."), each.id


def test_quotations_are_short_and_have_the_keyword_of_their_level() -> None:
    for each in EVERY.values():
        assert len(each.text.split()) <= 40, each.id
        if each.reqid and each.level is Level.MUST and each.source.startswith("RFC 9293"):
            assert re.search(r"\bMUST\b|\bmust\b", each.text), each.id


def test_a_rule_for_one_role_is_limited_by_what_that_role_may_choose() -> None:
    roles = {name: each.role for name, each in freedoms.load(SPECS).items()}
    for each in EVERY.values():
        if each.judges != "any":
            assert {roles[name] for name in each.freedoms} <= {"wire", each.judges}, each.id


def test_rules_of_the_oracle_are_there() -> None:
    named = {name for each in EVERY.values() for name in each.rule}
    assert named
    assert named <= names_in_the_oracle()


def test_every_mention_of_another_rule_leads_somewhere() -> None:
    texts = [each.allows for each in EVERY.values()] + [each.reason for each in EVERY.unjudged]
    for text in texts:
        for mention in re.findall(r"TCP-[A-Z]+-[0-9]+", text):
            assert mention in EVERY


# Damage. Each row: what is done to this file, and what the message must name.

SOUND = """\
[topics]
ACK = "Acknowledgements"

[[rule]]
id = "TCP-ACK-4"
source = "RFC 9293 section 3.8.6.3"
text = "the delay MUST be less than 0.5 seconds (MUST-40)"
level = "MUST"
reqid = ["MUST-40"]
form = "must within"
statement = "An end acknowledges text in its turn."
judges = "any"
states = ["ESTABLISHED", "CLOSING"]
seconds = 0.5
bound = "RFC 9293 section 3.8.6.3."
witness = "silence"
freedoms = ["ack-delay"]
allows = "Half a second."
rule = ["no-ack"]
problem = "Stretch ACK violation"

[[rule]]
id = "TCP-ACK-5"
source = "RFC 9293 section 3.8.6.3"
text = "An ACK SHOULD be generated"
level = "SHOULD"
form = "never"
statement = "An end never leaves out an ACK."
judges = "any"
states = ["synchronized"]
witness = "count"
freedoms = []
allows = "One in two."
unwatched = "An ACK may be lost."

[[unjudged]]
reqid = ["MUST-12"]
reason = "What an application is told stays inside its host."
"""

DAMAGE = [
    ("[[rule]]\n", "[[rules]]\n", ["write each rule as a [[rule]] table"]),
    ("[topics]\n", "", ["what ids stand for as [topics]"]),
    ('ACK = "', 'AKC = "', ["topics: field ACK: say in a string"]),
    ('ACK = "', 'RST = "Resets"\nACK = "', ["topics: field RST: no rule has it"]),
    ("reqid = [", "reqid [", ["not valid TOML", "line 9"]),
    ('text = "the delay', '# "the delay', ["rule 1 (TCP-ACK-4)", "field text: missing"]),
    ('judges = "any"', 'judge = "any"', ["rule 1 (TCP-ACK-4)", "field judges: missing"]),
    ('rule = ["no-ack"]\n', "", ["rule 1 (TCP-ACK-4)", "field rule: name what judges it"]),
    ('unwatched = "', 'rule = ["no-ack"]\nunwatched = "', ["rule 2 (TCP-ACK-5)", "field rule"]),
    ('problem = "', 'colour = "', ["rule 1 (TCP-ACK-4)", "field colour: unknown", "allows"]),
    ('id = "TCP-ACK-5"', 'id = "TCP-ACK-4"', ["rule 2", "field id", "TCP-ACK-4 is used twice"]),
    ('id = "TCP-ACK-5"', 'id = "ACK-5"', ["rule 2 (ACK-5)", "field id", "TCP-RST-2"]),
    ('"RFC 9293 section 3.8.6.3"', '"RFC 9293, 3.8"', ["rule 1", "field source", "3.10.7.1"]),
    ('level = "MUST"', 'level = "WOULD"', ["rule 1", "field level", "'WOULD'", "MUST, step"]),
    ('form = "never"', 'form = "always"', ["rule 2", "field form", "'always'", "may only if"]),
    ('judges = "any"', 'judges = "path"', ["rule 1", "field judges", "'path'", "server"]),
    ('"CLOSING"]', '"OPEN"]', ["rule 1", "field states", "'OPEN'", "LAST-ACK", "synchronized"]),
    ('["ESTABLISHED", "CLOSING"]', "[]", ["rule 1", "field states: give at least one"]),
    ('"ESTABLISHED", "CLOSING"', '"CLOSING", "CLOSING"', ["rule 1", "states", "each once"]),
    ('witness = "count"', 'witness = "feeling"', ["rule 2", "field witness", "'feeling'"]),
    ('["ack-delay"]', '["ack-haste"]', ["rule 1", "field freedoms", "'ack-haste'"]),
    ('["no-ack"]', '"no-ack"', ["rule 1", "field rule: must be an array of strings"]),
    ('"Stretch ACK violation"', '"Stretched"', ["rule 1", "field problem", "'Stretched'"]),
    ('["MUST-40"]', '["MUST 40"]', ["rule 1", "field reqid", "'MUST 40'"]),
    ("seconds = 0.5", "seconds = 0.0", ["rule 1", "field seconds: must be seconds above 0"]),
    ("seconds = 0.5\n", "", ["rule 1", "field seconds: missing"]),
    ('bound = "RFC 9293 section 3.8.6.3."\n', "", ["rule 1", "field bound: give seconds and"]),
    ('allows = "One', 'seconds = 2.0\nallows = "One', ["rule 2", "field bound: give seconds and"]),
    ('allows = "One in two."', 'allows = " "', ["rule 2", "field allows: must be a string"]),
    ('["MUST-12"]', '["twelve"]', ["unjudged 1", "field reqid", "'twelve'"]),
    ('unwatched = "', 'shown.case = "AFT-1"\nunwatched = "', ["rule 2", "field shown: give a mut"]),
    ('unwatched = "', 'shown.mutant = ""\nunwatched = "', ["rule 2", "field shown: give a mut"]),
    ('unwatched = "', 'shown = "acks"\nunwatched = "', ["rule 2", "field shown: must be a tab"]),
    ("reason = ", "because = ", ["unjudged 1", "field reason: missing"]),
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A directory with a small file of rules, to damage."""
    folder = Path(shutil.copytree(SPECS, tmp_path / "specs"))
    (folder / tcp_rules.FILE).write_text(SOUND)
    return folder


def complaint(directory: Path) -> str:
    with pytest.raises(SetupError) as caught:
        tcp_rules.load(directory)
    message = str(caught.value)
    assert "\n" not in message
    assert str(directory / tcp_rules.FILE) in message
    return message


def test_the_file_to_damage_is_sound(copy: Path) -> None:
    assert list(tcp_rules.load(copy)) == ["TCP-ACK-4", "TCP-ACK-5"]


@pytest.mark.parametrize(("old", "new", "named"), DAMAGE, ids=[row[1] or "gone" for row in DAMAGE])
def test_damage_is_named(copy: Path, old: str, new: str, named: list[str]) -> None:
    assert old in SOUND
    (copy / tcp_rules.FILE).write_text(SOUND.replace(old, new, 1))
    message = complaint(copy)
    for words in named:
        assert words in message


def test_a_missing_file_is_named(copy: Path) -> None:
    (copy / tcp_rules.FILE).unlink()
    assert "cannot read the rules of TCP" in complaint(copy)


def test_an_entry_that_is_no_table_is_named(copy: Path) -> None:
    (copy / tcp_rules.FILE).write_text('topics = {}\nrule = ["TCP-ACK-1"]\nunjudged = []\n')
    assert "rule 1: write it as a table" in complaint(copy)


def test_it_is_looked_for_where_the_requirements_are(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(spec.ENVIRONMENT, str(copy))
    assert len(tcp_rules.load()) == 2

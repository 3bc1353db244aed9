"""The data in specs/: complete, well-formed, and in our own words."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from scapy_tfo import freedoms, spec, tcp_rules

SPECS = Path(__file__).resolve().parent.parent / "specs"
OF_THEIR_OWN = (freedoms.FILE, tcp_rules.FILE)
FILES = sorted(path for path in SPECS.glob("*.toml") if path.name not in OF_THEIR_OWN)

# How many rows each group of the catalogue has: OPT-1 to OPT-11 and so on.
CATALOGUE = {
    "OPT": 11,
    "SRV": 11,
    "ACC": 12,
    "LIM": 8,
    "DUP": 6,
    "AFT": 11,
    "CLI": 24,
    "PATH": 6,
    "REL": 2,
    "PERF": 4,
}
CATALOGUE_IDS = [f"{group}-{n}" for group, rows in CATALOGUE.items() for n in range(1, rows + 1)]

# A few words out of each clause of RFC 7413 that has a keyword or is a step: a statement that
# holds one of them was copied, not written.
RFC_PHRASES = [
    "only use TFO if requested explicitly",
    "options with invalid length values",
    "limited by remaining space in the options",
    "authenticates the client's (source) IP address",
    "cannot be fabricated by any other parties",
    "accept more than one valid cookie per client",
    "expires after a certain amount of time",
    "must cache cookies from servers",
    "limit the cached MSS to",
    "must cache negative responses from the server",
    "disable fast open on the specific path",
    "must be turned on explicitly",
    "goes over a preset system limit",
    "must first request a cookie",
    "client replaces the cookie and other information",
    "only attempt another cookie request",
    "abort TFO and fall back",
    "retransmit a SYN packet without data",
    "buffer the data and notify",
    "response data is readily available",
    "to set the initial congestion window",
    "with neither data nor fast open options",
    "set acknowledgment number to RCV.NXT",
    "retransmit any unacknowledged data",
    "continuing to account for those connection requests",
    "use the same key such that",
    "trivial or even a zero-length cookie",
    "should migrate to use this new option",
]


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads((SPECS / "schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture(scope="module")
def catalogue() -> spec.Catalogue:
    return spec.load(SPECS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file_obeys_the_schema(path: Path, validator: jsonschema.Draft202012Validator) -> None:
    problems = [error.message for error in validator.iter_errors(tomllib.loads(path.read_text()))]
    assert problems == []


def test_there_is_one_file_for_each_group() -> None:
    assert [path.stem for path in FILES] == sorted(group.lower() for group in spec.GROUPS)


def test_schema_and_loader_speak_of_the_same_things() -> None:
    schema = json.loads((SPECS / "schema.json").read_text())
    fields = schema["$defs"]["requirement"]["properties"]
    assert schema["properties"]["role"]["enum"] == list(spec.ROLES)
    assert fields["level"]["enum"] == list(spec.Level)
    assert fields["observed"]["items"]["enum"] == list(spec.VIEWPOINTS)


@pytest.mark.parametrize("id_", CATALOGUE_IDS)
def test_every_row_of_the_catalogue_is_there(id_: str, catalogue: spec.Catalogue) -> None:
    assert id_ in catalogue


def test_ids_are_used_once() -> None:
    ids = [
        entry["id"] for path in FILES for entry in tomllib.loads(path.read_text())["requirement"]
    ]
    assert sorted(ids) == sorted(set(ids))


def test_a_rule_that_was_split_off_follows_its_main_rule(catalogue: spec.Catalogue) -> None:
    ids = list(catalogue)
    for id_ in ids:
        if id_[-1].isalpha():
            assert re.sub("[a-z]$", "", ids[ids.index(id_) - 1]) == id_[:-1]


def test_every_mention_of_another_requirement_leads_somewhere(catalogue: spec.Catalogue) -> None:
    for requirement in catalogue.values():
        text = f"{requirement.statement} {requirement.how} {requirement.note}"
        pattern = rf"\b(?:{'|'.join(spec.GROUPS)})-\d+[a-z]?\b"
        for mention in re.findall(pattern, text):
            assert mention in catalogue, f"{requirement.id} mentions {mention}"


def test_no_two_statements_are_the_same(catalogue: spec.Catalogue) -> None:
    statements = [requirement.statement for requirement in catalogue.values()]
    assert len(set(statements)) == len(statements)


def test_statements_are_short_and_leave_keywords_to_the_level(catalogue: spec.Catalogue) -> None:
    keywords = re.compile(r"\b(MUST|SHALL|SHOULD|RECOMMENDED|MAY|OPTIONAL|REQUIRED)\b")
    for requirement in catalogue.values():
        assert len(requirement.statement.split()) <= 60, requirement.id
        assert not keywords.search(requirement.statement), requirement.id


@pytest.mark.parametrize("phrase", RFC_PHRASES)
def test_statements_are_not_copied_from_the_rfc(phrase: str, catalogue: spec.Catalogue) -> None:
    copied = [r.id for r in catalogue.values() if phrase.lower() in r.statement.lower()]
    assert copied == []


def test_every_must_names_an_rfc(catalogue: spec.Catalogue) -> None:
    for requirement in catalogue.values():
        if requirement.level in (spec.Level.MUST, spec.Level.SHOULD, spec.Level.MAY):
            assert any(source.startswith("RFC ") for source in requirement.source), requirement.id


def test_what_only_the_paper_has_is_design(catalogue: spec.Catalogue) -> None:
    for requirement in catalogue.values():
        if all(source.startswith("CoNEXT") for source in requirement.source):
            assert requirement.level is spec.Level.DESIGN, requirement.id

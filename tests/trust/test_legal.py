"""A sample of `make variants`: legal stacks that no case, no program of the fuzzer and no explored
schedule blames."""

from __future__ import annotations

import re

import pytest

from scapy_tfo.client_variants.registry import client_named
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.explore.judging.corpus import corpus
from scapy_tfo.program.program import loads
from scapy_tfo.report.tables.variants import variants_markdown
from scapy_tfo.suite.registry import all_cases
from scapy_tfo.trust.legal import Blame, Trial, every_name, findings, gives_up_a_should, tried
from scapy_tfo.trust.schedules import explored
from scapy_tfo.variants.registry import Variant, named

CASES = [
    each
    for each in all_cases()
    if each.id
    in (
        "ACC-12.syn-with-fin-and-a-cookie",
        "AFT-7.window-of-the-ack-is-scaled",
        "AFT-9.exact-rst-ends-the-connection",
        "ACC-8.repeated-syn-ack-to-a-request-is-bare",
    )
]


def variant(name: str) -> Variant:
    found = named(name)
    assert isinstance(found, Variant)
    return found


def client(name: str) -> Variant:
    found = client_named(name)
    assert isinstance(found, Variant)
    return found


@pytest.mark.parametrize(
    "name",
    [
        "resets-a-syn-with-fin",
        "segments-of256",
        "takes-any-rst-in-the-window",
        "isn-near-the-wrap",
        "no-nop-between-options",
        "acknowledges-duplicate-syns",
    ],
)
def test_a_legal_stack_is_not_blamed(name: str) -> None:
    trial = tried(name, programs=30, cases=CASES, families=(4,))
    assert trial.blames == ()
    assert trial.verdicts == {"pass": len(CASES)}


@pytest.fixture
def short_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole of it takes most of the time; `make variants` plays it at each legal stack."""
    monkeypatch.setattr("scapy_tfo.trust.schedules.corpus", lambda: corpus()[::8])


@pytest.mark.parametrize(
    "name",
    [
        "urgent-byte-is-apart",
        "acks-stretch",
        "keeps-one-early-segment",
        "keeps-the-data-of-a-plain-syn",
        "variants-row-11",
        "variants-row-40",
    ],
)
@pytest.mark.usefixtures("short_corpus")
def test_no_schedule_blames_a_legal_stack(name: str) -> None:
    trial = tried(name, programs=0, schedules=50, cases=[])
    assert trial.blames == ()
    assert trial.told() == [f"sim:{name}: ; 0 programs, 50 schedules"]


@pytest.mark.usefixtures("short_corpus")
def test_a_schedule_blames_a_wrong_stack() -> None:
    assert list(explored("accepts-any-cookie", 0)) == []
    rules = [rule for rule, _ in explored("accepts-any-cookie", 40)]
    assert "explore: refused-text-acknowledged" in rules


def test_a_program_of_a_campaign_that_blames_shows_it_again() -> None:
    name = "accepts-any-cookie"
    found = {each.by: each.evidence for each in findings(name, 800)}
    programs = {by: why for by, why in found.items() if why.startswith("program ")}
    assert programs
    for by, why in programs.items():
        shown = loads(why.removeprefix("program ").partition("}: ")[0] + "}")
        verdict, _ = SimulatedBench(f"sim:{name}").trace(shown)
        assert by in [f"{each.rule} ({each.requirement})" for each in verdict.violations]


def test_a_should_that_is_given_up_is_a_warning() -> None:
    trial = tried("cookie-on-every-syn-ack", programs=20, cases=CASES, families=(6,))
    assert trial.warnings == ("ACC-8.repeated-syn-ack-to-a-request-is-bare",)
    assert trial.blames == ()
    assert gives_up_a_should(trial.variant)
    assert not gives_up_a_should(variant("hop-limit32"))


def test_blame_is_told() -> None:
    trial = Trial(variant("no-sack"), {"pass": 3, "fail": 1}, (), (Blame("ACC-1.x", "why"),), 10)
    assert trial.told() == ["sim:no-sack: 3 pass, 1 fail; 10 programs", "  ACC-1.x: why"]
    page = variants_markdown([trial], 10)
    row = (
        "| `no-sack` | sack-agreed: no | RFC 2018 section 2 | Agrees to no SACK. | 3 | 0 | 1 | 0 |"
    )
    assert row in page
    assert "- `no-sack`, ACC-1.x: why\n" in page


def test_clients_have_tables_of_their_own() -> None:
    trials = [
        Trial(client(name), {"pass": 3, "unsupported": 2}, (), (), None)
        for name in ("offers-no-sack", "client-row-1")
    ]
    page = variants_markdown([Trial(variant("no-sack"), {"pass": 3}, (), (), 10)], 10, trials)
    assert "2 variants, 1 of them clients, some of them both,\nuse 2 of " in page
    head, _, rest = page.partition("## Clients")
    assert "`no-sack`" in head
    assert "| `offers-no-sack` | client-sack: no | RFC 2018 section 2 |" in rest
    assert "## Rows of clients" in rest
    assert re.search(r"\| `client-row-1` \| \d+ \| 3 \| 2 \| 0 \| 0 \|", rest)


def test_rows_are_tried_like_variants() -> None:
    assert {"no-sack", "variants-row-1"} <= set(every_name())


def test_a_mutant_is_not_tried() -> None:
    with pytest.raises(TypeError, match="no variant"):
        tried("accepts-any-cookie", programs=0, cases=[])

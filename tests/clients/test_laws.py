"""Laws of clients: right ones keep them in conversations drawn by chance, and wrong ones do not."""

from __future__ import annotations

import pytest

from scapy_tfo import spec
from scapy_tfo.client_laws.chance import conversations
from scapy_tfo.client_laws.registry import all_laws
from scapy_tfo.clients.judge import Options
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Run, Verdict


def judged(client: str, *cases: Case) -> Run:
    return simulate(f"sim:{client}", cases, spec.load(), Options(families=(4,), capture=False))


def broken(client: str, *cases: Case) -> set[str]:
    found = judged(client, *cases).results
    return {each.case for each in found if each.verdict is Verdict.FAIL}


def laws(*words: str) -> list[Case]:
    return [each for each in all_laws() if all(word in each.id for word in words)]


@pytest.mark.parametrize(
    "client",
    ["reference", "remembers-four-servers", "half-of-the-data-in-the-syn", "client-row-7"],
)
def test_a_legal_client_keeps_them(client: str) -> None:
    run = judged(client, *all_laws(), *conversations(range(4)))
    failures = [each for each in run.results if each.verdict is Verdict.FAIL]
    assert [(each.case, each.reason) for each in failures if each.level.name != "SHOULD"] == []
    assert not run.breaches


@pytest.mark.parametrize(
    ("client", "words"),
    [
        ("refused-data-waits-for-the-timer", ("owed", "nothing-is-taken")),
        ("rest-of-a-part-waits-for-the-timer", ("owed", "half-is-taken")),
        ("acceptance-loses-the-rest", ("owed", "all-is-taken", "20000")),
        ("fast-open-is-not-repeated", ("silence-after-0", "comes-back")),
        ("refusal-ends-retransmission", ("nothing-is-taken", "silence-after-1", "comes-back")),
        ("lost-syn-loses-its-data", ("silence-after-0", "comes-back")),
    ],
)
def test_a_wrong_client_breaks_the_law_that_it_is_about(
    client: str, words: tuple[str, ...]
) -> None:
    chosen = laws(*words)
    assert chosen
    assert broken(client, *chosen)


def test_chance_finds_what_no_single_law_is_about() -> None:
    wrong = ("one-cookie-for-all-servers", "odd-cookie-is-taken", "ack-beyond-the-data-is-taken")
    cases = conversations(range(12))
    assert [each for each in wrong if not broken(each, *cases)] == []


def test_a_seed_is_the_same_conversation_each_time() -> None:
    (one,), (two,) = conversations([7]), conversations([7])
    first, second = judged("reference", one).results, judged("reference", two).results
    assert [each.observed for each in first] == [each.observed for each in second]
    other = judged("reference", *conversations([8])).results
    assert [each.observed for each in first] != [each.observed for each in other]

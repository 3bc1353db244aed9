"""Which cookies are good while keys change, listeners come, and clients use each other's."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_tfo import seq
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.explore.campaign.export import write_exports
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.explorer import Explorer
from scapy_tfo.explore.judging.clauses import clause_of
from scapy_tfo.explore.keys import RULES, mistaken
from scapy_tfo.segment import SYN, Segment
from scapy_tfo.variants.registry import named

FRESH, FOREIGN, RETIRED = RULES


def found_at(name: str) -> list[str]:
    stack, profile = named(name), SimulatedBench(f"sim:{name}").profile
    found = mistaken(lambda number: World(stack, profile, number))
    return [] if found is None else [found.problem.rule]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("old-cookies-stay-good", RETIRED),
        ("keys-of-earlier-listeners-are-good", RETIRED),
        ("grants-with-the-old-key", FRESH),
        ("grants-with-the-backup-key", FRESH),
        ("cookies-of-later-listeners-are-refused", FRESH),
        ("fresh-cookie-is-for-another", FRESH),
        ("fresh-cookie-is-cut-to-the-presented-size", FRESH),
        ("refused-cookie-comes-back", FRESH),
        ("ack-proves-the-cookie-again", FRESH),
        ("cookie-for-half-the-address", FOREIGN),
        ("ignores-one-bit", FOREIGN),
    ],
)
def test_a_cookie_that_is_mistaken_is_found(name: str, rule: str) -> None:
    assert found_at(name) == [rule]


@pytest.mark.parametrize(
    "name",
    [
        *("reference", "forgets-old-keys", "cookies-for-a-minute", "cookies-for-one-use"),
        *("cookies-of-four", "cookies-of-both-addresses", "another-cookie-each-time"),
        *("grants-one-a-second", "no-cookie-for-a-bad-one", "cookie-with-each-fast-open"),
        *("answers-in-the-syn-ack", "syn-cookies-always", "empty-cookies-will-do"),
        *("variants-row-6", "variants-row-18", "variants-row-39"),
    ],
)
def test_a_stack_that_uses_its_freedoms_is_not_blamed(name: str) -> None:
    assert found_at(name) == []


def test_an_exploration_says_what_cookie_was_mistaken_and_shows_it_again(tmp_path: Path) -> None:
    explorer = Explorer("old-cookies-stay-good")
    explorer.try_listeners()
    found = explorer.result.found[RETIRED]
    assert clause_of(RETIRED) == "SRV-4"
    assert "none of its keys is left" in found.problem.expected
    _, problems = explorer.replay(found.schedule, found.before)
    assert RETIRED in [each.rule for each in problems]
    told = write_exports(RETIRED, "sim:old-cookies-stay-good", 0, found, tmp_path)
    assert [each.partition(":")[0] for each in told] == [f"no {RETIRED}.pkt"]
    assert (tmp_path / f"{RETIRED}.pcapng").stat().st_size > 500
    segments = [Segment.read_back(each.data) for each in found.packets]
    syn = next(each for each in reversed(segments) if each.flags == SYN)
    answer = next(each for each in segments if each.is_syn_ack and each.dport == syn.sport)
    assert answer.ack == seq.add(syn.seq, syn.length)

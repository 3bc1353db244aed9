"""The client variants: each is named once, uses a freedom that there is, and is not blamed."""

from __future__ import annotations

import itertools
import re
import runpy
from pathlib import Path

import pytest

from scapy_tfo import freedoms
from scapy_tfo.cli import main
from scapy_tfo.client_variants.array import LEVELS, ROWS
from scapy_tfo.client_variants.registry import (
    ClientVariant,
    add,
    all_client_variants,
    client_named,
    client_variant,
)
from scapy_tfo.client_variants.rows import all_client_rows, client_members
from scapy_tfo.clients.judge import Options
from scapy_tfo.clients.registry import all_cases
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.errors import SetupError
from scapy_tfo.mutants.registry import all_client_mutants, all_mutants
from scapy_tfo.reference.server import Listener
from scapy_tfo.reference.stack import Stack
from scapy_tfo.spec import load
from scapy_tfo.suite.result import Verdict
from scapy_tfo.trust.legal import client_tried, every_client_name
from scapy_tfo.variants.registry import Variant, all_variants

VARIANTS = all_client_variants()
EVERY = (*VARIANTS, *all_client_rows())
FREEDOMS = freedoms.load()
KNOWN = {each.name: each for each in VARIANTS}
MAKER = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "variant_rows.py"))

PATIENT = next(
    f"client-row-{number}"
    for number in range(1, len(ROWS) + 1)
    if {"repeats-the-syn-ten-times", "repeats-the-syn-after-three-seconds"}
    <= {each.name for each in client_members(number)}
)
"""A client that gives up after 453 s."""


# == The registry ==


def test_names_are_their_own() -> None:
    """Also beside those of servers and of mutants: `scapy-tfo variants` lists all of them."""
    names = [each.name for each in (*EVERY, *all_variants(), *all_mutants(), *all_client_mutants())]
    assert len(names) - len(set(names)) == len(
        {each.name for each in all_mutants()} & {each.name for each in all_client_mutants()}
    )


@pytest.mark.parametrize("each", VARIANTS, ids=lambda each: each.name)
def test_each_uses_a_known_freedom_and_says_how(each: ClientVariant) -> None:
    assert each.uses
    for freedom, choice in each.uses.items():
        assert choice in FREEDOMS[freedom].choices, freedom
        assert choice != FREEDOMS[freedom].default, freedom
        assert FREEDOMS[freedom].role != "server", freedom
    assert re.fullmatch(r"[A-Z0-9].*[^.]\.", each.description), each.description
    assert re.fullmatch(r"[a-z0-9-]+", each.name)


def test_every_freedom_of_clients_is_used() -> None:
    used = {freedom for each in VARIANTS for freedom in each.uses}
    assert used >= {each.id for each in FREEDOMS.values() if each.role == "client"}


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.name)
def test_each_opens_a_plain_connection(each: Variant) -> None:
    run = simulate(f"sim:{each.name}", all_cases()[:1], load(), Options(capture=False))
    assert [result.verdict for result in run.results] == [Verdict.PASS] * 2


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="taken"):
        add("offers-no-sack", "A second one.", {"client-sack": "no"}, sack=False)


def test_a_variant_says_what_it_does() -> None:
    with pytest.raises(ValueError, match="missing"):

        @client_variant({"client-sack": "no"})
        class SaysNothing(Stack): ...


def test_a_variant_is_a_part_that_a_client_has() -> None:
    with pytest.raises(TypeError, match="no part"):

        @client_variant({"client-sack": "no"})
        class OfNoPart(Listener):
            """A listener is no part that a client has."""


def test_what_both_ends_have_is_a_client_too() -> None:
    """A variant of `variants/` that replaces a part that clients have."""
    both = client_named("window-of-1111")
    assert isinstance(both, ClientVariant)
    assert both.settings.receive_window == 1111
    assert {"window-of-1111", "offers-no-sack", "client-row-1"} <= set(every_client_name())
    assert "resets-a-syn-with-fin" not in every_client_name()


def test_an_unknown_client_is_told() -> None:
    with pytest.raises(SetupError, match=r"no such client: 'offers-no-sak'.*offers-no-sack"):
        client_named("offers-no-sak")


def test_they_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["variants"]) == 0
    out = capsys.readouterr().out
    assert "sim:offers-no-sack  (a client; uses client-sack)\n    A SYN offers no SACK.\n" in out
    assert f"\n{len(VARIANTS)} variants of clients, and {len(all_client_rows())} rows" in out


# == The rows ==


def test_the_array_is_of_the_variants_that_there_are() -> None:
    """`make variant-rows` after a variant was added or removed."""
    assert MAKER["factors"](VARIANTS) == LEVELS


def test_every_pair_goes_together_in_a_row() -> None:
    seen = {
        frozenset(pair)
        for number in range(1, len(ROWS) + 1)
        for pair in itertools.combinations([each.name for each in client_members(number)], 2)
    }
    for a, b in itertools.combinations(LEVELS.values(), 2):
        for one, other in itertools.product(a, b):
            if frozenset((one, other)) not in seen:
                assert not MAKER["together"](KNOWN[one], KNOWN[other]), (one, other)


# == No case blames them ==


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("acknowledges-before-refused-data", "CLI-15.only-the-rest"),
        ("asks-in-the-experimental-form", "CLI-2.a-cookie-is-found-anywhere"),
        ("half-of-the-data-in-the-syn", "CLI-6.refused-data-is-sent-again"),
        ("half-of-the-data-in-the-syn", "CLI-7.a-larger-mss"),
        ("half-of-the-data-in-the-syn", "CLI-20a."),
        ("remembers-four-servers", "CLI-2.cookies-of-every-length"),
        ("remembers-four-servers", "CLI-24.a-refusal-of-one-host"),
        ("remembers-one-server", "CLI-14."),
        ("remembers-one-server", "CLI-2."),
        ("remembers-one-server", "CLI-24."),
        ("cookie-lives-a-minute", "CLI-2."),
        ("remembers-no-mss", "CLI-4."),
        ("remembers-no-mss", "CLI-7."),
        (PATIENT, "CLI-8a.a-server-that-never-answered"),
        ("takes-the-first-free-port", "CLI-2.a-granted-cookie-is-used"),
        ("takes-the-first-free-port", "CLI-22.a-rst-in-answer"),
        ("begins-with-one-segment", "CLI-21a."),
        ("small-packets", "CLI-20.refused-data-that-is-too-big"),
        ("nagle", "CLI-6a.two-syn-acks-that-disagree"),
    ],
)
def test_cases_that_were_stricter_than_the_standards(name: str, case: str) -> None:
    chosen = [each for each in all_cases() if each.id.startswith(case)]
    assert chosen
    assert client_tried(name, cases=chosen).blames == ()


def test_a_should_that_is_given_up_is_a_warning() -> None:
    chosen = [each for each in all_cases() if each.id == "CLI-6.refused-data-is-sent-again"]
    trial = client_tried("acknowledges-before-refused-data", cases=chosen)
    assert trial.warnings == ("CLI-6.refused-data-is-sent-again",)
    assert trial.blames == ()
    assert trial.told() == ["sim:acknowledges-before-refused-data: 2 fail"]


def test_a_mutant_is_not_tried() -> None:
    with pytest.raises(TypeError, match="no variant"):
        client_tried("invents-a-cookie", cases=[])

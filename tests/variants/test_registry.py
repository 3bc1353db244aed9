"""The registry of variants: each is named once, uses a freedom that there is, and is a TCP."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scapy_tfo import freedoms
from scapy_tfo.cli import main
from scapy_tfo.client_variants.registry import all_client_variants
from scapy_tfo.errors import SetupError
from scapy_tfo.mutants.registry import all_mutants
from scapy_tfo.reference.cache import Cache
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import Accepted
from scapy_tfo.segment import ACK, RST, SYN
from scapy_tfo.variants.registry import Variant, add, all_variants, joined, named, variant
from scapy_tfo.variants.rows import all_rows
from tests.reference.wire import ISN, Script

VARIANTS = all_variants()
FREEDOMS = freedoms.load()

# Freedoms that no variant uses yet. The list may only shrink.
UNUSED = {
    line
    for line in (Path(__file__).parent / "unused.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
}


def test_there_are_many() -> None:
    assert len(VARIANTS) >= 150
    assert len({each.name for each in VARIANTS}) == len(VARIANTS)
    assert not {each.name for each in VARIANTS} & {each.name for each in all_mutants()}


@pytest.mark.parametrize("each", VARIANTS, ids=lambda each: each.name)
def test_each_uses_a_known_freedom_and_says_how(each: Variant) -> None:
    assert each.uses
    for freedom, choice in each.uses.items():
        assert choice in FREEDOMS[freedom].choices, freedom
        assert choice != FREEDOMS[freedom].default, freedom
    assert re.fullmatch(r"[A-Z0-9].*[^.]\.", each.description), each.description
    assert re.fullmatch(r"[a-z0-9-]+", each.name)


def test_every_freedom_is_used_but_for_those_that_are_named() -> None:
    """A freedom that no variant uses is a hole, like a requirement without a mutant."""
    every = (*VARIANTS, *all_client_variants())
    used = {freedom for each in every for freedom in each.uses}
    assert set(FREEDOMS) - used == UNUSED


def test_the_list_of_unused_freedoms_only_shrinks() -> None:
    assert len(UNUSED) <= 23


@pytest.mark.parametrize("each", VARIANTS, ids=lambda each: each.name)
def test_each_completes_a_plain_handshake(each: Variant) -> None:
    script = Script(each.settings, stack_class=each.stack)
    answers = script.send(SYN) + script.wait(0.3)
    (syn_ack,) = (segment for segment in answers if segment.is_syn_ack)
    assert syn_ack.ack == ISN + 1
    script.establish(syn_ack)
    script.wait(0.3)
    assert any(isinstance(event, Accepted) for event in script.events)


def test_variants_join() -> None:
    chosen = [_named(name) for name in ("hop-limit32", "window-on-rst", "no-sack")]
    both = joined("several", chosen)
    assert both.uses == {"ttl": "32", "window-on-rst": "any", "sack-agreed": "no"}
    assert not both.settings.sack
    script = Script(both.settings, stack_class=both.stack)
    assert script.syn().hop_limit == 32
    (rst,) = script.send(RST | ACK, dport=81) or script.send(ACK, dport=81)
    assert (rst.hop_limit, rst.window) == (32, 4321)


def test_variants_that_contradict_each_other_do_not_join() -> None:
    with pytest.raises(ValueError, match="ttl is used in two ways"):
        joined("both", [_named("hop-limit32"), _named("hop-limit128")])


def _named(name: str) -> Variant:
    found = named(name)
    assert isinstance(found, Variant)
    return found


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="taken"):
        add("no-sack", "A second one.", {"sack-agreed": "no"}, sack=False)


def test_a_variant_says_what_it_does() -> None:
    with pytest.raises(ValueError, match="missing"):

        @variant({"ttl": "32"})
        class SaysNothing(Stack): ...


def test_a_variant_is_a_part_of_the_reference() -> None:
    with pytest.raises(TypeError, match="no part"):

        @variant({"ttl": "32"})
        class OfNoPart(Cache):
            """The cache is no part that a server has."""


def test_an_unknown_stack_is_told() -> None:
    with pytest.raises(SetupError, match=r"no such stack: 'no-sak'.*no-sack"):
        named("no-sak")


def test_they_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["variants"]) == 0
    out = capsys.readouterr().out
    assert "sim:no-sack  (uses sack-agreed)\n    Agrees to no SACK.\n" in out
    assert f"\n{len(VARIANTS)} variants, and {len(all_rows())} rows" in out

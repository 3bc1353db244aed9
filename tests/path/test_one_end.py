"""Judgements from one end only: what shows there, and a note that no more can be told."""

from __future__ import annotations

import pytest

from scapy_tfo.middleboxes import tampering
from scapy_tfo.middleboxes.registry import BOXES
from scapy_tfo.path.evidence import Verdict
from scapy_tfo.path.simulated import observe_simulated
from scapy_tfo.path.verdict import judge

SEEN = {
    "none": (),
    "strips-option-from-syn": ("no-cookie", "no-data-taken"),
    "strips-option-from-syn-ack": ("no-cookie", "no-data-taken"),
    "strips-option": ("no-cookie", "no-data-taken"),
    "strips-syn-data": ("no-data-taken",),
    "drops-syn-with-option": ("option-unanswered",),
    "drops-syn-with-data": ("data-unanswered",),
    "drops-syn-with-option-and-data": ("data-unanswered",),
    "drops-syn-with-much-data": ("much-data-unanswered",),
    "drops-syn-ack-with-cookie": ("option-unanswered",),
    "blocks-flow-after-syn-data": ("flow-silent-after-syn-data",),
    "blocks-server-after-syn-data": ("server-silent-after-syn-data",),
    "acknowledges-lost-data": ("data-acknowledged-but-unanswered", "data-unacknowledged"),
    "duplicates-syn": (),
    "delays-syn-with-data": ("data-answered-late",),
    "splits-syn-data": ("part-taken",),
    "cuts-syn-data": ("part-taken",),
    "rewrites-syn-data": ("answer-changed",),
    "rewrites-cookie": ("cookie-refused",),
    "resets-syn-with-data": ("data-answered-by-rst",),
    "prohibits-syn-with-data": ("data-answered-by-icmp",),
    "finds-syn-too-big": ("much-data-unanswered",),
    "silences-flow-after-handshake": ("silent-after-handshake",),
    "resets-after-handshake": ("reset-after-handshake",),
    "drops-server-data": ("data-acknowledged-but-unanswered", "silent-after-handshake"),
    "shuts-window": ("window-shut",),
    "rewrites-server-data": ("answer-changed",),
    "tracks-no-flow-with-syn-data": ("silent-after-handshake",),
    "shares-address": (),
    "changes-address": ("different-keys",),
}


@pytest.mark.parametrize("name", BOXES)
def test_what_shows_at_the_near_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Later, the client's plain SYN overtakes it.
    monkeypatch.setattr(tampering, "LATE", (0.5, 0.5))
    result = judge(observe_simulated([BOXES[name]], 4, seed=3, agent=False))
    assert tuple(each.name for each in result.findings) == SEEN[name]
    assert (result.verdict is Verdict.TRANSPARENT) == (not SEEN[name])


def test_what_one_end_cannot_see_is_said() -> None:
    result = judge(observe_simulated([], 4, agent=False))
    assert any("not to be seen from one end" in note for note in result.notes)


def test_a_lost_option_may_be_the_servers_doing() -> None:
    result = judge(observe_simulated([BOXES["strips-option"]], 6, agent=False))
    assert result.verdict is Verdict.UNKNOWN
    assert "or the server does not do fast open" in result.findings[0].says
    assert any("scapy-tfo path serve" in note for note in result.notes)


def test_an_address_that_changes_looks_like_many_servers() -> None:
    result = judge(observe_simulated([BOXES["changes-address"]], 4, agent=False))
    assert any("address translator" in note for note in result.notes)

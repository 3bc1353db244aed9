"""The count of a client's kernel, compared with the packets on the wire."""

from __future__ import annotations

import pytest

from scapy_tfo.clients.counters import NOT_TAKEN, TAKEN, Balance

NOTHING = {TAKEN: 10, NOT_TAKEN: 4}


@pytest.mark.parametrize(
    ("rose", "agrees"),
    [((3, 1), True), ((3, 2), True), ((2, 1), False), ((4, 1), False), ((3, 3), False)],
)
def test_counters_lie_within_what_was_seen(rose: tuple[int, int], agrees: bool) -> None:
    balance = Balance({TAKEN: 3, NOT_TAKEN: 1}, {TAKEN: 3, NOT_TAKEN: 2})
    after = {TAKEN: 10 + rose[0], NOT_TAKEN: 4 + rose[1]}
    assert balance.weigh(NOTHING, after)[1] is agrees


def test_a_client_that_does_not_count_agrees() -> None:
    assert Balance.of([]).weigh({}, {}) == ("", True)

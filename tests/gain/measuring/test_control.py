"""Controls that hold, and those that do not."""

from __future__ import annotations

import pytest

from scapy_tfo.gain.measuring.control import PERCENT, RATIO, TRIPS, Demand, off, refusal
from scapy_tfo.gain.measuring.estimate import Estimate

GAINED = Estimate(1.4, 1.3, 1.5)

# The effect, the control, what is demanded, and a word of the refusal.
CELLS = [
    pytest.param(GAINED, Estimate(1.0, 0.98, 1.03), RATIO, "", id="holds"),
    pytest.param(GAINED, Estimate(1.54, 1.14, 1.94), RATIO, "must be 1", id="shows a gain"),
    pytest.param(GAINED, Estimate(1.03, 1.02, 1.04), RATIO, "must be 1", id="leaves 1"),
    pytest.param(GAINED, Estimate(0.97, 0.96, 0.98), RATIO, "must be 1", id="leaves 1 below"),
    pytest.param(GAINED, Estimate(1.06, 0.9, 1.2), RATIO, "must be 1", id="too far, though wide"),
    pytest.param(GAINED, Estimate(1.002, 1.001, 1.003), RATIO, "", id="leaves 1 by nothing"),
    pytest.param(GAINED, Estimate(1.0, 0.7, 1.2), RATIO, "wide", id="wider than the effect"),
    pytest.param(Estimate(1.42, 0.5, 2.3), Estimate(1.0, 0.9, 1.1), RATIO, "", id="effect is wide"),
    pytest.param(Estimate(1.0, 0.99, 1.01), Estimate(1, 0.99, 1.01), RATIO, "", id="no gain"),
    pytest.param(Estimate(0.98, 0.8, 1.2), Estimate(1, 0.9, 1.1), RATIO, "wide", id="cannot tell"),
    pytest.param(Estimate(1, 1, 1), Estimate(0.0, -0.01, 0.01), TRIPS, "", id="a trip"),
    pytest.param(Estimate(0, 0, 0), Estimate(0.0, -0.01, 0.01), TRIPS, "", id="no trip"),
    pytest.param(Estimate(1, 1, 1), Estimate(0.2, 0.1, 0.3), TRIPS, "must be 0", id="a false trip"),
    pytest.param(Estimate(6, 5, 7), Estimate(-0.4, -0.9, 0.1), PERCENT, "", id="a page"),
    pytest.param(Estimate(1, 0, 2), Estimate(0, -1.5, 1.5), PERCENT, "wide", id="a page's noise"),
    pytest.param(None, Estimate(1.5, 1.4, 1.6), RATIO, "", id="no effect is claimed"),
]


@pytest.mark.parametrize(("effect", "control", "demand", "said"), CELLS)
def test_a_cell_is_a_result_where_its_control_holds(
    effect: Estimate | None, control: Estimate, demand: Demand, said: str
) -> None:
    found = refusal(effect, control, demand)
    assert (said in found) if said else not found


@pytest.mark.parametrize(
    ("seen", "asked", "said"),
    [
        (0.000104, 0.0001, ""),
        (0.000785, 0.0001, "685% too much"),
        (0.000061, 0.001, "94% too little"),
        (0.00411, 0.005, "18% too little"),
        (0.0212, 0.02, "6% too much"),
    ],
)
def test_a_link_that_is_not_the_one_that_was_asked_for(
    seen: float, asked: float, said: str
) -> None:
    found = off(seen, asked)
    assert (said in found) if said else not found

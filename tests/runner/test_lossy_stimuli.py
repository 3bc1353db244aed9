"""Conversations for the rules of TCP, over a path that loses packets."""

from __future__ import annotations

import pytest

from scapy_tfo import spec
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.suite.registry import all_cases, all_stimuli, select
from scapy_tfo.suite.result import Verdict

LOSSY = Impairment(loss=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_what_was_lost_does_not_tell_what_a_target_takes_part_in(seed: int) -> None:
    """A situation that did not come about for a loss is inconclusive, and not unsupported."""
    options = Options(seed=seed, families=[4], impairment=LOSSY, capture=False)
    quick = [each for each in all_stimuli() if not each.slow]
    clean = simulate("sim:reference", quick, spec.load(), Options(families=[4], capture=False))
    usual = {each.case: each.verdict for each in clean.results}
    run = simulate("sim:reference", quick, spec.load(), options)
    other = {
        each.case: each.verdict for each in run.results if each.verdict is not usual[each.case]
    }
    assert set(other.values()) <= {Verdict.INCONCLUSIVE}
    assert run.breaches == ()


@pytest.mark.parametrize("seed", range(6))
def test_a_lost_copy_is_no_limit_of_the_timeout(seed: int) -> None:
    options = Options(seed=seed, slow=True, families=[4], impairment=LOSSY, capture=False)
    waits = select(all_stimuli(), ["TCP-RTO-10.*"])
    assert simulate("sim:reference", waits, spec.load(), options).breaches == ()


@pytest.mark.parametrize("seed", range(6))
def test_a_rst_that_comes_late_is_not_one_to_nothing(seed: int) -> None:
    """On ends that are used again it may answer what was sent there before."""
    swaps = Impairment(reorder=0.2)
    options = Options(seed=seed, slow=True, families=[4], impairment=swaps, capture=False)
    again = select(all_stimuli(), ["TCP-RST-*", "TCP-TW-*"])
    assert simulate("sim:reference", again, spec.load(), options).breaches == ()


@pytest.mark.parametrize("seed", [2, 4, 7, 8])
def test_a_lost_syn_ack_does_not_make_an_abort_unsupported(seed: int) -> None:
    lossy = Impairment(loss=0.2)
    options = Options(seed=seed, slow=True, families=[4], impairment=lossy, capture=False)
    aborts = select(all_cases(), ["AFT-3.abort-before-the-ack-is-believable"])
    (result,) = simulate("sim:reference", aborts, spec.load(), options).results
    assert result.verdict in (Verdict.PASS, Verdict.INCONCLUSIVE)

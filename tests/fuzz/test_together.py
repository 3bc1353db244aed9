"""The shards of a campaign on many workers, as one."""

from __future__ import annotations

from scapy_tfo.cluster.together import Together
from scapy_tfo.fuzz.campaign.campaign import Progress
from scapy_tfo.fuzz.campaign.together import summed


def so_far(programs: int, left: float | None = 10.0, quiet: float = 5.0) -> Progress:
    return Progress(
        programs=programs,
        probes=8 * programs,
        seconds=2.0,
        probes_a_second=80.0,
        programs_a_second=10.0,
        wanted=None,
        left=left,
        findings=1,
        quiet=quiet,
    )


def test_what_is_done_adds_up_and_rates_are_of_those_under_way() -> None:
    together: Together[Progress] = Together(3)
    together.tell(1, so_far(100))
    together.tell(2, so_far(50, left=20.0, quiet=1.0))
    assert str(together) == "0 of 3 shards ended, 2 under way, 1 waiting"
    assert summed(together).left is None  # of the third nothing is known
    together.tell(3, so_far(7))
    together.end(1)
    told = summed(together)
    assert (told.programs, told.findings, told.quiet, told.left) == (157, 3, 1.0, 20.0)
    assert (told.programs_a_second, told.probes_a_second) == (20.0, 160.0)
    assert str(together) == "1 of 3 shards ended, 2 under way, 0 waiting"


def test_a_shard_that_another_worker_begins_anew_counts_once() -> None:
    together: Together[Progress] = Together(1)
    together.tell(1, so_far(100))
    together.tell(1, so_far(3))
    assert summed(together).programs == 3


def test_one_that_was_given_up_is_not_waited_for() -> None:
    together: Together[Progress] = Together(2)
    together.end(1)
    assert str(together) == "1 of 2 shards ended, 0 under way, 1 waiting"
    assert summed(together).programs == 0

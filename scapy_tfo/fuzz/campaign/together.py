"""How far the shards of a campaign are, all of them together."""

from __future__ import annotations

from scapy_tfo.cluster.together import Together
from scapy_tfo.fuzz.campaign.campaign import Progress


def summed(together: Together[Progress]) -> Progress:
    """Sums; rates are those of shards that are under way.

    A finding that several shards made counts for each of them: they are told apart only when the
    stores are merged.
    """
    told, going = together.told(), together.going()
    left = [each.left for each in going if each.left is not None]
    is_told = len(left) == len(going) and bool(left) and not together.some_wait()
    return Progress(
        programs=sum(each.programs for each in told),
        probes=sum(each.probes for each in told),
        seconds=sum(each.seconds for each in told),
        probes_a_second=sum(each.probes_a_second for each in going),
        programs_a_second=sum(each.programs_a_second for each in going),
        wanted=None,
        left=max(left) if is_told else None,
        findings=sum(each.findings for each in told),
        quiet=min((each.quiet for each in told), default=0.0),
    )

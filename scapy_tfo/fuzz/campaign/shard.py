"""Runs one shard of a campaign on any machine, and returns its store as bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from scapy_tfo.fuzz.campaign.campaign import Campaign, Progress
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.generation.grammar import VERSION, sent_for
from scapy_tfo.fuzz.generation.plan import AUTO, Plan
from scapy_tfo.program import fingerprint
from scapy_tfo.program.program import Program, dumps
from scapy_tfo.targets.benches import ProfiledBench, batch_of, open_bench, volleys_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A campaign that is split: all that a worker is told.

    target, profile, rate: as the user gave them. programs: of the whole campaign; seconds: of
    each shard; None for no limit. batch: programs in each, None for what suits the target.
    coverage: see `Plan`. base: the corpus that it begins with.
    """

    target: str
    profile: str = "auto"
    rate: int | None = None
    seed: int = 0
    programs: int | None = None
    seconds: float | None = None
    batch: int | None = None
    coverage: str = AUTO
    base: dict[str, Program] = field(default_factory=dict)

    def plan(self, bench: ProfiledBench, shard: tuple[int, int]) -> Plan:
        """What one shard sends to a target."""
        texts = (f"{pair} {dumps(program)}" for pair, program in self.base.items())
        return Plan(
            target=self.target,
            profile=bench.profile.name,
            live=not bench.profile.fresh,
            grammar=str(VERSION),
            seed=self.seed,
            shard=shard,
            batch=self.batch or batch_of(self.target),
            volleys=volleys_of(bench),
            coverage=self.coverage,
            base=f"{fingerprint.total(map(fingerprint.text_hash, texts)):016x}"
            if self.base
            else "",
        )


def run_shard(
    job: Job,
    shard: tuple[int, int],
    is_over: Callable[[Progress], bool],
    place: Path | None = None,
) -> bytes:
    """Send a shard, and return its store.

    is_over: told after each batch how far it is, and asked; what is kept until then is returned
    where it says so. place: where the store may stand meanwhile, None for where temporary files
    do; one that is killed leaves it there. Raises SetupError and TargetError.
    """

    def reopen() -> ProfiledBench:
        return open_bench(job.target, profile=job.profile, rate=job.rate)

    def ask(progress: Progress) -> None:
        if is_over(progress):
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory(prefix="scapy-tfo-", dir=place) as directory:
        path = Path(directory) / "shard.sqlite"
        bench = reopen()
        try:
            store = Store.create(path, job.plan(bench, shard), job.base)
        except BaseException:
            bench.close()
            raise
        with closing(store):
            campaign = Campaign(
                store,
                sent_for,
                bench,
                reopen,
                programs=job.programs,
                seconds=job.seconds,
                on_progress=ask,
            )
            try:
                with suppress(KeyboardInterrupt):
                    campaign.run()
            finally:
                campaign.bench.close()
        return path.read_bytes()

"""Judges legal stacks by all cases, by the fuzzer and by exploring, in simulation: none may be
blamed."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scapy_tfo import freedoms, spec, tcp_rules
from scapy_tfo.client_laws.chance import conversations
from scapy_tfo.client_laws.registry import all_laws
from scapy_tfo.client_variants.registry import (
    all_client_variants,
    client_named,
    shared_variants,
)
from scapy_tfo.client_variants.rows import all_client_rows
from scapy_tfo.clients.judge import Options as ClientOptions
from scapy_tfo.clients.registry import all_cases as all_client_cases
from scapy_tfo.clients.simulated import simulate as simulate_client
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.freedoms import Kind
from scapy_tfo.fuzz.generation.batches import Batch
from scapy_tfo.fuzz.generation.corpus import Corpus
from scapy_tfo.fuzz.generation.grammar import VERSION, sent_for
from scapy_tfo.fuzz.generation.plan import SECTIONS, Plan
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program.program import dumps
from scapy_tfo.runner.judging.verdicts import with_breaches
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.suite.registry import Case, all_cases, all_conversations
from scapy_tfo.suite.result import Result, Verdict
from scapy_tfo.trust.schedules import explored
from scapy_tfo.variants.registry import Variant, all_variants, named
from scapy_tfo.variants.rows import all_rows

_CONVERSATIONS = 6
"""Drawn by chance, of each client."""


@dataclass(frozen=True, slots=True)
class Blame:
    """One verdict against a legal stack. by: a case or a rule of the fuzzer. evidence: why."""

    by: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one legal stack.

    verdicts: how many results there were of each. warnings: cases of a SHOULD that the stack
    gives up. blames: what must not be. programs: with which it was fuzzed, None for a client.
    schedules: by which it was explored.
    """

    variant: Variant
    verdicts: Mapping[str, int]
    warnings: tuple[str, ...]
    blames: tuple[Blame, ...]
    programs: int | None
    schedules: int = 0

    @property
    def name(self) -> str:
        return self.variant.name

    def told(self) -> list[str]:
        """One line, and one for each blame."""
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items())
        more = "" if self.programs is None else f"; {self.programs} programs"
        more += f", {self.schedules} schedules" if self.schedules else ""
        lines = [f"sim:{self.name}: {counts}{more}"]
        lines += [f"  {each.by}: {each.evidence}" for each in self.blames]
        return lines


def every_name() -> list[str]:
    """The names of all variants, and of the rows that join them."""
    return [each.name for each in (*all_variants(), *all_rows())]


def every_client_name() -> list[str]:
    """The names of all client variants, of the rows that join them, and of those variants of
    servers whose freedom is seen at clients, too."""
    known = freedoms.load()
    both = [
        each
        for each in shared_variants()
        if any(known[freedom].role == "wire" for freedom in each.uses)
    ]
    return [each.name for each in (*all_client_variants(), *all_client_rows(), *both)]


def tried(
    name: str,
    *,
    programs: int,
    schedules: int = 0,
    cases: Sequence[Case] | None = None,
    families: tuple[int, ...] = (4, 6),
) -> Trial:
    """Try one legal stack. programs: see `findings`. schedules: see `schedules.explored`. cases:
    None for all, slow ones too, and then those of a quick run.

    Raises SetupError for an unknown name, TypeError for a stack that is no variant.
    """
    variant = named(name)
    if not isinstance(variant, Variant):
        raise TypeError(f"{name} is no variant")
    options = Options(slow=True, intrusive=True, capture=False, families=families)
    results = _results(name, all_conversations() if cases is None else cases, options)
    found = findings(name, programs, lenient=gives_up_a_should(variant))
    found += tuple(Blame(*each) for each in explored(name, schedules))
    trial = replace(_judged(variant, results, found, programs), schedules=schedules)
    if cases is not None:
        return trial
    # What a run leaves out changes what it knows of the target, and so what a silence means.
    quick = _results(name, all_cases(), Options(capture=False, families=families[:1]))
    more = [each for each in _judged(variant, quick, (), None).blames if each not in trial.blames]
    return replace(trial, blames=(*trial.blames, *more))


def _results(name: str, cases: Sequence[Case], options: Options) -> Sequence[Result]:
    run = simulate(f"sim:{name}", cases, spec.load(), options)
    return with_breaches(run, tcp_rules.load()).results


def client_tried(
    name: str, *, cases: Sequence[Case] | None = None, families: tuple[int, ...] = (4, 6)
) -> Trial:
    """Try one legal client, with what is said of `tried`. In place of the fuzzer stand the laws and
    conversations drawn by chance."""
    variant = client_named(name)
    if not isinstance(variant, Variant):
        raise TypeError(f"{name} is no variant")
    options = ClientOptions(slow=True, capture=False, families=families)
    chosen: Sequence[Case] = (
        (*all_client_cases(), *all_laws(), *conversations(range(_CONVERSATIONS)))
        if cases is None
        else cases
    )
    results = simulate_client(f"sim:{name}", chosen, spec.load(), options).results
    return _judged(variant, results, (), None)


def _judged(
    variant: Variant, results: Sequence[Result], found: tuple[Blame, ...], programs: int | None
) -> Trial:
    failed = [each for each in results if each.verdict is Verdict.FAIL]
    lenient = gives_up_a_should(variant)
    warnings = [each for each in failed if lenient and not each.level.fails_run]
    blames = [_of_case(each) for each in failed if each not in warnings]
    return Trial(
        variant,
        dict(Counter(str(each.verdict) for each in results)),
        tuple(dict.fromkeys(each.case for each in warnings)),
        tuple(dict.fromkeys(blames)) + found,
        programs,
    )


def gives_up_a_should(variant: Variant) -> bool:
    """Whether it makes a choice that a SHOULD advises against: cases of a SHOULD may say so."""
    known = freedoms.load()
    return any(known[each].kind is Kind.SHOULD for each in variant.uses)


def findings(name: str, programs: int, *, lenient: bool = False) -> tuple[Blame, ...]:
    """What the fuzzer finds wrong, once for each rule, with the program that shows it first.

    programs: half of them of the seeds from 0 on, and at least as many of a campaign of seeds that
    go by the name, which mutates programs, too: so all stacks together meet many. lenient: leave
    out what breaks no more than a SHOULD.
    """
    if not programs:
        return ()
    bench = SimulatedBench(f"sim:{name}")
    found: dict[str, Blame] = {}
    levels = {each.id: each.level for each in spec.load().values()}
    levels |= {each.id: each.level for each in tcp_rules.load().values()}
    of_all = ((seed, sent_for(seed)) for seed in range(programs - programs // 2))
    seen = [
        (each, f"seed {number}")
        for number, verdict in bench.run(of_all)
        for each in verdict.violations
    ]
    seen += _of_a_campaign(bench, name, programs // 2)
    for each, where in seen:
        if lenient and not levels[each.requirement].fails_run:
            continue
        rule = f"{each.rule} ({each.requirement})"
        found.setdefault(rule, Blame(rule, f"{where}: {each.actual}, not {each.expected}"))
    return tuple(found.values())


def _of_a_campaign(
    bench: SimulatedBench, name: str, programs: int
) -> Iterator[tuple[Violation, str]]:
    """The violations that one batch of a campaign sees first, each with its program."""
    size = max(-(-programs // SECTIONS), 1) * SECTIONS
    seed = zlib.crc32(name.encode()) >> 1
    plan = Plan(target=bench.name, profile="auto", grammar=str(VERSION), seed=seed, batch=size)
    batch = Batch(plan, 0, range(size), sent_for, Corpus())
    bench.counts.edges = True
    while not batch.is_whole:
        for number, verdict in bench.run(batch.programs()):
            batch.add(number, verdict)
    for each in sorted(batch.tally.sightings.values(), key=lambda each: each.number):
        yield each.violation, f"program {dumps(batch.program(each.number))}"


def _of_case(result: Result) -> Blame:
    return Blame(result.case, f"{result.reason} (IPv{result.family})")

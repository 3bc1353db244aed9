"""The plan of a run: which contexts, and which cases in each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from scapy_tfo.covering import covering
from scapy_tfo.suite.context.context import Context
from scapy_tfo.suite.context.factors import FACTORS, Factor, Level
from scapy_tfo.suite.registry import Case

STRENGTH = 2


@dataclass(frozen=True, slots=True)
class Model:
    """What can be varied at a target.

    levels: by factor, those that it shows, the usual one first. left_out: why others are not
    there, one line each. values: of a level, those that the target shows, where not all.
    """

    levels: Mapping[str, tuple[Level, ...]]
    left_out: tuple[str, ...] = ()

    @property
    def factors(self) -> tuple[str, ...]:
        """Those that have at least two levels."""
        return tuple(name for name, levels in self.levels.items() if len(levels) > 1)


def whole() -> Model:
    """Every factor with every level."""
    return Model({factor.name: factor.levels for factor in FACTORS})


@dataclass(frozen=True, slots=True)
class Plan:
    """contexts: in the order in which they are run, the first the usual one in the first family.
    strength: how many factors each combination has that they cover."""

    model: Model
    strength: int
    contexts: tuple[Context, ...]
    cases: tuple[Case, ...] = field(repr=False)

    def runs(self) -> list[tuple[Context, tuple[Case, ...]]]:
        """The cases of each context, without those that have met it before, since they fix what
        tells it from another one."""
        met: set[tuple[str, Context]] = set()
        found = []
        for context in self.contexts:
            fresh = []
            for case in self.cases:
                key = case.id, context.without(case.fixed)
                if key not in met:
                    met.add(key)
                    fresh.append(case)
            found.append((context, tuple(fresh)))
        return found

    @property
    def size(self) -> int:
        """How many cases are run in all contexts."""
        return sum(len(cases) for _, cases in self.runs())

    def told(self) -> str:
        """One line."""
        return (
            f"vary: {len(self.model.factors)} factors, {len(self.contexts)} contexts that hold "
            f"every combination of {self.strength}, {self.size} runs of {len(self.cases)} cases"
        )


def planned(model: Model, cases: Sequence[Case], strength: int = STRENGTH, seed: int = 0) -> Plan:
    """The plan for a target. strength: how many values are combined in every way."""
    names = model.factors
    levels = [model.levels[name] for name in names]
    strength = min(strength, len(names))
    if not strength:
        return Plan(model, 0, (Context(),), tuple(cases))
    rows = covering([len(each) for each in levels], strength, seed)
    taken = {name: [0] * len(model.levels[name]) for name in names}
    contexts = []
    for row in rows:
        values = []
        for name, number in zip(names, row, strict=True):
            choice = model.levels[name][number].values
            # Values of one level take turns.
            values.append((name, choice[taken[name][number] % len(choice)]))
            taken[name][number] += 1
        contexts.append(Context.of(_fixed(model) | dict(values)))
    return Plan(model, strength, tuple(contexts), tuple(cases))


def _fixed(model: Model) -> dict[str, str]:
    """The factors that have one level only, which need not be the usual one."""
    return {name: levels[0].values[0] for name, levels in model.levels.items() if levels}


def reduced(factor: Factor, kept: Collection[str]) -> tuple[Level, ...]:
    """The levels of a factor with these values only; a level without any is left out."""
    levels = [
        Level(tuple(value for value in level.values if value in kept), level.optional)
        for level in factor.levels
    ]
    return tuple(level for level in levels if level.values)

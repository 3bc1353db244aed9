"""A context: a value for each factor."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.suite.context.factors import BY_NAME, FACTORS

_SHARED = "shared:"
"""An application with several listeners on its port."""


@dataclass(frozen=True, slots=True)
class Context:
    """values: by factor, in their order, those that are not the usual ones."""

    values: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Context:
        """With the values of these factors; the usual ones are left out."""
        return cls(
            tuple(
                (factor.name, given[factor.name])
                for factor in FACTORS
                if given.get(factor.name, factor.usual) != factor.usual
            )
        )

    @classmethod
    def parse(cls, text: str) -> Context:
        """Read what `str` writes. Raises SetupError for a factor or a value that there is not."""
        values: dict[str, str] = {}
        for entry in filter(None, (part.strip() for part in text.split(","))):
            name, _, value = entry.partition("=")
            factor = BY_NAME.get(name)
            if factor is None:
                known = ", ".join(BY_NAME)
                raise SetupError(
                    f"no factor of a context is named '{name}': give FACTOR=VALUE of {known}"
                    + did_you_mean(name, BY_NAME)
                )
            if value not in factor.values:
                raise SetupError(
                    f"'{value}' is no value of {name}: give one of {', '.join(factor.values)}"
                )
            values[name] = value
        return cls.of(values)

    def __getitem__(self, name: str) -> str:
        return dict(self.values).get(name, BY_NAME[name].usual)

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values)

    def without(self, names: Container[str]) -> Context:
        """The same with the usual values of these factors."""
        return Context(tuple(pair for pair in self.values if pair[0] not in names))

    def listens(self, app: str, *, limited: bool) -> str:
        """The application of a listener that a case makes for `app`.

        limited: the case is about a limit of the listener; several would each have one.
        """
        told = self["application"] if app == "echo" else app
        return app if limited and told.startswith(_SHARED) else told

    @property
    def names(self) -> tuple[str, ...]:
        """The factors that do not have their usual value."""
        return tuple(name for name, _ in self.values)


USUAL = Context()

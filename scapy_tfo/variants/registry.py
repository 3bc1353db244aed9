"""The registry of variants: the reference with a freedom of the standards used differently.

A variant replaces parts of the reference, settings of it, or both. Parts call `super()`, so that
variants of different freedoms join into one stack.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.mutants import registry as mutants
from scapy_tfo.mutants.registry import Mutant
from scapy_tfo.reference.parts.pending import ClientPending, Pending
from scapy_tfo.reference.recvside import ReceiveSide
from scapy_tfo.reference.sendside import SendSide
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack

Part = TypeVar("Part", bound=type[Any])

UPTIME = 7_000.25
"""Seconds that the clock of a simulated stack shows when it is first met: at zero, a time and a
difference of times would be the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A legal stack.

    name: as in `sim:NAME` and `lab:NAME`. uses: freedoms of specs/freedoms.toml, and the choice
    made of each. description: what it does, in one line. parts: of the reference, replaced.
    changes: fields of Settings. combines: it may be part of a row of the covering array.
    """

    name: str
    uses: Mapping[str, str]
    description: str
    parts: tuple[type[Any], ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)
    combines: bool = True

    @property
    def stack(self) -> type[Stack]:
        """The reference stack with the parts replaced."""
        return stack_of(self.parts)

    @property
    def settings(self) -> Settings:
        return Settings(**self.changes)


AnyStack = Mutant | Variant
"""What `sim:NAME` and `lab:NAME` may name."""

_variants: dict[str, Variant] = {}


def variant(
    uses: Mapping[str, str],
    *,
    more: Sequence[type[Any]] = (),
    combines: bool = True,
    **changes: Any,
) -> Callable[[Part], Part]:
    """Register a subclass of a part of the reference as the variant of its name.

    uses: freedoms and choices. more: further parts. changes: fields of Settings. combines: see
    Variant. The class's docstring says what it does. Raises ValueError for a name that is taken
    or a docstring that is missing, TypeError for what is no part of the reference.
    """

    def register(part: Part) -> Part:
        name, description = words_of(part)
        add(name, description, uses, parts=(part, *more), combines=combines, **changes)
        return part

    return register


def words_of(part: type[Any]) -> tuple[str, str]:
    """The name and the description of a variant, from its class."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", part.__name__).lower()
    return name, " ".join((part.__doc__ or "").split())


def add(
    name: str,
    description: str,
    uses: Mapping[str, str],
    *,
    parts: tuple[type[Any], ...] = (),
    combines: bool = True,
    **changes: Any,
) -> None:
    """Register a variant that needs no class of its own. Raises as `variant` does."""
    if name in _variants or not description:
        raise ValueError(f"variant {name}: the name is taken, or a description is missing")
    stack_of(parts)
    _variants[name] = Variant(
        name=name,
        uses=dict(uses),
        description=description,
        parts=parts,
        changes=changes,
        combines=combines,
    )


def joined(name: str, variants: Sequence[Variant]) -> Variant:
    """One stack that does what each of some variants does. Raises ValueError where two of them
    use one freedom or change one setting differently."""
    uses: dict[str, str] = {}
    changes: dict[str, Any] = {}
    for each in variants:
        for taken, new in ((uses, each.uses), (changes, each.changes)):
            for key, value in new.items():
                if taken.setdefault(key, value) != value:
                    raise ValueError(f"{name}: {key} is used in two ways")
    return type(variants[0])(
        name=name,
        uses=uses,
        description="Several at once: " + ", ".join(each.name for each in variants) + ".",
        parts=tuple(dict.fromkeys(part for each in variants for part in each.parts)),
        changes=changes,
    )


@functools.cache
def stack_of(parts: tuple[type[Any], ...]) -> type[Stack]:
    """The reference stack with several parts replaced. Raises TypeError for what is no part."""
    bases = (Stack, Listener, PassiveConnection, Pending, ClientPending, SendSide, ReceiveSide)
    for part in parts:
        if not issubclass(part, bases):
            raise TypeError(f"{part.__name__} replaces no part of the reference")
    stack, listener, connection, pending, clients, send, receive = (
        one_of(base, parts) for base in bases
    )
    connection = derived(connection, send_side_class=send, receive_side_class=receive)
    listener = derived(listener, pending_class=pending)
    made: type[Stack] = derived(
        stack,
        connection_class=connection,
        listener_class=listener,
        pending_class=pending,
        client_pending_class=clients,
    )
    return made


def one_of(base: type[Any], parts: Sequence[type[Any]]) -> type[Any]:
    """The parts that derive from a base, as one class: the first is asked first."""
    chosen = [part for part in parts if issubclass(part, base)]
    # A base of another part comes with it; named again it would spoil the order of the bases.
    own = [
        part for part in chosen if not any(o is not part and issubclass(o, part) for o in chosen)
    ]
    if len(own) < 2:
        return own[0] if own else base
    return type(f"Variant{base.__name__}", tuple(own), {})


def derived(base: type[Any], **attributes: Any) -> type[Any]:
    """A part of the reference with other attributes of its class."""
    return type(f"Variant{base.__name__}", (base,), attributes)


def all_variants() -> tuple[Variant, ...]:
    """Every variant of scapy_tfo/variants that uses one freedom, or a few that go together; by
    name. The rows of the covering array are in `rows`."""
    for module in pkgutil.iter_modules(importlib.import_module("scapy_tfo.variants").__path__):
        importlib.import_module(f"scapy_tfo.variants.{module.name}")
    return tuple(_variants[name] for name in sorted(_variants))


def _rows() -> tuple[Variant, ...]:
    """Found by name: the rows join what is registered here."""
    rows = importlib.import_module("scapy_tfo.variants.rows")
    found: tuple[Variant, ...] = rows.all_rows()
    return found


def is_client(name: str) -> bool:
    """Whether a mutant, variant or row of clients has that name. Variants may be of both ends."""
    rows = importlib.import_module("scapy_tfo.client_variants.rows")
    registry = importlib.import_module("scapy_tfo.client_variants.registry")
    every = (
        *mutants.all_client_mutants(),
        *registry.all_client_variants(),
        *rows.all_client_rows(),
    )
    return any(each.name == name for each in every)


def named(name: str) -> AnyStack:
    """The variant, row or mutant of that name, or `reference`. Raises SetupError where there is
    none."""
    every = {each.name: each for each in (*all_variants(), *_rows())}
    if name in every:
        return every[name]
    wrong = (
        *mutants.all_mutants(),
        *mutants.all_context_mutants(),
        *mutants.all_tcp_mutants(),
        *mutants.all_rule_mutants(),
    )
    known = [mutants.REFERENCE.name, *(each.name for each in wrong)]
    if name in known:
        return mutants.named(name)
    if is_client(name):
        raise SetupError(f"'{name}' is a client: judge it with 'scapy-tfo client sim:{name}'")
    raise SetupError(
        f"no such stack: '{name}'; there are reference, the mutants that 'scapy-tfo mutants' lists "
        "and the variants that 'scapy-tfo variants' lists" + did_you_mean(name, [*known, *every])
    )

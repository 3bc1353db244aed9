"""The registry of client variants: the reference client with a freedom used differently."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.mutants import registry as mutants
from scapy_tfo.reference.cache import Cache
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.recvside import ReceiveSide
from scapy_tfo.reference.sendside import SendSide
from scapy_tfo.reference.stack import Stack
from scapy_tfo.variants.registry import AnyStack, Variant, all_variants, derived, one_of, words_of

Part = TypeVar("Part", bound=type[Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientVariant(Variant):
    """A legal client. name: as in `scapy-tfo client sim:NAME`. For the rest see Variant."""

    @property
    def stack(self) -> type[Stack]:
        """The reference stack with the parts of its client replaced."""
        return client_stack_of(self.parts)


_SHARED = (Stack, SendSide, ReceiveSide)
"""Parts that servers and clients have."""

_variants: dict[str, ClientVariant] = {}


def client_variant(
    uses: Mapping[str, str],
    *,
    more: Sequence[type[Any]] = (),
    combines: bool = True,
    **changes: Any,
) -> Callable[[Part], Part]:
    """Register a subclass of a part of the reference client as the variant of its name.

    Everything is as with `variants.registry.variant`; the parts are Stack, ActiveConnection,
    Cache, SendSide and ReceiveSide.
    """

    def register(part: Part) -> Part:
        name, description = words_of(part)
        add(name, description, uses, parts=(part, *more), combines=combines, **changes)
        return part

    return register


def add(
    name: str,
    description: str,
    uses: Mapping[str, str],
    *,
    parts: tuple[type[Any], ...] = (),
    combines: bool = True,
    **changes: Any,
) -> None:
    """Register a variant that needs no class of its own. Raises as `client_variant` does."""
    if name in _variants or not description:
        raise ValueError(f"variant {name}: the name is taken, or a description is missing")
    client_stack_of(parts)
    _variants[name] = ClientVariant(
        name=name,
        uses=dict(uses),
        description=description,
        parts=parts,
        changes=changes,
        combines=combines,
    )


@functools.cache
def client_stack_of(parts: tuple[type[Any], ...]) -> type[Stack]:
    """The reference stack with several parts of its client replaced. Raises TypeError for what is
    no part of it."""
    bases = (Stack, ActiveConnection, Cache, SendSide, ReceiveSide)
    for part in parts:
        if not issubclass(part, bases):
            raise TypeError(f"{part.__name__} replaces no part of the reference client")
    stack, connection, cache, send, receive = (one_of(base, parts) for base in bases)
    connection = derived(connection, send_side_class=send, receive_side_class=receive)
    made: type[Stack] = derived(stack, active_class=connection, cache_class=cache)
    return made


def all_client_variants() -> tuple[ClientVariant, ...]:
    """Every variant of scapy_tfo/client_variants, by name. The rows that join them are in
    `rows`."""
    package = importlib.import_module("scapy_tfo.client_variants")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"scapy_tfo.client_variants.{module.name}")
    return tuple(_variants[name] for name in sorted(_variants))


def shared_variants() -> tuple[ClientVariant, ...]:
    """The variants of scapy_tfo/variants whose parts a client has, too, as clients of the same
    names. Those that use freedoms of a server only are clients like the reference."""
    return tuple(
        ClientVariant(
            name=each.name,
            uses=each.uses,
            description=each.description,
            parts=each.parts,
            changes=each.changes,
        )
        for each in all_variants()
        if all(issubclass(part, _SHARED) for part in each.parts)
    )


def _rows() -> tuple[Variant, ...]:
    """Found by name: the rows join what is registered here."""
    rows = importlib.import_module("scapy_tfo.client_variants.rows")
    found: tuple[Variant, ...] = rows.all_client_rows()
    return found


def client_named(name: str) -> AnyStack:
    """The client variant, row or mutant of that name, or `reference`. Raises SetupError where
    there is none."""
    found = (*all_client_variants(), *shared_variants(), *_rows())
    every = {each.name: each for each in found}
    if name in every:
        return every[name]
    known = [mutants.REFERENCE.name, *(each.name for each in mutants.all_client_mutants())]
    if name in known:
        return mutants.client_named(name)
    raise SetupError(
        f"no such client: '{name}'; there are reference, the mutants that 'scapy-tfo client "
        "--mutants' shows and the variants that 'scapy-tfo variants' lists"
        + did_you_mean(name, [*known, *every])
    )

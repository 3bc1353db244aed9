"""The registry of cases and stimuli: finds them in scapy_tfo/cases and scapy_tfo/stimuli."""

from __future__ import annotations

import fnmatch
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.spec import Catalogue, Level
from scapy_tfo.suite.context.factors import BY_NAME
from scapy_tfo.suite.needs import NEEDS
from scapy_tfo.suite.outcome import Absent, Ending, Failed, Missing, Unsupported
from scapy_tfo.suite.peer import Peer

Conversation = Callable[[Peer], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conversation and what it checks.

    id: first requirement, a dot, the function's name. title: first line of its docstring.
    slow: waits for timers of more than a few seconds. intrusive: fills queues or uses a second
    address. exclusive: runs alone, because it disturbs others. crowds_main: so it does where the
    target makes no listener to order, and it has to use the one of all others. fixed: factors
    of a context (suite.context.factors) that it sets or judges itself. judges: False for a
    conversation that only brings about what rules of TCP are about; its requirements are theirs.
    waits: seconds for which it waits for timers of the target, roughly; the longest begin first.
    """

    id: str
    title: str
    requirements: tuple[str, ...]
    run: Callable[[Any], Awaitable[None]]
    needs: frozenset[str] = frozenset()
    slow: bool = False
    intrusive: bool = False
    exclusive: bool = False
    crowds_main: bool = False
    fixed: frozenset[str] = frozenset()
    judges: bool = True
    waits: float = 0.0

    def level(self, catalogue: Catalogue) -> Level:
        """The strongest level among its requirements.

        Raises SetupError where the catalogue lacks one of them.
        """
        if not self.judges:
            return Level.DESIGN
        missing = [each for each in self.requirements if each not in catalogue]
        if missing:
            raise SetupError(
                f"the case {self.id} checks {', '.join(missing)}, which the requirements lack: "
                "restore specs/, or set SCAPY_TFO_SPECS to a complete directory"
            )
        return strongest(self.requirements, catalogue)

    def level_of(self, ending: Ending | None, catalogue: Catalogue) -> Level:
        """The level of what ended it: of the assertion that failed, if that names requirements."""
        if ending is not None and ending.requirements:
            return strongest(ending.requirements, catalogue)
        return self.level(catalogue)


def strongest(requirements: Sequence[str], catalogue: Catalogue) -> Level:
    """The strongest level among requirements."""
    order = list(Level)
    return min((catalogue[each].level for each in requirements), key=order.index)


_cases: dict[str, Case] = {}
_stimuli: dict[str, Case] = {}


def case(
    *requirements: str,
    needs: Sequence[str] = (),
    slow: bool = False,
    intrusive: bool = False,
    exclusive: bool = False,
    crowds_main: bool = False,
    fixed: Sequence[str] = (),
    waits: float = 0.0,
) -> Callable[[Conversation], Conversation]:
    """Register a conversation as a case for the requirements, the main one first.

    fixed: factors of a context that keep their usual values, because the case sets or judges what
    they vary. waits: as in Case. Raises ValueError for an unknown need or factor, a missing
    docstring, or an id that is taken.
    """
    flags = {
        "slow": slow,
        "intrusive": intrusive,
        "exclusive": exclusive,
        "crowds_main": crowds_main,
    }
    return _registering(_cases, requirements, needs, flags, fixed=fixed, waits=waits)


def stimulus(
    *rules: str,
    needs: Sequence[str] = (),
    slow: bool = False,
    exclusive: bool = False,
    waits: float = 0.0,
) -> Callable[[Conversation], Conversation]:
    """Register a conversation that brings about what rules of TCP are about, by their ids.

    It judges nothing itself, and leaves that to the rules. What a target does not take part in is
    Unsupported. Raises as `case` does.
    """

    def register(conversation: Conversation) -> Conversation:
        @functools.wraps(conversation)
        async def run(peer: Peer) -> None:
            try:
                await conversation(peer)
            except (Failed, Missing) as ending:
                # What did not come may have been lost: then it is worth another try.
                kind = Absent if isinstance(ending, Missing) else Unsupported
                reason = f"the situation did not come about: {ending.reason}"
                raise kind(reason, flow=ending.flow) from ending

        flags = {"slow": slow, "intrusive": False, "exclusive": exclusive}
        register_it = _registering(
            _stimuli, rules, needs, flags, fixed=tuple(BY_NAME), judges=False, waits=waits
        )
        register_it(run)
        return conversation

    return register


def _registering(
    known: dict[str, Case],
    requirements: tuple[str, ...],
    needs: Sequence[str],
    flags: Mapping[str, bool],
    *,
    fixed: Sequence[str] = (),
    judges: bool = True,
    waits: float = 0.0,
) -> Callable[[Conversation], Conversation]:
    def register(run: Conversation) -> Conversation:
        name = getattr(run, "__name__", "").replace("_", "-")
        title = (inspect.getdoc(run) or "").partition("\n\n")[0].replace("\n", " ")
        identity = f"{requirements[0]}.{name}"
        unknown = (set(needs) - NEEDS.keys()) | (set(fixed) - BY_NAME.keys())
        if unknown or not title or identity in known:
            raise ValueError(f"{identity}: unknown {unknown}, no docstring, or id taken")
        known[identity] = Case(
            id=identity,
            title=title,
            requirements=requirements,
            needs=frozenset(needs),
            slow=flags["slow"],
            intrusive=flags["intrusive"] or "two_addresses" in needs,
            exclusive=flags["exclusive"],
            crowds_main=flags.get("crowds_main", False),
            run=run,
            fixed=frozenset(fixed),
            judges=judges,
            waits=waits,
        )
        return run

    return register


def all_cases() -> tuple[Case, ...]:
    """Every case of scapy_tfo/cases, ordered by group and number of its first requirement."""
    return _all_of("scapy_tfo.cases", _cases)


def all_stimuli() -> tuple[Case, ...]:
    """Every conversation of scapy_tfo/stimuli, likewise."""
    return _all_of("scapy_tfo.stimuli", _stimuli)


def all_conversations() -> tuple[Case, ...]:
    """What a target is judged by: the cases, and the stimuli behind them."""
    return (*all_cases(), *all_stimuli())


def _all_of(package: str, known: dict[str, Case]) -> tuple[Case, ...]:
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        importlib.import_module(f"{package}.{module.name}")
    return in_order(known.values())


def in_order(cases: Iterable[Case]) -> tuple[Case, ...]:
    """By group and number of their first requirement."""
    return tuple(sorted(cases, key=_order))


def _order(each: Case) -> tuple[int, int, str]:
    groups = ["OPT", "SRV", "ACC", "LIM", "DUP", "AFT", "CLI", "PATH", "REL"]
    group, _, number = each.requirements[0].partition("-")
    digits = "".join(letter for letter in number if letter.isdigit())
    return (groups.index(group) if group in groups else len(groups), int(digits or 0), each.id)


def select(
    cases: Iterable[Case], only: Sequence[str] = (), exclude: Sequence[str] = ()
) -> tuple[Case, ...]:
    """The cases that match a requirement id, a group (`OPT`), a case id, or a pattern of one.

    Raises SetupError for an entry that matches nothing, and where nothing is left: a typo must
    not pass as "nothing failed".
    """
    every = tuple(cases)
    for entry in (*only, *exclude):
        if not any(_matches(each, entry) for each in every):
            raise SetupError(
                f"'{entry}' matches no case: give a case id, a requirement id such as ACC-2, "
                "a group such as OPT, or a pattern ('scapy-tfo list' prints the cases, "
                "'scapy-tfo client --list' those for clients)"
                + did_you_mean(entry, (name for each in every for name in _names(each)))
            )
    chosen = tuple(
        each
        for each in every
        if (not only or any(_matches(each, entry) for entry in only))
        and not any(_matches(each, entry) for entry in exclude)
    )
    if every and not chosen:
        raise SetupError("no case is left: everything that was chosen is excluded")
    return chosen


def _matches(each: Case, entry: str) -> bool:
    wanted = entry.casefold()
    return any(fnmatch.fnmatchcase(name.casefold(), wanted) for name in _names(each))


def _names(each: Case) -> list[str]:
    """By which a case can be chosen."""
    return [each.id, *each.requirements, *(r.partition("-")[0] for r in each.requirements)]

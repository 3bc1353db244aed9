"""The target under judgement: its link, its addresses and ports, and hooks into its inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from scapy_tfo.lab.hooks import VERBS, Hooks
from scapy_tfo.segment import Address
from scapy_tfo.suite.application import App
from scapy_tfo.suite.context import ends
from scapy_tfo.suite.context.context import Context
from scapy_tfo.suite.needs import NEEDS, VERBS_NEEDED
from scapy_tfo.wire.link import Link

LOOKS_ACCEPTED = (
    "data in a SYN is acknowledged without any option, too: a fast open over the limit looks like "
    "one within it"
)
"""Why the limit of a target that keeps SYN data cannot be found."""


@dataclass(frozen=True, slots=True)
class Service:
    """A listening port and the application behind it. md5: key with which it demands that all
    segments are signed (RFC 2385), b"" for none."""

    port: int
    app: App
    md5: bytes = b""


@dataclass(slots=True, kw_only=True)
class Target:
    """A stack under judgement.

    name: as the user gave it. addresses: by family, 4 or 6. main: the listener that cases use
    unless they ask for another. plain: one with fast open off. second: another with fast open.
    small: an echo with a limit of a few pending fast opens, which one case at a time can use.
    hooks: of targets of our own, and of stacks that offer them; verbs: those of lab.hooks.VERBS
    that they have, or "standing" where they only hand out listeners that are there. foreign: not
    our own, though it has hooks. direct: nothing on the way to it loses, repeats, reorders or
    changes packets. broken: why its hooks can be used no more, else "". gives_up_after: seconds for
    which it sends data again without an answer; RFC 9293 section
    3.8.3 wants 100 at least. loses_bulk: what its echo does wrong with much data on a plain
    connection, or "". keeps_syn_data: it acknowledges data in a SYN without any option, and keeps
    it until the handshake ends (RFC 9293 section 3.10.7.2). by_application: listeners like `main`
    with another application behind them. any_source: whatever address is sent from, its answers
    come back. met: the 4-tuples of all conversations with it, in all runs.
    """

    name: str
    link: Link
    addresses: dict[int, Address]
    main: Service
    plain: Service | None = None
    second: Service | None = None
    small: Service | None = None
    hooks: Hooks | None = None
    verbs: frozenset[str] = frozenset(VERBS)
    foreign: bool = False
    direct: bool = False
    whole: bool = True
    broken: Callable[[], str] = lambda: ""
    has_counters: bool = False
    gives_up_after: float = 100.0
    loses_bulk: str = ""
    keeps_syn_data: bool = False
    kept: list[object] = field(default_factory=list)
    by_application: dict[str, Service] = field(default_factory=dict)
    any_source: bool = False
    met: set[tuple[Address, int, Address, int]] = field(default_factory=set)

    def sources(self, family: int) -> list[Address]:
        """Addresses of that family that may be sent from, the preferred first."""
        return [each for each in self.link.sources if each.version == family]

    def has_sources(self, context: Context, family: int) -> bool:
        """Whether there are two addresses that are apart as a context says."""
        known = self.sources(family)
        return ends.sources(context, known, lambda _: self.any_source) is not None

    def sources_in(self, context: Context, family: int) -> list[Address]:
        """The same in a context; the usual ones where it has none that the link has."""
        known = self.sources(family)
        return ends.sources(context, known, lambda _: self.any_source) or known

    def main_in(self, context: Context) -> Service:
        """The main listener of a context."""
        return self.by_application.get(context["application"], self.main)

    @property
    def is_ours(self) -> bool:
        """A target of our own making, whose inside is known."""
        return self.hooks is not None and not self.foreign

    def offers(self, verb: str) -> bool:
        """Whether its hooks have a verb."""
        return self.hooks is not None and verb in self.verbs

    def meets(self, need: str, family: int) -> bool:
        """Whether a need of suite.needs.NEEDS is met."""
        verbs = VERBS_NEEDED.get(need)
        if verbs is not None:
            standing = need == "listeners" and self.offers("standing")
            return standing or all(self.offers(each) for each in verbs)
        return {
            "answer": self.main.app.answers,
            "echo": self.main.app.name == "echo",
            "bulk": self.main.app.name == "echo" and not self.loses_bulk,
            "two_addresses": len(self.sources(family)) > 1,
            "plain_port": self.plain is not None,
            "second_port": self.second is not None,
            "counters": self.has_counters or self.offers("counters"),
        }[need]

    def lacks(self, need: str, family: int) -> str:
        """How a user meets a need that this target does not, "" where it does."""
        if self.meets(need, family):
            return ""
        verbs = [each for each in VERBS_NEEDED.get(need, ()) if not self.offers(each)]
        if not verbs or self.hooks is None or "standing" in self.verbs:
            return NEEDS[need]
        lacking = " and ".join(f"'{each}'" for each in verbs)
        return f"{NEEDS[need].partition(':')[0]}: the hooks of {self.name} lack {lacking}"

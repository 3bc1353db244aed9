"""The door of the oracle: who drives it tells what was sent, what came and how long nothing did."""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo.oracle.arrives.segment import icmp, lie, sound
from scapy_tfo.oracle.obligations import Debt, asked, blame_debt, debt_of, overdue
from scapy_tfo.oracle.parts.application import Application, Echo
from scapy_tfo.oracle.parts.events import Icmp, Sent
from scapy_tfo.oracle.parts.pending import Room
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.oracle.parts.rules import Watched, new_watch, watched
from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.oracle.parts.watch import Watch
from scapy_tfo.oracle.replies.dispatch import came
from scapy_tfo.packet import Reply
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.program import Flow

_ECHO = Echo()


class Oracle:
    """Judges one target, without a socket or a clock: events go in with their times, in seconds,
    and violations come out. Only this changes what is known of a connection; anybody may read it.

    profile: what the target is known to do. jar: cookies that it granted, to which those that come
    are added. application: who listens at it. pending: the account of its listener "small". watch:
    counts how often each rule is in force; one of its own by default. connections: in the order in
    which they were opened.
    """

    def __init__(
        self,
        profile: Profile,
        jar: Jar,
        application: Application = _ECHO,
        *,
        pending: Room | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.connections: list[Connection] = []
        self.watch = new_watch() if watch is None else watch
        self._profile = profile
        self._jar = jar
        self._application = application
        self._pending = pending

    def open(self, flow: Flow, *, isn: int = 0) -> Connection:
        """A pair of ports on which nothing was sent yet. isn: our initial sequence number."""
        connection = Connection(
            flow,
            len(self.connections),
            self._jar,
            self._profile,
            self._pending if flow.port == "small" else None,
            watch=self.watch,
            application=self._application,
            isn=isn,
        )
        self.connections.append(connection)
        connection.around = self.connections
        return connection

    def begin_step(self, number: int) -> None:
        """What is sent from now on belongs to this step of a program."""
        for each in self.connections:
            each.evidence.begin_step(number)

    def sent(self, connection: Connection, sent: Sent) -> None:
        """We sent a segment."""
        if sent.lies is None:
            sound(connection, sent)
        else:
            lie(connection, sent, sent.lies)

    def icmp(self, connection: Connection, error: Icmp) -> None:
        """We sent an ICMP error about a segment of the target's."""
        icmp(connection, error)

    def came(
        self, connection: Connection, reply: Reply, now: float, packet: int = -1
    ) -> Sequence[Violation]:
        """A segment of the target's came, with the number `packet` in the trace; what it breaks.
        Its class is the last of `connection.evidence.heard`."""
        found = connection.evidence.violations
        before = len(found)
        came(connection, reply, now, packet)
        return found[before:] if len(found) > before else ()

    def waited(self, seconds: float, now: float) -> None:
        """Nothing was sent for so long; notes what should have come again by now."""
        for each in self.connections:
            each.waited(seconds, now)
            debt = overdue(each, now)
            if debt is not None:
                blame_debt(each, debt)

    def is_owing(self, connection: Connection) -> bool:
        """Whether the target owes something at once."""
        return asked(connection) is not None

    def owed(self, connection: Connection) -> Debt | None:
        """What the target owes at once, and what its silence would break."""
        return debt_of(connection)

    def unpaid(self, connection: Connection, debt: Debt) -> None:
        """What was owed has not come in time, which is a violation."""
        blame_debt(connection, debt)

    def settled(self) -> None:
        """All that was owed has come."""
        for each in self.connections:
            each.settled()

    def freeze(self) -> None:
        """From now on nothing special is done, by which a violation could be explained."""
        for each in self.connections:
            each.evidence.freeze()

    @property
    def watched(self) -> dict[str, Watched]:
        """How often each rule was considered, in force, and broken, by its id."""
        return watched(self.watch)

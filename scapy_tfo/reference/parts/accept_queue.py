"""Connections whose handshake is done, and which the application has not accepted yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Acceptable(Protocol):
    """What is used of a connection."""

    def wait_to_be_accepted(self) -> None: ...

    def accepted(self, now: float) -> None: ...


C = TypeVar("C", bound=Acceptable)
Later = Callable[[float, Callable[[], None]], object]
"""Calls something after so many seconds."""


class AcceptQueue(Generic[C]):
    """limit: connections that wait, at most; None for any number.

    waiting: the oldest first; None while the application accepts each at once.
    """

    def __init__(self) -> None:
        self.limit: int | None = None
        self.waiting: deque[C] | None = None

    @property
    def is_full(self) -> bool:
        """Whether as many wait as may."""
        return (
            self.limit is not None and self.waiting is not None and len(self.waiting) >= self.limit
        )

    def pause(self) -> None:
        """The application stops accepting."""
        self.waiting = self.waiting or deque()

    def add(self, connection: C) -> None:
        """One more waits, while the application does not accept: see `pause`."""
        assert self.waiting is not None
        connection.wait_to_be_accepted()
        self.waiting.append(connection)

    def accept_one(self, now: float) -> None:
        """While paused, accept the one that waits longest."""
        if self.waiting:
            self.waiting.popleft().accepted(now)

    def resume(self, now: float) -> None:
        """The application accepts again, all that wait first."""
        for each in self.take_all():
            each.accepted(now)

    def take_all(self) -> tuple[C, ...]:
        """All that wait; from now on none does."""
        waiting, self.waiting = tuple(self.waiting or ()), None
        return waiting


class AcceptsLate(AcceptQueue[C]):
    """Of an application that takes each connection a while after it is ready.

    wait: seconds. accept: takes the one that waits longest.
    """

    def __init__(
        self,
        wait: float,
        later: Later,
        accept: Callable[[], None],
    ) -> None:
        super().__init__()
        self._wait, self._later, self._accept = wait, later, accept
        self.pause()

    def add(self, connection: C) -> None:
        """See AcceptQueue."""
        super().add(connection)
        self._later(self._wait, self._accept)

"""Accounting of pending fast opens (RFC 7413 sections 4.2 and 5.1, paper 3.4.1 and 7.3)."""

from __future__ import annotations

from collections import OrderedDict, deque

from scapy_tfo.segment import Address


class Pending:
    """Fast opens in SYN-RCVD: PendingFastOpenRequests and its limit.

    limit: fast opens pending at one time; None for no limit. reset_timeout: for how many seconds
    one that was reset goes on counting; 0 to release it at once.

    The count is of what was opened and not yet given back, so it is never below zero however
    often a fast open is given back: callers hold a `Ticket` that works once.
    """

    def __init__(self, limit: int | None, *, reset_timeout: float) -> None:
        self.limit = limit
        self.reset_timeout = reset_timeout
        self._open: set[Ticket] = set()
        self._reset: deque[float] = deque()

    def count(self, now: float) -> int:
        """How many count against the limit."""
        while self._reset and self._reset[0] <= now:
            self._reset.popleft()
        return len(self._open) + len(self._reset)

    def admits(self, now: float) -> bool:
        """Whether one more may be opened."""
        return self.limit is None or self.count(now) < self.limit

    def add(self, ticket: Ticket) -> None:
        """Count a fast open."""
        self._open.add(ticket)

    def release(self, ticket: Ticket) -> None:
        """Give one back at once: acknowledged, timed out, or aborted from this side."""
        self._open.discard(ticket)

    def reset(self, ticket: Ticket, now: float) -> None:
        """Give one back that the peer reset: it counts until the timeout has passed."""
        if ticket in self._open:
            self._open.discard(ticket)
            self._reset.append(now + self.reset_timeout)


class ClientPending:
    """Pending fast opens of each client address, for the most recent addresses (paper 7.3).

    limit: for one address; None switches it off. size: addresses watched at most.
    """

    def __init__(self, limit: int | None, *, size: int, reset_timeout: float) -> None:
        self.limit = limit
        self.size = size
        self.reset_timeout = reset_timeout
        self._clients: OrderedDict[Address, Pending] = OrderedDict()

    def __len__(self) -> int:
        return len(self._clients)

    def count(self, client: Address, now: float) -> int:
        """How many of that address count against its limit."""
        pending = self._clients.get(client)
        return pending.count(now) if pending else 0

    def admits(self, client: Address, now: float) -> bool:
        """Whether that address may open one more."""
        pending = self._clients.get(client)
        return pending is None or pending.admits(now)

    def of(self, client: Address) -> Pending | None:
        """The account of that address, now the most recent; None where there is no limit."""
        if self.limit is None:
            return None
        pending = self._clients.get(client)
        if pending is None:
            pending = Pending(self.limit, reset_timeout=self.reset_timeout)
            self._clients[client] = pending
            while len(self._clients) > self.size:
                self._clients.popitem(last=False)
        self._clients.move_to_end(client)
        return pending


class Ticket:
    """One pending fast open, counted in several accounts; giving it back works once."""

    def __init__(self, accounts: tuple[Pending, ...]) -> None:
        self._accounts = accounts
        for account in accounts:
            account.add(self)

    def release(self) -> None:
        """Give it back at once."""
        for account in self._accounts:
            account.release(self)

    def reset(self, now: float) -> None:
        """Give it back as reset by the peer."""
        for account in self._accounts:
            account.reset(self, now)

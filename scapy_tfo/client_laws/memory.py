"""What a client may and must remember of one server, held against each of its SYNs."""

from __future__ import annotations

from dataclasses import dataclass, field

from scapy_tfo.clients.connection import Incoming
from scapy_tfo.suite.outcome import judging

DEFAULT_MSS = {4: 536, 6: 1220}
"""Bytes, where a server announced no MSS (RFC 9293 3.7.1)."""

_HARMS = 3
"""Connections after a negative answer that are to do without (RFC 7413 4.1.3.1: "for a while")."""


@dataclass(slots=True)
class Memory:
    """One address of ours, as the client knows it.

    cookie: granted last. old: those before it. mss: announced last, in bytes. is_new: it was never
    connected to. is_next: the cookie came in the connection before this one, so that even the
    smallest cache has it. is_last: no other address was connected to behind the last connection,
    so that even the smallest cache knows how that went. pauses: connections by port that are to be
    plain after a negative one. unanswered: ports at which a request for a cookie met none. harmed:
    ports with a negative answer, which may keep fast open away for longer.
    """

    version: int
    cookie: bytes = b""
    old: set[bytes] = field(default_factory=set)
    mss: int | None = None
    is_new: bool = True
    is_next: bool = False
    is_last: bool = False
    pauses: dict[int, int] = field(default_factory=dict)
    unanswered: set[int] = field(default_factory=set)
    harmed: set[int] = field(default_factory=set)

    def grant(self, cookie: bytes, port: int) -> None:
        """A SYN-ACK that the client took had this cookie."""
        self.old |= {self.cookie} - {b""}
        self.cookie, self.is_next = cookie, True
        self.unanswered.discard(port)

    def harm(self, port: int) -> None:
        """A fast open met a negative answer at this port."""
        self.pauses[port] = _HARMS
        self.harmed.add(port)

    def check(self, client: Incoming, port: int) -> None:
        """Hold the first SYN of a connection against all that. Raises Failed, or Unsupported for a
        client that asks for no cookie."""
        self._check_cookie(client)
        self._check_size(client)
        option = client.option
        if self.pauses.get(port):
            self.pauses[port] -= 1
            with judging("CLI-8a"):
                client.must_not_open_fast("after a negative answer")
        elif port in self.unanswered and not self.cookie:
            if self.is_last:
                with judging("CLI-12a"):
                    client.must_be_plain("at a server that answered no request")
        elif self.is_new:
            with judging("CLI-1"):
                client.must_ask()
        elif port in self.harmed:
            pass
        elif self.is_next or (option is not None and option.cookie):
            with judging("CLI-2"):
                client.must_use(self.cookie)
        self.is_next, self.is_new, self.is_last = False, False, True

    def _check_cookie(self, client: Incoming) -> None:
        """No cookie but the one that was granted last, or one before it, which CLI-7 forbids."""
        option = client.option
        known = option is not None and option.cookie in self.old
        with judging("CLI-7" if known else "CLI-1"):
            client.must_use_no_other(self.cookie, "a cookie that is not this server's last one")

    def _check_size(self, client: Incoming) -> None:
        # A client may remember no MSS, and then goes by the default.
        most = max(DEFAULT_MSS[self.version], self.mss or 0)
        size = len(client.first.payload)
        with judging("CLI-4"):
            client.require(
                size <= most,
                "the SYN has more data than the server's MSS allows",
                f"at most {most} bytes",
                f"{size} bytes",
            )

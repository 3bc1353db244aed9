"""Whether a SYN is a fast open: steps 1 to 3 of RFC 7413 section 4.2.2."""

from __future__ import annotations

from typing import Protocol

from scapy_tfo import option as opt
from scapy_tfo.cookie import Cookies, KeyMatch
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.core import Host
from scapy_tfo.reference.parts.pending import ClientPending, Pending, Ticket
from scapy_tfo.reference.settings import Settings
from scapy_tfo.segment import Segment
from scapy_tfo.values import value


@value(frozen=True, slots=True)
class Decision:
    """What becomes of a SYN. accept: it is a fast open. answer: the option for the SYN-ACK."""

    accept: bool = False
    answer: opt.RawOption | None = None


PLAIN = Decision()
"""A 3-way handshake, no data taken, no option in answer."""


class FastOpenHost(Host, Protocol):
    """What is used here of the host, besides."""

    cookies: Cookies
    host_pending: Pending
    client_pending: ClientPending


class FastOpenPort:
    """What a listener knows of fast open.

    pending: the account of pending fast opens; its limit is 0 where fast open is off. cookies:
    the listener's own, or None for the host's; replace it at will. settings: the listener's own,
    or the host's.
    """

    pending_class: type[Pending] = Pending
    stack: FastOpenHost

    def __init__(self, settings: Settings, fast_open: int, cookies: Cookies | None) -> None:
        self.settings = settings
        self.own_cookies = cookies
        self.pending = self.pending_class(fast_open, reset_timeout=settings.reset_timeout)

    @property
    def fast_open_enabled(self) -> bool:
        """FastOpenEnabled: off unless the application asked (RFC 7413 section 4.2)."""
        return self.pending.limit != 0

    @property
    def cookies(self) -> Cookies:
        return self.stack.cookies if self.own_cookies is None else self.own_cookies

    @cookies.setter
    def cookies(self, cookies: Cookies | None) -> None:
        self.own_cookies = cookies

    def read_fast_open(self, segment: Segment) -> FastOpen | None:
        """The Fast Open option that counts: the last valid one of a form that is understood."""
        valid = [
            each
            for each in segment.fast_open
            if isinstance(each, FastOpen) and each.form in self.settings.forms
        ]
        return valid[-1] if valid else None

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        """Steps 1 to 3 of section 4.2.2: enabled, below the limit, cookie valid."""
        cookieless = self.settings.cookieless
        if not self.fast_open_enabled:
            return PLAIN
        if option is None and not cookieless:
            return PLAIN
        if not self.below_limit(segment, now):
            self.stack.counters["TCPFastOpenListenOverflow"] += 1
            return PLAIN
        if cookieless:
            return self.accept(None)
        assert option is not None
        if option.is_request:
            self.stack.counters["TCPFastOpenCookieReqd"] += 1
            return Decision(answer=self.grant(segment, option))
        return self.decide_cookie(segment, option)

    def decide_cookie(self, segment: Segment, option: FastOpen) -> Decision:
        """Take the data if the cookie is good; a fresh cookie where it is not, or not for long."""
        match = self.check_cookie(segment, option)
        if match is KeyMatch.NONE:
            self.stack.counters["TCPFastOpenPassiveFail"] += 1
            return Decision(answer=self.grant(segment, option))
        if match is KeyMatch.BACKUP:
            self.stack.counters["TCPFastOpenPassiveAltKey"] += 1
        renew = match is KeyMatch.BACKUP or self.cookies.one_time
        return self.accept(self.grant(segment, option) if renew else None)

    def accept(self, answer: opt.RawOption | None) -> Decision:
        """A fast open."""
        self.stack.counters["TCPFastOpenPassive"] += 1
        return Decision(accept=True, answer=answer)

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        """IsCookieValid (section 4.1.2)."""
        return self.cookies.check(option.cookie, segment.src, segment.dst)

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        """GetCookie, in the form that the client used (section 4.1.2)."""
        cookie = self.cookies.cookie_for(segment.src, segment.dst)
        return opt.fast_open(cookie, form=option.form)

    def below_limit(self, segment: Segment, now: float) -> bool:
        """Whether the limits of listener, host and client leave room for one more."""
        return (
            self.pending.admits(now)
            and self.stack.host_pending.admits(now)
            and self.stack.client_pending.admits(segment.src, now)
        )

    def open_ticket(self, segment: Segment, now: float) -> Ticket:
        """Count a fast open in every account that it belongs to."""
        accounts = [self.pending, self.stack.host_pending]
        client = self.stack.client_pending.of(segment.src)
        if client is not None:
            accounts.append(client)
        return Ticket(tuple(accounts))

"""Clients that lose, mix up or spoil the cookies they were granted (RFC 7413 4.1.3)."""

from __future__ import annotations

from typing import Any

from scapy_tfo import option as opt
from scapy_tfo.mutants.registry import client_mutant
from scapy_tfo.option import FastOpen, Form
from scapy_tfo.reference.cache import Cache, Entry
from scapy_tfo.reference.client import ActiveConnection, Plan
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Address, Segment


class _Reading(ActiveConnection):
    """It makes something else of the cookie that came."""

    def read_cookie(self, segment: Segment) -> FastOpen | None:
        found = super().read_cookie(segment)
        return None if found is None else self.read_as(found)

    def read_as(self, found: FastOpen) -> FastOpen | None:
        raise NotImplementedError


@client_mutant("CLI-2")
class CookieIsNotKept(ActiveConnection):
    """A cookie that comes is not kept, and the next connection asks anew."""

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        super().learn(segment, accepted, now)
        self.stack.cache.look_up(self.local[0], self.remote[0]).cookie = b""


@client_mutant("CLI-2")
class CookieServesOnce(ActiveConnection):
    """A cookie is forgotten once it was used."""

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        if self.syn_data:
            self.stack.cache.look_up(self.local[0], self.remote[0]).cookie = b""
        super().learn(segment, accepted, now)


@client_mutant("CLI-2")
class CookieWithoutData(ActiveConnection):
    """The cookie goes back with no data beside it, though there is some to send."""

    def plan(self, now: float) -> Plan:
        return Plan(super().plan(now).option)


@client_mutant("CLI-2")
class LongCookieIsCut(_Reading):
    """Of a cookie longer than eight bytes the first eight are kept."""

    def read_as(self, found: FastOpen) -> FastOpen | None:
        return FastOpen(found.form, found.cookie[:8])


@client_mutant("CLI-2")
class ShortCookieIsPadded(_Reading):
    """A cookie shorter than eight bytes is filled up with zeros."""

    def read_as(self, found: FastOpen) -> FastOpen | None:
        return FastOpen(found.form, found.cookie.ljust(8, b"\0"))


@client_mutant("CLI-2")
class OnlyEightBytesAreACookie(_Reading):
    """Cookies of other lengths than eight bytes are not kept."""

    def read_as(self, found: FastOpen) -> FastOpen | None:
        return found if len(found.cookie) == 8 else None


@client_mutant("CLI-2")
class LongestCookieIsRefused(_Reading):
    """A cookie of 16 bytes is taken for too long."""

    def read_as(self, found: FastOpen) -> FastOpen | None:
        return found if len(found.cookie) < opt.MAX_COOKIE else None


@client_mutant("CLI-2")
class ShortestCookieIsRefused(_Reading):
    """A cookie of four bytes is taken for too short."""

    def read_as(self, found: FastOpen) -> FastOpen | None:
        return found if len(found.cookie) > opt.MIN_COOKIE else None


@client_mutant("CLI-2")
class CookieEndsAtZeroByte(_Reading):
    """A cookie is kept up to its first zero byte, and filled up with zeros."""

    def read_as(self, found: FastOpen) -> FastOpen | None:
        cookie = found.cookie.partition(b"\0")[0].ljust(len(found.cookie), b"\0")
        return FastOpen(found.form, cookie)


@client_mutant("CLI-2")
class CookieOfZerosIsNone(_Reading):
    """A cookie that is all zeros counts as none."""

    def read_as(self, found: FastOpen) -> FastOpen | None:
        return found if any(found.cookie) else None


@client_mutant("CLI-2", settings=Settings(client_form=Form.EXPERIMENT_2))
class ExperimentalCookieComesBackInKind34(ActiveConnection):
    """It asks in the experimental form, and sends the cookie back in the other."""

    def form_of_cookie(self) -> Form:
        return Form.IANA


@client_mutant("CLI-2")
class OptionMustComeLast(ActiveConnection):
    """A cookie is found only where it is the last option of the SYN-ACK."""

    def read_cookie(self, segment: Segment) -> FastOpen | None:
        real = [each for each in opt.pull_options(segment.options) if each.kind > opt.NOP]
        last = opt.judge(real[-1]) if real else None
        return super().read_cookie(segment) if isinstance(last, FastOpen) else None


@client_mutant("CLI-2", bug="LXC-19")
class CookieIsMissedAtTimes(ActiveConnection):
    """The cookie is missed where the connection's own port is odd."""

    def __init__(
        self,
        stack: Stack,
        local: tuple[Address, int],
        remote: tuple[Address, int],
        *,
        fast_open: bool,
    ) -> None:
        super().__init__(stack, local, remote, fast_open=fast_open)
        if local[1] % 2:
            self.cached = Entry(mss=self.cached.mss, rtt=self.cached.rtt)


@client_mutant("CLI-3")
class CookieOfOnePort(ActiveConnection):
    """A cookie is known for that port of the server only from which it came."""

    def __init__(
        self,
        stack: Stack,
        local: tuple[Address, int],
        remote: tuple[Address, int],
        *,
        fast_open: bool,
    ) -> None:
        super().__init__(stack, local, remote, fast_open=fast_open)
        self.cached = stack.cache.look_up(local[0] + remote[1], remote[0])

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        super().learn(segment, accepted, now)
        known = self.stack.cache.look_up(self.local[0], self.remote[0])
        self.stack.cache.learn(
            self.local[0] + self.remote[1],
            self.remote[0],
            cookie=known.cookie,
            form=known.form,
            mss=known.mss,
            rtt=known.rtt,
        )


@client_mutant("CLI-3")
class OneCookieForAllServers(Cache):
    """One cookie is kept, and used for every server."""

    def look_up(self, client: Address, server: Address) -> Entry:
        return super().look_up(client, client)

    def learn(self, client: Address, server: Address, **news: Any) -> None:
        super().learn(client, client, **news)

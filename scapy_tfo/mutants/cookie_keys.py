"""Servers that mistake one key for another (RFC 7413 section 4.1.2, expiry and rotation)."""

from __future__ import annotations

from typing import Any, ClassVar, cast
from weakref import WeakKeyDictionary

from scapy_tfo import option as opt
from scapy_tfo.cookie import AesCookie, Cookies, KeyMatch, KeyRing, SipHashCookie
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.parts.pending import Ticket
from scapy_tfo.reference.server import Listener, PassiveConnection, ServerHost
from scapy_tfo.reference.states import State
from scapy_tfo.segment import Address, Segment


@mutant("SRV-4", also=("SRV-4a", "ACC-3", "ACC-4"))
class OldCookiesStayGood(Listener):
    """A cookie once granted is good for ever, whatever key the server has by now."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.granted: set[tuple[Address, bytes]] = set()

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        self.granted.add((segment.src, self.cookies.cookie_for(segment.src, segment.dst)))
        return super().grant(segment, option)

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        if (segment.src, option.cookie) in self.granted:
            return KeyMatch.PRIMARY
        return super().check_cookie(segment, option)


@mutant("SRV-4", also=("SRV-4a",))
class NewKeyIsNotUsed(Listener):
    """The key that the listener began with is never replaced."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.first = self.own_cookies

    @property
    def cookies(self) -> Cookies:
        return self.stack.cookies if self.first is None else self.first

    @cookies.setter
    def cookies(self, cookies: Cookies | None) -> None:
        self.first = self.first or cookies


@mutant("SRV-4", also=("SRV-1", "SRV-5"))
class GrantsWithTheOldKey(Listener):
    """After a change of key the old one goes on making cookies, which are refused."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.first = self.own_cookies

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        ring = self.first or self.cookies
        return opt.fast_open(ring.cookie_for(segment.src, segment.dst), form=option.form)


def _made_with(ring: Cookies, which: int, segment: Segment) -> bytes:
    """The cookie under the key of that place in the ring."""
    keys = cast(KeyRing, ring).keys
    return KeyRing([keys[which]]).cookie_for(segment.src, segment.dst)


@mutant("SRV-4a", also=("SRV-7",))
class BackupKeyIsNotTried(Listener):
    """Only cookies of the primary key are good."""

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        match = super().check_cookie(segment, option)
        return match if match is KeyMatch.PRIMARY else KeyMatch.NONE


@mutant("SRV-4a", also=("SRV-1", "SRV-7"))
class OnlyTheBackupKeyIsTried(Listener):
    """While there is a backup key, cookies of the primary one are refused."""

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        right = option.cookie == _made_with(self.cookies, -1, segment)
        return KeyMatch.BACKUP if right else KeyMatch.NONE


@mutant("SRV-4a")
class GrantsWithTheBackupKey(Listener):
    """Cookies are made with the oldest key, which is the next to go."""

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        return opt.fast_open(_made_with(self.cookies, -1, segment), form=option.form)


@mutant("SRV-7", also=("SRV-3", "SRV-6"))
class SaltsItsKeys(Listener):
    """Each listener mixes a random number of its own into the key that it is given."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.salt = self.stack.random.randbytes(16)

    def ring(self) -> KeyRing:
        ring = cast(KeyRing, self.cookies)
        salted = (bytes(a ^ b for a, b in zip(key, self.salt, strict=True)) for key in ring.keys)
        return KeyRing(salted, ring.scheme)

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        cookie = self.ring().cookie_for(segment.src, segment.dst)
        return opt.fast_open(cookie, form=option.form)

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        return self.ring().check(option.cookie, segment.src, segment.dst)


@mutant("SRV-7", also=("SRV-3",), bug="LXS-25")
class FarmOfTwoSchemes(Listener):
    """Every other listener makes its cookies by another scheme of the same key."""

    @property
    def cookies(self) -> Cookies:
        ring = cast(KeyRing, super().cookies)
        return KeyRing(ring.keys, SipHashCookie() if self.port % 2 else AesCookie())

    @cookies.setter
    def cookies(self, cookies: Cookies | None) -> None:
        self.own_cookies = cookies


@mutant("SRV-7", also=("SRV-3",))
class CookiesOfLaterListenersAreRefused(Listener):
    """A cookie is refused by listeners older than the youngest that granted it."""

    granted: ClassVar[WeakKeyDictionary[ServerHost, dict[bytes, int]]] = WeakKeyDictionary()

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        cookie = self.cookies.cookie_for(segment.src, segment.dst)
        ports = self.granted.setdefault(self.stack, {})
        ports[cookie] = max(self.port, ports.get(cookie, 0))
        return super().grant(segment, option)

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        if self.granted.get(self.stack, {}).get(option.cookie, self.port) > self.port:
            return KeyMatch.NONE
        return super().check_cookie(segment, option)


@mutant("SRV-2", also=("ACC-3", "ACC-4"))
class KeysOfEarlierListenersAreGood(Listener):
    """A listener takes the cookies of every older one, too, though their keys differ."""

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        older = [each for port, each in self.stack.listeners.items() if port < self.port]
        found = super().check_cookie(segment, option)
        for each in older:
            if found is KeyMatch.NONE:
                found = each.cookies.check(option.cookie, segment.src, segment.dst)
        return found


@mutant("SRV-7", also=("SRV-4a",))
class KeysThatSwapLoseTheOlder(Listener):
    """When primary and backup key change places, the new backup is not kept."""

    @property
    def cookies(self) -> Cookies:
        return super().cookies

    @cookies.setter
    def cookies(self, cookies: Cookies | None) -> None:
        before = self.own_cookies
        swapped = (
            isinstance(before, KeyRing)
            and isinstance(cookies, KeyRing)
            and list(cookies.keys) == list(before.keys)[::-1]
        )
        self.own_cookies = KeyRing(cast(KeyRing, cookies).keys[:1]) if swapped else cookies


@mutant("SRV-4")
class AckProvesTheCookieAgain(PassiveConnection):
    """The cookie is checked again at the ACK: if its key has gone by then, RST is the answer."""

    shown: FastOpen | None = None

    def open_fast(self, syn: Segment, ticket: Ticket, now: float) -> None:
        self.shown = self.listener.read_fast_open(syn)
        super().open_fast(syn, ticket, now)

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if (
            self.state is State.SYN_RCVD
            and self.completes_handshake(segment.ack)
            and self.has_expired()
        ):
            self.refuse_ack(segment.ack)
            self.fail("ECONNRESET", now)
            return False
        return super().ack_arrives(segment, start, now)

    def has_expired(self) -> bool:
        cookies = self.listener.cookies
        if self.shown is None or self.shown.is_request or cookies.one_time:
            return False
        client, server = self.remote[0], self.local[0]
        return cookies.check(self.shown.cookie, client, server) is KeyMatch.NONE

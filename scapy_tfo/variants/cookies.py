"""What cookies a server gives, and how it counts fast opens (RFC 7413 sections 4.1.2 and 5)."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from scapy_tfo import option as opt
from scapy_tfo.cookie import (
    AesCookie,
    Cookies,
    KeyMatch,
    KeyRing,
    OneTimeCookies,
    SipHashCookie,
)
from scapy_tfo.option import FastOpen, Form
from scapy_tfo.reference.parts.pending import Pending
from scapy_tfo.reference.server import Decision, Listener
from scapy_tfo.segment import Segment
from scapy_tfo.variants.registry import add, variant


class Rings(Listener):
    """A listener that makes cookies from the keys in another way."""

    now = 0.0

    def cookies_of(self, ring: KeyRing) -> Cookies:
        """What is made of the ring of keys."""
        raise NotImplementedError

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        self.now = now
        return super().decide(segment, option, now)

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        return self._made().check(option.cookie, segment.src, segment.dst)

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        cookie = self._made().cookie_for(segment.src, segment.dst)
        return opt.fast_open(cookie, form=option.form)

    def _made(self) -> Cookies:
        ring = self.cookies
        return self.cookies_of(ring) if isinstance(ring, KeyRing) else ring


class Sized(Rings):
    """Cookies of another length."""

    size = 8

    def cookies_of(self, ring: KeyRing) -> Cookies:
        return KeyRing(ring.keys, AesCookie(self.size))


@variant({"cookie-length": "4"})
class CookiesOfFour(Sized):
    """Cookies have 4 bytes."""

    size = 4


@variant({"cookie-length": "6"})
class CookiesOfSix(Sized):
    """Cookies have 6 bytes."""

    size = 6


@variant({"cookie-length": "14"})
class CookiesOfFourteen(Sized):
    """Cookies have 14 bytes."""

    size = 14


@variant({"cookie-length": "16"})
class CookiesOfSixteen(Sized):
    """Cookies have 16 bytes."""

    size = 16


@variant({"cookie-address": "the server's address too"})
class CookiesOfBothAddresses(Rings):
    """A cookie covers the server's address, too."""

    def cookies_of(self, ring: KeyRing) -> Cookies:
        return KeyRing(ring.keys, SipHashCookie())


class Expiring(Rings):
    """Cookies that are good for one to two periods. period: in seconds."""

    period = 0.0

    def cookies_of(self, ring: KeyRing) -> Cookies:
        epoch = int(self.now // self.period)
        keys = [
            hashlib.blake2b(key, digest_size=16, salt=each.to_bytes(8, "big")).digest()
            for each in (epoch, max(epoch - 1, 0))
            for key in ring.keys
        ]
        return KeyRing(keys)


@variant({"cookie-lifetime": "a minute"})
class CookiesForAMinute(Expiring):
    """A cookie is good for half a minute to a minute."""

    period = 30.0


@variant({"cookie-lifetime": "five minutes"})
class CookiesForFiveMinutes(Expiring):
    """A cookie is good for two and a half to five minutes."""

    period = 150.0


@variant({"cookie-lifetime": "one fast open"}, combines=False)
class CookiesForOneUse(Rings):
    """A cookie is good for one fast open, whose SYN-ACK brings the next (paper 7.1)."""

    # By the keys that listeners of one host share.
    made: ClassVar[WeakKeyDictionary[KeyRing, OneTimeCookies]] = WeakKeyDictionary()

    def cookies_of(self, ring: KeyRing) -> Cookies:
        known = self.made.get(ring)
        if known is None or known.keys != ring.keys:
            known = self.made[ring] = OneTimeCookies(ring.keys)
        return known

    def decide_cookie(self, segment: Segment, option: FastOpen) -> Decision:
        made = super().decide_cookie(segment, option)
        return Decision(made.accept, made.answer or self.grant(segment, option))


@variant({"cookie-keys": "never"})
class ForgetsOldKeys(Rings):
    """Cookies of an old key are refused as soon as there is a new one."""

    def cookies_of(self, ring: KeyRing) -> Cookies:
        return KeyRing(ring.keys[:1])


class _Varied:
    """Cookies of four random bytes and a code over them and the client's address."""

    one_time: ClassVar[bool] = False

    def __init__(self, ring: KeyRing, nonce: bytes) -> None:
        self.keys = ring.keys
        self.nonce = nonce

    def cookie_for(self, client: Any, server: Any) -> bytes:
        return self._with(self.keys[0], self.nonce, client)

    def check(self, cookie: bytes, client: Any, server: Any) -> KeyMatch:
        for key in self.keys:
            if hmac.compare_digest(self._with(key, cookie[:4], client), cookie):
                return KeyMatch.PRIMARY if key is self.keys[0] else KeyMatch.BACKUP
        return KeyMatch.NONE

    def _with(self, key: bytes, nonce: bytes, client: Any) -> bytes:
        code = hashlib.blake2b(nonce + client.packed, key=key, digest_size=4).digest()
        return nonce + code


@variant({"cookie-sameness": "another each time"})
class AnotherCookieEachTime(Rings):
    """Each grant is another cookie, and all of them are good."""

    def cookies_of(self, ring: KeyRing) -> Cookies:
        return _Varied(ring, self.stack.random.randbytes(4))


@variant({"cookie-for-invalid": "none"})
class NoCookieForABadOne(Listener):
    """An invalid cookie is answered without a cookie."""

    def decide_cookie(self, segment: Segment, option: FastOpen) -> Decision:
        made = super().decide_cookie(segment, option)
        return made if made.accept else Decision()


@variant({"cookie-for-valid": "a fresh cookie"})
class CookieWithEachFastOpen(Listener):
    """The SYN-ACK of each fast open carries the cookie again."""

    def decide_cookie(self, segment: Segment, option: FastOpen) -> Decision:
        made = super().decide_cookie(segment, option)
        return Decision(made.accept, made.answer or self.grant(segment, option))


@variant({"cookie-over-limit": "a cookie"})
class GrantsOverTheLimit(Listener):
    """A request is granted though the limit of pending fast opens is reached."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        asks = option is not None and option.is_request and self.fast_open_enabled
        if asks and option is not None and not self.below_limit(segment, now):
            return Decision(answer=self.grant(segment, option))
        return super().decide(segment, option, now)


@variant({"cookie-grants": "one a second"}, combines=False)
class GrantsOneASecond(Listener):
    """One request a second is granted, the others get a plain handshake."""

    granted_at = -1.0

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        made = super().decide(segment, option, now)
        if made.answer is None or made.accept:
            return made
        if now < self.granted_at + 1:
            return Decision()
        self.granted_at = now
        return made


@variant({"cookie-need": "an empty one will do"}, combines=False)
class EmptyCookiesWillDo(Listener):
    """No cookies are made, and SYN data is taken with an empty one (RFC 7413 section 7.3)."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        enabled = self.fast_open_enabled and option is not None and option.is_request
        if enabled and segment.payload and self.below_limit(segment, now):
            return self.accept(None)
        return Decision()


@variant({"limit-reached": "refused above it"})
class OneMoreThanTheLimit(Pending):
    """A limit of N lets N + 1 fast opens pend: over the limit is more than the limit."""

    def admits(self, now: float) -> bool:
        return not self.limit or self.count(now) <= self.limit


@variant({"pending-limit": "never more than 16"})
class AtMostSixteenPending(Pending):
    """At most 16 fast opens pend at a listener, whatever the application asked for."""

    def admits(self, now: float) -> bool:
        return super().admits(now) and self.count(now) < 16


add(
    "kind-34-alone",
    "The experimental option is not understood.",
    {"cookie-form": "34 alone"},
    forms=frozenset({Form.IANA}),
)
add(
    "no-cookies-needed",
    "SYN data is taken without any option (RFC 7413 section 7.3).",
    {"cookie-need": "none"},
    combines=False,
    cookieless=True,
)
add(
    "one-limit-for-the-host",
    "At most 64 fast opens pend at all listeners together.",
    {"pending-limit-of-host": "one for the host"},
    host_pending_limit=64,
)
add(
    "sixteen-for-each-client",
    "At most 16 fast opens of one address pend; eight addresses are watched.",
    {"pending-limit-of-client": "16 for one address"},
    client_pending_limit=16,
    client_pending_size=8,
)
add(
    "resets-count-for-five-seconds",
    "A fast open that was reset counts for five seconds.",
    {"reset-accounting": "5 s"},
    reset_timeout=5.0,
)
add(
    "resets-count-for-three-minutes",
    "A fast open that was reset counts for three minutes.",
    {"reset-accounting": "180 s"},
    reset_timeout=180.0,
)

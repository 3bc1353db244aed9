"""Servers whose cookies are made of the wrong things (RFC 7413 section 4.1.2)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from ipaddress import IPv6Address
from typing import Any, cast

from scapy_tfo import option as opt
from scapy_tfo.cookie import KeyMatch, KeyRing, OneTimeCookies
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.server import Listener
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Address, Segment

Secret = Callable[[Address, Address], bytes]
"""A cookie that only the server can make, of client and server address."""


class _OwnCookie(Listener):
    """A listener that puts its cookies together itself, and takes exactly what it makes."""

    def make(self, secret: Secret, segment: Segment) -> bytes:
        raise NotImplementedError

    def secrets(self) -> list[Secret]:
        """One for each key, the primary's first."""
        ring = cast(KeyRing, self.cookies)
        return [partial(ring.scheme.make, key) for key in ring.keys]

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        return opt.fast_open(self.make(self.secrets()[0], segment), form=option.form)

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        match = KeyMatch.PRIMARY
        for secret in self.secrets():
            if option.cookie == self.make(secret, segment):
                return match
            match = KeyMatch.BACKUP
        return KeyMatch.NONE


def _xored(cookie: bytes, number: int) -> bytes:
    return bytes(byte ^ number >> 8 * (at % 2) & 0xFF for at, byte in enumerate(cookie))


@mutant("SRV-2", also=("SRV-1", "SRV-4", "SRV-4a"))
class GrantsConstantCookie(_OwnCookie):
    """Every client gets, and may use, the same cookie."""

    def make(self, secret: Secret, segment: Segment) -> bytes:
        return b"\x5a" * 8


@mutant("SRV-2", also=("SRV-4", "SRV-4a"))
class CookieIsTheAddress(_OwnCookie):
    """The cookie is the client's address in the clear."""

    def make(self, secret: Secret, segment: Segment) -> bytes:
        return segment.src.packed.ljust(8, b"\0")[-8:]


@mutant("SRV-2")
class CookieIsAddressXorKey(_OwnCookie):
    """The cookie is the client's address xored with a key, so one tells every other."""

    def make(self, secret: Secret, segment: Segment) -> bytes:
        pad = secret(segment.dst, segment.dst)
        address = segment.src.packed.ljust(8, b"\0")[-8:]
        return bytes(a ^ b for a, b in zip(pad, address, strict=True))


@mutant("SRV-2")
class HalfTheCookieIsTheAddress(_OwnCookie):
    """Only half of the cookie is secret, and that half is the same for every client."""

    def make(self, secret: Secret, segment: Segment) -> bytes:
        return secret(segment.dst, segment.dst)[:4] + segment.src.packed[-4:]


@mutant("SRV-1", also=("SRV-2",))
class CookieLeavesTheClientOut(_OwnCookie):
    """The cookie depends on the server's address alone."""

    def make(self, secret: Secret, segment: Segment) -> bytes:
        return secret(segment.dst, segment.dst)


@mutant("SRV-1", also=("SRV-2",))
class CookieForTheNeighbourhood(_OwnCookie):
    """The cookie leaves out the last byte of the client's address, so neighbours share one."""

    def make(self, secret: Secret, segment: Segment) -> bytes:
        blurred = type(segment.src)(segment.src.packed[:-1] + b"\0")
        return secret(blurred, segment.dst)


@mutant("SRV-1", also=("SRV-2",))
class CookieForHalfTheAddress(_OwnCookie):
    """The cookie covers the first eight bytes of the client's address, enough for IPv4 only."""

    def make(self, secret: Secret, segment: Segment) -> bytes:
        if isinstance(segment.src, IPv6Address):
            return secret(IPv6Address(segment.src.packed[:8].ljust(16, b"\0")), segment.dst)
        return secret(segment.src, segment.dst)


@mutant("SRV-3", also=("SRV-1",))
class CookieBoundToTheSourcePort(_OwnCookie):
    """The cookie covers the client's port, so it never fits the next connection."""

    def make(self, secret: Secret, segment: Segment) -> bytes:
        return _xored(secret(segment.src, segment.dst), segment.sport)


@mutant("SRV-3", also=("SRV-7",))
class CookieBoundToTheService(_OwnCookie):
    """The cookie covers the server's port, so it is no good at the host's other listeners."""

    def make(self, secret: Secret, segment: Segment) -> bytes:
        return _xored(secret(segment.src, segment.dst), segment.dport)


@mutant("SRV-1")
class CookieBoundToTheIsn(_OwnCookie):
    """The cookie covers the initial sequence number, as a SYN cookie does."""

    def make(self, secret: Secret, segment: Segment) -> bytes:
        return _xored(secret(segment.src, segment.dst), segment.seq >> 16)


@mutant("SRV-1", also=("SRV-5",))
class GrantsRandomBytes(Listener):
    """What is granted has nothing to do with what is checked."""

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        return opt.fast_open(self.stack.random.randbytes(8), form=option.form)


@mutant("SRV-1", also=("SRV-3", "SRV-4"))
class RemembersTheLastClientOnly(_OwnCookie):
    """The server keeps one random cookie, the one that it granted last."""

    latest = b""

    def make(self, secret: Secret, segment: Segment) -> bytes:
        return self.latest

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        self.latest = self.stack.random.randbytes(8)
        return super().grant(segment, option)


@mutant("SRV-11", also=("SRV-3", "SRV-4"))
class NewCookieEndsTheOneBefore(_OwnCookie):
    """Each cookie granted to a client ends those that it had."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.granted: dict[Address, bytes] = {}

    def make(self, secret: Secret, segment: Segment) -> bytes:
        return self.granted.get(segment.src, b"")

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        self.granted[segment.src] = self.stack.random.randbytes(8)
        return super().grant(segment, option)


@mutant("SRV-6", bug="LXS-24")
class KeyInTheOtherByteOrder(_OwnCookie):
    """The words of the key are taken in the other byte order, as on the wrong kind of machine."""

    def secrets(self) -> list[Secret]:
        ring = cast(KeyRing, self.cookies)
        keys = (struct.pack(">4I", *struct.unpack("<4I", key)) for key in ring.keys)
        return [partial(ring.scheme.make, key) for key in keys]

    def make(self, secret: Secret, segment: Segment) -> bytes:
        return secret(segment.src, segment.dst)


@mutant("DUP-5")
class CookieForOneUse(Stack):
    """A cookie is good once, and never again."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.cookies = OneTimeCookies([self.random.randbytes(16)])


@mutant("SRV-1")
class CookieCoversTheTrafficClass(Listener):
    """The cookie is made of a routing key, whose TOS byte it covers beside the addresses."""

    @staticmethod
    def of_class(cookie: bytes, traffic_class: int) -> bytes:
        return cookie[:-1] + bytes([cookie[-1] ^ traffic_class])

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        cookie = self.cookies.cookie_for(segment.src, segment.dst)
        return opt.fast_open(self.of_class(cookie, segment.traffic_class), form=option.form)

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        cookie = self.of_class(option.cookie, segment.traffic_class)
        return self.cookies.check(cookie, segment.src, segment.dst)

"""Makes and checks Fast Open cookies, and holds the keys for them.

A scheme turns a key and the two addresses into a cookie. A `KeyRing` holds one primary key and
any number of backups for a scheme; `OneTimeCookies` makes cookies that are good for one fast open
only. A server accepts either, as `Cookies`. Ports never enter a cookie (RFC 7413 section 4.1.2).
"""

from __future__ import annotations

import enum
import functools
import hashlib
import hmac
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import ClassVar, Protocol

from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from siphashc import siphash

from scapy_tfo.option import MAX_COOKIE, MIN_COOKIE
from scapy_tfo.segment import Address

KEY_SIZE = 16
"""Bytes in a key: that of AES-128, of SipHash, and of Linux's sysctl and socket option alike."""

_SYSCTL_KEY = re.compile(r"[0-9a-fA-F]{1,8}(-[0-9a-fA-F]{1,8}){3}")


class CookieScheme(Protocol):
    """How a cookie is made: the same cookie for the same key and addresses, always."""

    def make(self, key: bytes, client: Address, server: Address) -> bytes:
        """The cookie under a key of 16 bytes; raises ValueError for a key of another size."""
        ...


@dataclass(frozen=True, slots=True)
class AesCookie:
    """The paper's scheme: AES-128 over the client's address, cut (paper 5.1, RFC 7413 4.1.2).

    An IPv4 address is padded with zeros behind it to the 16 bytes of a block; an IPv6 address
    fills it. The server's address does not enter. size: bytes of cookie, even, 4 to 16.
    """

    size: int = 8

    def __post_init__(self) -> None:
        if self.size % 2 or not MIN_COOKIE <= self.size <= MAX_COOKIE:
            raise ValueError(f"a cookie of {self.size} bytes; even sizes of 4 to 16 are allowed")

    def make(
        self,
        key: bytes,
        client: Address,
        server: Address,  # noqa: ARG002 - the paper's scheme covers the client alone
    ) -> bytes:
        return _encrypt_block(key, client.packed.ljust(KEY_SIZE, b"\0"))[: self.size]


@dataclass(frozen=True, slots=True)
class SipHashCookie:
    """Linux's scheme since 5.3: SipHash-2-4 over client and server address, 8 bytes.

    The number that SipHash gives goes onto the wire with its lowest byte first.
    """

    def make(self, key: bytes, client: Address, server: Address) -> bytes:
        return siphash(key, client.packed + server.packed).to_bytes(8, "little")


class KeyMatch(enum.Enum):
    """Which key made a cookie: none that is known, the primary, or a backup.

    BACKUP: the cookie is valid, but will not be for long; the client should get a fresh one.
    """

    NONE = "none"
    PRIMARY = "primary"
    BACKUP = "backup"

    @property
    def is_valid(self) -> bool:
        return self is not KeyMatch.NONE


class Cookies(Protocol):
    """What a server needs of its cookies (RFC 7413 section 4.1.2).

    one_time: a cookie is good once, so every accepted one should be answered with the next.
    """

    one_time: ClassVar[bool]

    def cookie_for(self, client: Address, server: Address) -> bytes:
        """GetCookie: a cookie for that client, made with the primary key."""
        ...

    def check(self, cookie: bytes, client: Address, server: Address) -> KeyMatch:
        """IsCookieValid, for one fast open.

        It spends a one-time cookie: ask after everything else that might refuse the fast open,
        as section 4.2.2 does.
        """
        ...


class _Keys:
    """One primary key and any number of backups, 16 bytes each.

    Raises ValueError where there is no key, or one of another size.
    """

    def __init__(self, keys: Iterable[bytes]) -> None:
        self.keys = tuple(keys)

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The keys, primary first."""
        return self._keys

    @keys.setter
    def keys(self, keys: tuple[bytes, ...]) -> None:
        if not keys:
            raise ValueError("no key; at least the primary is needed")
        for key in keys:
            _require_key(key)
        self._keys = keys

    def rotate(self, new: bytes, *, keep: int = 1) -> None:
        """Make `new` the primary and the `keep` keys before it its backups (Linux keeps one)."""
        self.keys = (new, *self._keys[:keep])

    def drop_backups(self) -> None:
        """Forget every key but the primary: what the others made is refused from now on."""
        self.keys = self._keys[:1]


class KeyRing(_Keys):
    """Cookies that stay good for as long as the key that made them is kept.

    keys: primary first. scheme: how cookies are made.
    """

    one_time: ClassVar[bool] = False

    def __init__(self, keys: Iterable[bytes], scheme: CookieScheme | None = None) -> None:
        super().__init__(keys)
        self.scheme: CookieScheme = AesCookie() if scheme is None else scheme

    def cookie_for(self, client: Address, server: Address) -> bytes:
        return self.scheme.make(self.keys[0], client, server)

    def check(self, cookie: bytes, client: Address, server: Address) -> KeyMatch:
        match = KeyMatch.PRIMARY
        for key in self.keys:
            if hmac.compare_digest(self.scheme.make(key, client, server), cookie):
                return match
            match = KeyMatch.BACKUP
        return KeyMatch.NONE


class OneTimeCookies(_Keys):
    """Cookies good for one fast open each (paper 7.1), 16 bytes long.

    A cookie is the AES-128 block of server address, client address and a 64-bit counter of the
    cookies issued to anybody. Two IPv6 addresses do not fit beside the counter, and the paper
    does not say what then: a keyed BLAKE2b digest of 8 bytes stands in for them here.

    The paper remembers spent cookies for some minutes. Here the counter bounds the memory, and no
    clock is read: of the last `window` cookies issued one byte each says whether it is spent, and
    older ones are refused unseen. So a cookie is never good twice, under any key. The counter
    begins at zero: a server that starts again needs a new key.

    The paper would issue a cookie only after the client's first ACK; the option of RFC 7413
    travels in the SYN-ACK alone, so a cookie is issued there.
    """

    one_time: ClassVar[bool] = True

    def __init__(self, keys: Iterable[bytes], *, window: int = 1 << 16) -> None:
        super().__init__(keys)
        if window < 1:
            raise ValueError(f"a window of {window} cookies; at least one is needed")
        self.window = window
        self._issued = 0
        self._spent = bytearray(window)

    def cookie_for(self, client: Address, server: Address) -> bytes:
        """The next cookie: another one at every call."""
        number = self._issued
        self._issued += 1
        self._spent[number % self.window] = False
        key = self.keys[0]
        return _encrypt_block(key, _parties(key, client, server) + struct.pack("!Q", number))

    def check(self, cookie: bytes, client: Address, server: Address) -> KeyMatch:
        """Which key made it; NONE where it is spent, too old, or not one at all. Spends it."""
        if len(cookie) != KEY_SIZE:
            return KeyMatch.NONE
        match = KeyMatch.PRIMARY
        for key in self.keys:
            plain = _decrypt_block(key, cookie)
            if hmac.compare_digest(_parties(key, client, server), plain[:8]):
                return match if self._spend(int.from_bytes(plain[8:], "big")) else KeyMatch.NONE
            match = KeyMatch.BACKUP
        return KeyMatch.NONE

    def _spend(self, number: int) -> bool:
        if not self._issued - self.window <= number < self._issued:
            return False
        slot = number % self.window
        fresh = not self._spent[slot]
        self._spent[slot] = True
        return fresh


def key_to_sysctl(key: bytes) -> str:
    """A key as `net.ipv4.tcp_fastopen_key` prints it: four words in hex, low byte first in each.

    Raises ValueError for a key that is not 16 bytes long.
    """
    _require_key(key)
    return "-".join(f"{word:08x}" for word in struct.unpack("<4I", key))


def key_from_sysctl(text: str) -> bytes:
    """The 16 bytes behind one `a-b-c-d` of `net.ipv4.tcp_fastopen_key`.

    Raises ValueError for anything else.
    """
    if not _SYSCTL_KEY.fullmatch(text):
        raise ValueError(f"{text!r} is not a key; four words of hex digits, a-b-c-d, are needed")
    return struct.pack("<4I", *(int(word, 16) for word in text.split("-")))


def _encrypt_block(key: bytes, block: bytes) -> bytes:
    return _encryptor(key).update(block)


def _decrypt_block(key: bytes, block: bytes) -> bytes:
    return _decryptor(key).update(block)


@functools.lru_cache(maxsize=64)
def _encryptor(key: bytes) -> CipherContext:
    """Of single blocks, which leave no trace in it."""
    _require_key(key)
    return Cipher(AES(key), ECB()).encryptor()


@functools.lru_cache(maxsize=64)
def _decryptor(key: bytes) -> CipherContext:
    return Cipher(AES(key), ECB()).decryptor()


def _parties(key: bytes, client: Address, server: Address) -> bytes:
    both = server.packed + client.packed
    if isinstance(client, IPv4Address):
        return both
    return hashlib.blake2b(both, digest_size=8, key=key).digest()


def _require_key(key: bytes) -> None:
    if len(key) != KEY_SIZE:
        raise ValueError(f"a key of {len(key)} bytes; {KEY_SIZE} are needed")

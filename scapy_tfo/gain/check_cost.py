"""Measures the cost of a cookie's check in the reference schemes, and the cipher's part of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import repeat

from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC, ECB
from siphashc import siphash

from scapy_tfo.cookie import AesCookie, Cookies, KeyRing, OneTimeCookies, SipHashCookie
from scapy_tfo.gain.measuring.estimate import Estimate, typical
from scapy_tfo.lab.kernel.target import SOURCES, TARGETS

SCHEMES = ("AES-128", "AES-128, one-time", "SipHash-2-4")
FAMILIES = (4, 6)

_KEY = bytes(range(16))
_BLOCK, _WORD = 16, 8
_MANY = 1 << 13
_SIPHASH_END = 3
"""Words' worth of work of a message besides its whole words: the word with its length, and four
rounds at the end, where each word takes two."""

_CALLS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCost:
    """One scheme and family, in nanoseconds of processor time.

    check: of a valid cookie, all of it. call: of its cipher or hash once, called from Python.
    raw: of the same without Python.
    """

    scheme: str
    family: int
    check: Estimate
    call: Estimate
    raw: Estimate

    @property
    def rate(self) -> float:
        """Checks a second on one core."""
        return 1e9 / self.check.value


def measure(scheme: str, family: int, rounds: int) -> CheckCost:
    """rounds: from which the medians are. Raises SetupError where NumPy is missing."""
    client, server = SOURCES[family][0], TARGETS[family].ip
    text = client.packed + server.packed
    issuer = _issuer(scheme)

    def check() -> float:
        # A one-time cookie is good for one check.
        cookies = [issuer.cookie_for(client, server) for _ in range(_CALLS)]
        began = time.thread_time_ns()
        for cookie in cookies:
            issuer.check(cookie, client, server)
        return (time.thread_time_ns() - began) / _CALLS

    call: Callable[[], object]
    if scheme == "SipHash-2-4":
        call = partial(siphash, _KEY, text)
        raw = partial(_raw_siphash, len(text) // _WORD + _SIPHASH_END)
    else:
        encryptor = Cipher(AES(_KEY), ECB()).encryptor()
        call = partial(encryptor.update, bytes(_BLOCK))
        raw = partial(_raw_aes, Cipher(AES(_KEY), CBC(bytes(_BLOCK))).encryptor())
    taken = [(check(), _called(call), raw()) for _ in range(rounds)]
    checks, calls, raws = (typical(each) for each in zip(*taken, strict=True))
    return CheckCost(scheme=scheme, family=family, check=checks, call=calls, raw=raws)


def _issuer(scheme: str) -> Cookies:
    if scheme == "AES-128, one-time":
        return OneTimeCookies([_KEY])
    return KeyRing([_KEY], SipHashCookie() if scheme == "SipHash-2-4" else AesCookie())


def _called(call: Callable[[], object]) -> float:
    began = time.thread_time_ns()
    for _ in repeat(None, _CALLS):
        call()
    return (time.thread_time_ns() - began) / _CALLS


def _raw_aes(chained: CipherContext) -> float:
    """Of a block: in a chain each has to wait for the one before, as a single one would."""
    text, out = bytes(_MANY * _BLOCK), bytearray((_MANY + 1) * _BLOCK)
    began = time.thread_time_ns()
    chained.update_into(text, out)
    return (time.thread_time_ns() - began) / _MANY


def _raw_siphash(words: int) -> float:
    """Of a message of so many words, from a long one's."""
    text = bytes(_MANY * _WORD)
    began = time.thread_time_ns()
    siphash(_KEY, text)
    return (time.thread_time_ns() - began) / _MANY * words

"""IP addresses that cache the properties that every packet needs."""

from __future__ import annotations

import functools
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address

Address = IPv4Address | IPv6Address


class _KnownIPv4(IPv4Address):
    """As any other, only that nothing is worked out twice."""

    def __init__(self, address: int | bytes | str) -> None:
        super().__init__(address)
        self._hash = super().__hash__()

    def __repr__(self) -> str:
        return f"IPv4Address({str(self)!r})"

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def packed(self) -> bytes:
        return super().packed

    @cached_property
    def is_multicast(self) -> bool:
        return super().is_multicast

    @cached_property
    def is_unspecified(self) -> bool:
        return super().is_unspecified


class _KnownIPv6(IPv6Address):
    """Likewise."""

    def __init__(self, address: int | bytes | str) -> None:
        super().__init__(address)
        self._hash = super().__hash__()

    def __repr__(self) -> str:
        return f"IPv6Address({str(self)!r})"

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def packed(self) -> bytes:
        return super().packed

    @cached_property
    def is_multicast(self) -> bool:
        return super().is_multicast

    @cached_property
    def is_unspecified(self) -> bool:
        return super().is_unspecified


@functools.lru_cache(maxsize=1024)
def known_address(packed: bytes) -> Address:
    """The address of 4 or 16 bytes, the same object each time where it is asked for often.

    Raises ValueError (ipaddress.AddressValueError) for bytes of another number.
    """
    return _KnownIPv4(packed) if len(packed) == 4 else _KnownIPv6(packed)

"""Decodes Linux's report on a connection: TCP_INFO (include/uapi/linux/tcp.h)."""

from __future__ import annotations

from dataclasses import dataclass

_OPTIONS, _BITS = 5, 7
_SYN_DATA = 0x20

NO_COOKIE, NOT_ACKNOWLEDGED, SENT_AGAIN = "no cookie", "data not acknowledged", "SYN sent again"
_FAILS = ("", NO_COOKIE, NOT_ACKNOWLEDGED, SENT_AGAIN)


@dataclass(frozen=True, slots=True)
class KernelWord:
    """accepted: the SYN's data was acknowledged by the SYN-ACK (TCPI_OPT_SYN_DATA). failed: why
    fast open did not happen (tcpi_fastopen_client_fail), "" where it did, or was not tried."""

    accepted: bool
    failed: str

    def __str__(self) -> str:
        return f"SYN data acknowledged: {self.accepted}" + f" ({self.failed})" * bool(self.failed)

    @classmethod
    def read(cls, info: bytes) -> KernelWord:
        """Of the bytes of TCP_INFO. Raises ValueError where they are too few."""
        if len(info) <= _BITS:
            raise ValueError(f"TCP_INFO of {len(info)} bytes")
        return cls(bool(info[_OPTIONS] & _SYN_DATA), _FAILS[info[_BITS] >> 1 & 3])

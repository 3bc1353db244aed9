"""Extension headers of IPv6 (RFC 8200 section 4), as they stand between its header and TCP."""

from __future__ import annotations

from collections.abc import Sequence

HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION = 0, 43, 44, 51, 60
"""By their next header value (RFC 8200 section 4, RFC 4302)."""

KINDS = frozenset((HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION))

_PAD, _SKIPPED = 1, 0x1E
"""Kinds of options: PadN, and one for experiments that is skipped (RFC 4727 section 3.6)."""
_MOST_PADDING = 7

Extension = tuple[int, bytes]
"""An extension header: its own value, and its bytes behind the next header value."""


def push(extensions: Sequence[Extension], protocol: int) -> tuple[int, bytes]:
    """The next header value for the IPv6 header, and the bytes before those of `protocol`."""
    kinds = [kind for kind, _ in extensions] + [protocol]
    pairs = zip(kinds[1:], extensions, strict=True)
    return kinds[0], b"".join(bytes((following,)) + body for following, (_, body) in pairs)


def pull(kind: int, rest: bytes) -> tuple[int, tuple[Extension, ...], bytes]:
    """The protocol behind the extension headers, these, and what is left of the packet.

    Raises ValueError where a header is not whole, and for a fragment.
    """
    out: list[Extension] = []
    while kind in KINDS:
        if len(rest) < 8:
            raise ValueError("an extension header is cut short")
        size = 8 * (rest[1] + 1)
        if kind == AUTHENTICATION:
            size = 4 * (rest[1] + 2)
        elif kind == FRAGMENT:
            size = 8
            # A fragment that is the whole packet is no less a segment (RFC 6946).
            if (rest[2] << 8 | rest[3]) & 0xFFF9:
                raise ValueError("a fragment, not a whole segment")
        if size > len(rest):
            raise ValueError("an extension header is longer than the packet")
        out.append((kind, rest[1:size]))
        kind, rest = rest[0], rest[size:]
    return kind, tuple(out), rest


def padding(kind: int, size: int = 8) -> Extension:
    """A hop-by-hop or destination options header of `size` bytes that says nothing (4.2).

    A host may discard more than seven bytes of padding in a row (RFC 8504 section 5.3): a longer
    header has one option that whoever does not know it skips.

    Raises ValueError where the size is not a multiple of 8 from 8 to 256.
    """
    if size % 8 or not 8 <= size <= 256:
        raise ValueError(f"an extension header of {size} bytes")
    filler = _PAD if size - 2 <= _MOST_PADDING else _SKIPPED
    return kind, bytes((size // 8 - 1, filler, size - 4)) + bytes(size - 4)

"""What an ideal link and ideal ends give, in closed form.

The ends compute in no time, every segment is acknowledged at once, nothing is lost, and the window
of a connection doubles in each round trip from its initial one on (RFC 5681 section 3.1 without
delayed acknowledgements).
"""

from __future__ import annotations

from math import ceil

PAPER_TCP, PAPER_TFO = 2876.4, 3548.7
"""Transactions a second of the paper's section 6.2, at a round-trip time of 0.1 ms."""


def flights(size: int, segment: int, window: int) -> int:
    """In how many flights so many bytes are sent, in segments of `segment` bytes, where the first
    flight has `window` segments and each further one twice as many as the one before."""
    left, count = ceil(size / segment), 0
    while left > 0:
        left -= window << count
        count += 1
    return count


def request_seconds(rtt: float, trips: int, *, fast_open: bool) -> float:
    """From the client's first packet to the last byte of an answer of so many flights, over a link
    that only delays. rtt: seconds. A handshake takes one round trip; a fast open saves it."""
    return rtt * (trips + (not fast_open))


def transaction_ratio(rtt: float, compute: float) -> float:
    """Of fast open's rate of transactions to TCP's, where each takes its round trips and so many
    seconds of computing besides."""
    return (2 * rtt + compute) / (rtt + compute)


def paper_compute(rtt: float) -> float:
    """Seconds besides the round trips of the paper's transaction with TCP."""
    return 1 / PAPER_TCP - 2 * rtt


def chain_seconds(
    rtt: float, waits: list[float], *, fast_open: bool, down: float | None = None, bytes_: int = 0
) -> float:
    """To load resources one after another, each from a host of its own after the one before, each
    answer in one flight. waits: seconds that the servers think. down: bits a second to the client,
    None for no limit, which `bytes_` in all, with their headers, take to come."""
    trips = len(waits) * (1 if fast_open else 2)
    slow = 0.0 if down is None else 8 * bytes_ / down
    return trips * rtt + sum(waits) + slow

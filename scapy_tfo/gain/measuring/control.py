"""Refuses results whose control does not hold."""

from __future__ import annotations

from dataclasses import dataclass

from scapy_tfo.gain.measuring.estimate import Estimate

OFF = 0.05
"""Part by which a round-trip time may differ from the one that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """must: what the control has to be. by_chance: how far its interval may stay away from that: of
    twenty intervals of 95 % one does, and where they are narrow the distance means nothing. far:
    how far the control itself may be away. All in the units of the effect."""

    must: float
    by_chance: float
    far: float


TRIPS = Demand(must=0.0, by_chance=0.01, far=0.05)
"""Of round trips saved."""

RATIO = Demand(must=1.0, by_chance=0.01, far=0.05)
"""Of a ratio to TCP."""

PERCENT = Demand(must=0.0, by_chance=0.2, far=1.0)
"""Of percent of a page's load time."""


NANOSECONDS = Demand(must=0.0, by_chance=3.0, far=20.0)
"""Of the time that the kernel takes to check a cookie."""


def refusal(effect: Estimate | None, control: Estimate | None, demand: Demand) -> str:
    """Why the effect is no result, or "" where it is one.

    The control compares TCP with TCP. Where it shows something, so may the noise in the effect; and
    where its interval is wider than the effect, nothing of that size could have been seen. An
    effect of zero is a result where the control is known to within `far`.
    """
    if effect is None or control is None:
        return ""
    must = demand.must
    away = max(control.low - must, must - control.high, 0.0)
    if away > demand.by_chance or abs(control.value - must) > demand.far:
        shown = f"{control.value:.3g} ({control.low:.3g} to {control.high:.3g})"
        return f"its control is {shown}, and must be {must:g}"
    if control.width > max(abs(effect.value - must), 2 * demand.far):
        return (
            f"its control's interval is {control.width:.2g} wide, "
            f"and the effect is {abs(effect.value - must):.2g}"
        )
    return ""


def off(seen: float, asked: float) -> str:
    """Why a link is not the one that was asked for, or "" where it is. Both are round-trip times
    in seconds, above 0."""
    part = seen / asked - 1
    if abs(part) <= OFF:
        return ""
    return (
        f"handshakes took {seen * 1000:.3g} ms where {asked * 1000:.3g} were asked for, "
        f"{abs(part):.0%} too {'much' if part > 0 else 'little'}"
    )

"""How likely it is that loss alone explains a silence, by what was sent and answered around it.

The question is asked of a target that is right: the path to it loses a share r of all round trips,
which nobody knows. What is known is how many controls were sent and answered in the same period;
by Bayes, beginning with every r as likely as every other, r then follows a Beta distribution. A
try that waited for m round trips was silent with a probability of at most m * r. So k tries in one
period with a answered and l lost controls were all silent with a probability of at most

    m1 * ... * mk  *  (l + 1) ... (l + k)  /  ((a + l + 2) ... (a + l + k + 1))

which is m1 ... mk times the k-th moment of Beta(l + 1, a + 1). Periods multiply, since the path is
asked anew in each. No try says more than "certain": what would raise the product is left out.

Round trips that a try waited for: where all tries ended at the very same point, those of that
point; where they ended in the same step of the same conversation, those of that step; or else all
of the try. A try has as many points and steps as packets, at most, so the first two results are
multiplied by that. The lowest of the three bounds holds, since each does.

A silence is held against a target where the bound is below `MOST_CHANCE`, divided by the number of
results of the run (at least `FEWEST`): over a whole run of a target that is right, the probability
of one FAIL by loss is below `MOST_CHANCE` (Bonferroni's inequality).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_CHANCE = 1e-3
"""How probable one wrong FAIL in all of a run may be, at most."""

FEWEST = 1000
"""Results that a run is taken to have, at least: many short runs are worth a long one."""


@dataclass(slots=True)
class Tally:
    """Controls of one period: what was sent that every target answers. lost: without answer."""

    sent: int = 0
    lost: int = 0

    def count(self, *, lost: bool = False) -> None:
        """Take in one more."""
        self.sent += 1
        self.lost += lost

    @property
    def answered(self) -> int:
        return self.sent - self.lost


@dataclass(frozen=True, slots=True)
class Exposure:
    """Round trips that a try waited for: at the point where it ended, in its last step, in all."""

    point: int = 1
    step: int = 1
    whole: int = 1


@dataclass(frozen=True, slots=True)
class Silence:
    """One try that ended in silence.

    what: did not come. flow: on which conversation of the case. heard: segments that came there.
    tally: of the period, as it goes on.
    """

    what: str
    flow: int
    heard: int
    tally: Tally
    exposure: Exposure


def bound_of(results: int) -> float:
    """Below which chance of loss one of so many results may be a FAIL."""
    return MOST_CHANCE / max(results, FEWEST)


def chance_of_loss(silences: Sequence[Silence], *, more: int = 0) -> float:
    """The probability, at most, that loss alone keeps all these tries silent; 1 for none.

    more: silences like the last one that are imagined beside them, in the same period.
    """
    tries = [*silences, *[silences[-1]] * more] if silences else []
    whole = _of_all([(each.tally, each.exposure.whole) for each in tries])
    if len({(each.what, each.flow) for each in tries}) > 1:
        return whole
    steps = max((each.exposure.whole for each in tries), default=1)
    step = _of_all([(each.tally, each.exposure.step) for each in tries])
    if len({each.heard for each in tries}) > 1:
        return min(whole, steps * step)
    point = _of_all([(each.tally, each.exposure.point) for each in tries])
    return min(whole, steps * min(step, point))


def _of_all(tries: Sequence[tuple[Tally, int]]) -> float:
    chance = 1.0
    # By identity: two periods may have counted the same.
    for tally in {id(each): each for each, _ in tries}.values():
        chance *= _of_period(tally, sorted(most for each, most in tries if each is tally))
    return chance


def _of_period(tally: Tally, exposures: Sequence[int]) -> float:
    """exposures: of the tries in one period, the least first."""
    chance = least = 1.0
    for number, most in enumerate(exposures):
        chance *= most * (tally.lost + 1 + number) / (tally.sent + 2 + number)
        least = min(least, chance)
    return least


def in_words(silences: Sequence[Silence]) -> str:
    """What the chance rests on, and the chance, in plain words."""
    tallies = {id(each.tally): each.tally for each in silences}.values()
    sent, answered = sum(each.sent for each in tallies), sum(each.answered for each in tallies)
    times = f"silent {len(silences)} of {len(silences)} times"
    around = f"{answered} of {sent} control handshakes and other cases around it were answered"
    return f"{times}, while {around}: loss explains this with a probability {_told(silences)}"


def _told(silences: Sequence[Silence]) -> str:
    chance = chance_of_loss(silences)
    if chance >= 0.001:
        return f"of up to {min(chance, 1.0):.2g}"
    digits = next((each for each in range(9, 2, -1) if chance < 10.0**-each), 3)
    return f"below 1e-{digits}"

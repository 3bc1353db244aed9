"""Whether a target on the wire still takes connections: what does not work, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scapy_tfo.executor.live.bearing import Bearing
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.program.program import Cookie, Flow, Option, Program, Send, Wait

_ATTEMPTS = 3
_MSS = Option("mss", 1400)
PLAIN = Send(0, "S", options=(_MSS,))
GREETING = Send(0, "S", size=20, options=(_MSS, Option("fo", cookie=Cookie())))
_HANDSHAKE, _FAST_OPEN = "a control handshake", "a valid fast open"


class Health:
    """run: runs one program alone. ails: what can be told of the target from the inside, "" for
    nothing. bearing: of a target of others, which may be full for a while."""

    def __init__(
        self,
        run: Callable[[Program], Verdict],
        ails: Callable[[], str],
        bearing: Bearing | None = None,
    ) -> None:
        self._run = run
        self._ails = ails
        self._bearing = bearing
        self._is_known = False
        self._never_right: set[tuple[str, int]] = set()

    def ill(self, families: Sequence[int], *, fast_open: bool) -> str:
        """What does not work over one of the families, "" where all does."""
        first, self._is_known = not self._is_known, True
        for family in families:
            checks = [(_HANDSHAKE, PLAIN)] + [(_FAST_OPEN, GREETING)] * fast_open
            for what, opening in checks:
                if (what, family) in self._never_right:
                    continue
                why, answers = self._fails(Program((Flow(family),), (opening, Wait())))
                if why and answers and first:
                    # That is no death: programs will show what is wrong about it.
                    self._never_right.add((what, family))
                elif why:
                    return f"{what} over IPv{family} fails: {why}"
        return ""

    def _fails(self, control: Program) -> tuple[str, bool]:
        """What is wrong about a control, "" where nothing is, and whether anything came.

        One that may be full is not given up before it had the time to get room.
        """
        bearing = self._bearing
        why, answers = self._tried(control)
        while bearing is not None and why and not answers and not self._ails():
            bearing.is_full()
            if bearing.is_given_up:
                break
            why, answers = self._tried(control)
        if bearing is not None and answers:
            bearing.has_room()
        return why, answers

    def _tried(self, control: Program) -> tuple[str, bool]:
        why, heard = "", 0
        for _ in range(_ATTEMPTS):
            verdict = self._run(control)
            if not verdict.violations and not verdict.unjudged:
                return "", True
            heard += verdict.heard
            why = verdict.unjudged
            for each in verdict.violations:
                why = f"{each.actual} instead of {each.expected}"
        return why, heard > 0

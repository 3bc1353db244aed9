"""Acknowledgements that a target owes: half a second for text (RFC 9293 section 3.8.6.3)."""

from __future__ import annotations

from scapy_tfo.explore.conversation.run import Problem

_WITHIN = 0.6
"""Seconds, a little more than is allowed."""
_PROBE_WITHIN = 1.01
"""Seconds until a probe is answered."""
_TIME_WAIT = 0.8
"""Seconds of TIME-WAIT in which a FIN that comes again is answered, and the answer a second later:
it lasts two at least."""


def answers_a_fin(since: float | None, now: float) -> bool:
    """Whether the client's FIN that comes again is answered. since: when TIME-WAIT began, if it
    did."""
    return since is not None and now - since < _TIME_WAIT


class Owed:
    """Those that are due. Times are in seconds, numbers bytes of the text of the client."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int]] = []
        self._probe: float | None = None
        self._throttled_until = 0.0

    def text(self, end: int, now: float) -> None:
        """Text came that the target has to take. end: of it."""
        self._due.append((now + _WITHIN, end))

    def throttles(self, now: float) -> None:
        """Something came whose answer may be one of a few a second (RFC 5961 section 7)."""
        self._throttled_until = now + _PROBE_WITHIN

    def probe(self, now: float) -> None:
        """A keep-alive came (RFC 9293 section 3.8.4, MUST-26)."""
        if self._probe is None and now > self._throttled_until:
            self._probe = now + _PROBE_WITHIN
        self.throttles(now)

    def answered(self, now: float, packet: int, *, alone: bool) -> list[Problem]:
        """The target sent something: a keep-alive is late by now, or is answered. alone: it has no
        text; what has some may have a reason of its own, and answers as other ACKs do."""
        found = self.silent(now, packet)
        if alone or self._probe is None or now <= self._probe - _PROBE_WITHIN + _WITHIN:
            self._probe = None
        return found

    def silent(self, now: float, packet: int) -> list[Problem]:
        """Whether a keep-alive is late by now."""
        due, late = self._probe, self._probe is not None and now > self._probe
        if due is None or not late:
            return []
        self._probe = None
        expected = "an answer to a keep-alive within a second"
        told = f"nothing in {now - due + _PROBE_WITHIN:.2f} s"
        return [Problem("keepalive-unanswered", packet, expected, told)]

    def settle(self, acked: int, now: float, packet: int, *, excused: bool) -> list[Problem]:
        """What is late by now. acked: by the target, so far. excused: nothing is due any more.
        packet: the number of the next one."""
        due = self._due
        while due and (excused or acked >= due[0][1]):
            del due[0]
        if not due or now <= due[0][0]:
            return []
        when, end = due.pop(0)
        late = now - when + _WITHIN
        expected = f"{end} bytes acknowledged within half a second"
        return [Problem("ack-late", packet, expected, f"{acked} bytes after {late:.2f} s")]

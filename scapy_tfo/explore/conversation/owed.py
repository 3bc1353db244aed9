"""Acknowledgements that a target owes: half a second for text (RFC 9293 section 3.8.6.3)."""

from __future__ import annotations

from scapy_tfo.explore.conversation.run import Problem

_WITHIN = 0.6
"""Seconds, a little more than is allowed."""


class Owed:
    """Those that are due. Times are in seconds, numbers bytes of the text of the client."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int]] = []

    def text(self, end: int, now: float) -> None:
        """Text came that the target has to take. end: of it."""
        self._due.append((now + _WITHIN, end))

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

"""How a case ends other than by returning: each ending, and what evidence it rests on."""

from __future__ import annotations


class Ending(Exception):  # noqa: N818 - an ending is a verdict, not an error
    """A case ends here.

    reason: one line. expected, actual: side by side in the report. packets: numbers in the
    capture. flow: `src:port>dst:port`.
    """

    def __init__(
        self,
        reason: str,
        *,
        expected: str = "",
        actual: str = "",
        packets: tuple[int, ...] = (),
        flow: str = "",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.expected = expected
        self.actual = actual
        self.packets = packets
        self.flow = flow


class Failed(Ending):
    """Something came that no conforming target sends, whatever the path loses."""


class Missing(Ending):
    """Something did not come, which loss could explain: the case is tried again, and only a path
    that loses nothing turns it into a FAIL.
    """


class WasReset(Missing):
    """A RST came instead, which a target short of room for connections could explain: the case
    is tried again, at last alone, and fails only where no control handshake was reset.
    """


class Refused(Missing):
    """A fast open with a valid cookie was refused, which a queue that was full could explain:
    the case is tried again, at last alone. A queue is full where an ACK of ours was lost, too:
    only a path that loses nothing, and a queue with room left, turn it into a FAIL.
    """


class Ungranted(Missing):
    """No cookie was granted by a target that granted one before, which is allowed and which a
    full queue could explain: the case is tried again, and never fails for it.
    """


class Unsupported(Ending):
    """The target does not do this at all, which the requirement allows."""


class Absent(Unsupported):
    """The target does not do this, as far as was heard: no option, no segment of the kind came.
    A path that loses packets could have kept it away: there the case is inconclusive.
    """


class Cookieless(Absent):
    """No cookie was granted. The lossy path is suspected only where the target granted others."""


class Skipped(Ending):
    """A need of the case is not met; the reason says how to meet it."""


class Inconclusive(Ending):
    """The case cannot tell, and trying again would not help."""

"""Exceptions that end a case, and the evidence that each one rests on."""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
import struct
import traceback
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


class Symptom(enum.StrEnum):
    """What the target did. The value completes the sentence "the target ..."."""

    NONE = ""
    TAKES_DATA = "accepts SYN data without a valid cookie"
    REFUSES_COOKIE = "refuses SYN data with a valid cookie"
    GRANTS_NOTHING = "does not answer a cookie request"
    ACKS_WRONGLY = "acknowledges another number than was sent"
    DROPS_SYN = "does not answer a SYN"
    SPOILS_DATA = "loses, repeats or changes data"
    SPOILS_REFUSED = "loses, repeats or changes data that it refused on the SYN"
    NEVER_CLOSES = "does not close after its peer"


class Ending(Exception):  # noqa: N818 - an ending is a verdict, not an error
    """A case ends here.

    reason: one line. expected, actual: side by side in the report. packets: numbers in the
    capture. flow: `src:port>dst:port`. symptom: what the target did. requirements: those that the
    assertion rests on which ended it; empty for all of the case's.
    """

    symptom = Symptom.NONE
    requirements: tuple[str, ...] = ()

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
    """Something did not come, which loss could explain: the case is tried again, and is a FAIL only
    where that explanation is too improbable (`silence.likelihood`).
    """


class WasReset(Missing):
    """A RST came instead, which a target short of room for connections could explain: the case
    is tried again, at last alone, and fails only where no control handshake was reset.
    """


class Refused(Missing):
    """A fast open with a valid cookie was refused, which a queue that was full could explain:
    the case is tried again, at last alone. A queue is full where an ACK of ours was lost, too:
    it is a FAIL where the queue has room left, and loss is too improbable.
    """


class Ungranted(Missing):
    """No cookie was granted by a target that granted one before, which is allowed and which a
    full queue could explain: the case is tried again, and never fails for it.
    """


class Unsupported(Ending):
    """The target does not do this at all, which the requirement allows."""


class Absent(Unsupported):
    """The target does not do this, as far as was heard: no option, no segment of the kind came.
    A path that loses packets could have kept it away: there the case is tried again, and is
    inconclusive where loss may explain every try.
    """


class Cookieless(Absent):
    """No cookie was granted. The lossy path is suspected only where the target granted others."""


class Skipped(Ending):
    """A need of the case is not met; the reason says how to meet it."""


class Inconclusive(Ending):
    """The case cannot tell, and trying again would not help."""


class Broke(Inconclusive):
    """The case has a fault of its own, which is none of the target's."""


@contextlib.contextmanager
def judging(*requirements: str) -> Iterator[None]:
    """The assertions inside rest on these requirements, and not on all that the case checks: a
    failure has their level."""
    try:
        yield
    except Ending as ending:
        ending.requirements = ending.requirements or requirements
        raise


_OURS = __name__.partition(".")[0]

BROKEN = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, NameError),
    *(RuntimeError, TypeError, ValueError, struct.error),
)
"""What a mistake in a case raises, on an answer that nobody thought of."""


def broken(error: Exception, of: str = _OURS) -> Broke:
    """The ending of a case that raised one of `BROKEN`: it says nothing of the target.

    of: the module of the case. A fault that cases of users meet may be theirs.
    """
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    is_ours = of.partition(".")[0] == _OURS
    whose = "of scapy-tfo" if is_ours else "of the case"
    what = "; please report this line, with the run's capture.pcapng" if is_ours else ""
    return Broke(f"a fault {whose}, not of the target: the case broke with {error!r}{where}{what}")


_refuted: ContextVar[set[str] | None] = ContextVar("_refuted", default=None)


@contextlib.contextmanager
def refuting(found: set[str]) -> Iterator[None]:
    """Add to `found` the symptoms which an assertion that `shows` marks met, and did not find."""
    token = _refuted.set(found)
    try:
        yield
    finally:
        _refuted.reset(token)


def shows(
    wrong: Symptom | Callable[[Any], Symptom] = Symptom.NONE,
    *,
    missing: Symptom = Symptom.NONE,
    again: bool = False,
) -> Callable[[Function], Function]:
    """An assertion, sync or async, whose endings name a symptom.

    wrong: where something wrong came; or a function that tells it of the assertion's first
    argument. missing: where something did not come, `wrong` if not given.
    again: also rename the symptom that an assertion inside has named.
    """

    @contextlib.contextmanager
    def named_within(*arguments: Any) -> Iterator[None]:
        try:
            yield
        except Ending as ending:
            came = wrong(*arguments[:1]) if callable(wrong) else wrong
            found = missing or came if isinstance(ending, Missing) else came
            if found and (again or not ending.symptom):
                ending.symptom = found
            raise
        came = wrong(*arguments[:1]) if callable(wrong) else wrong
        refuted = _refuted.get()
        if refuted is not None:
            refuted.update({came, missing} - {Symptom.NONE})

    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        async def later(*arguments: Any, **named: Any) -> Any:
            with named_within(*arguments):
                return await function(*arguments, **named)

        @functools.wraps(function)
        def now(*arguments: Any, **named: Any) -> Any:
            with named_within(*arguments):
                return function(*arguments, **named)

        return cast(Function, later if inspect.iscoroutinefunction(function) else now)

    return wrap

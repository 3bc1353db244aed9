"""The conversations between two kernels: what the client does, what the path does to it, and the
outcome to be read from the capture at either end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from meddling import (
    AckTooMuch,
    CutData,
    DelaySyn,
    DelaySynAck,
    DelaySynBeyond,
    DoubleSyn,
    LoseSyn,
    LoseSynAck,
    Meddler,
    Replay,
    RotateKeys,
    StripAnswer,
    StripRequest,
    StripSyn,
)

DATA = b"GET / HTTP/1.0\r\n\r\n"
LONG = bytes(range(250)) * 12
"""More than fits in a SYN."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One connection.

    port: the listener's name. how: `fast open`, `without cookie` (TCP_FASTOPEN_NO_COOKIE) or
    `plain`. ends: `close` or `reset`. path: what happens to it on the way. outcome: that the
    client's capture shows, "" where there is none; at_server: the server's, where it is another.
    """

    outcome: str
    at_server: str | None = None
    port: str = "echo"
    data: bytes = DATA
    how: str = "fast open"
    ends: str = "close"
    path: type[Meddler] | None = None

    @property
    def seen_by_server(self) -> str:
        return self.outcome if self.at_server is None else self.at_server


@dataclass(frozen=True)
class Conversation:
    """Connections of one client address, one after the other. server: `kernel`, `cookieless`
    (TFO flags 0x203) or the name of a mutant."""

    name: str
    steps: Sequence[Step]
    server: str = "kernel"


GRANTED = Step(outcome="requested-granted")
ACCEPTED = Step(outcome="accepted")
NOT_GRANTED = Step(outcome="requested-not-granted", port="plain")
EXPERIMENTAL = (NOT_GRANTED, GRANTED)
"""Linux asks with kind 254 where a server answered its kind 34 without a cookie."""


def _used(name: str, *steps: Step, server: str = "kernel") -> tuple[Conversation, ...]:
    """The same with a cookie got by either kind."""
    return (
        Conversation(name, (GRANTED, *steps), server),
        Conversation(f"{name}, kind 254", (*EXPERIMENTAL, *steps), server),
    )


CONVERSATIONS = (
    *_used("accepted", ACCEPTED, ACCEPTED),
    *_used("accepted, more than fits", Step(outcome="accepted", data=LONG)),
    *_used(
        "rotated key",
        Step(outcome="refused-cookie", port="rotated", path=RotateKeys),
        Step(outcome="accepted", port="rotated"),
    ),
    *_used("fast open off", Step(outcome="refused-silently", port="plain")),
    *_used(
        "stripped of the SYN",
        Step(outcome="refused-silently", at_server="cookieless-refused", path=StripSyn),
    ),
    *_used("lost SYN", Step(outcome="syn-lost-fallback", at_server="", path=LoseSyn)),
    # Nothing is kept of a plain SYN, so that what comes behind it lacks its beginning.
    *_used("late SYN", Step(outcome="syn-lost-fallback", at_server="unknown", path=DelaySyn)),
    *_used("lost SYN-ACK", Step(outcome="syn-ack-lost", path=LoseSynAck)),
    *_used("late SYN-ACK", Step(outcome="accepted", path=DelaySynAck)),
    *_used("cut data", Step(outcome="accepted-partially", at_server="accepted", path=CutData)),
    *_used(
        "acknowledged too much",
        Step(outcome="over-acknowledged", at_server="syn-ack-lost", path=AckTooMuch),
    ),
    *_used("replayed after a reset", Step(outcome="replayed", ends="reset", path=Replay)),
    *_used("replayed after a close", Step(outcome="replayed", path=Replay)),
    *_used(
        "SYN later than all", Step(outcome="replayed", at_server="accepted", path=DelaySynBeyond)
    ),
    *_used("SYN twice", Step(outcome="accepted", path=DoubleSyn)),
    *_used("cookie without data", Step(outcome="unknown", data=b"")),
    *_used("closed port", Step(outcome="unknown", port="closed")),
    Conversation(
        "option stripped of the request",
        (Step(outcome="requested-not-granted", at_server="", path=StripRequest),),
    ),
    Conversation(
        "option stripped of the answer",
        (
            Step(
                outcome="requested-not-granted",
                at_server="requested-granted",
                path=StripAnswer,
            ),
        ),
    ),
    Conversation(
        "no cookie, accepted",
        (Step(outcome="cookieless-accepted", how="without cookie"),),
        "cookieless",
    ),
    Conversation("no cookie, refused", (Step(outcome="cookieless-refused", how="without cookie"),)),
    Conversation("no fast open", (Step(outcome="", how="plain"),)),
    *_used(
        "a server that acknowledges too much",
        Step(outcome="over-acknowledged"),
        server="acks-one-byte-too-many",
    ),
    *_used(
        "a server that starts over",
        Step(outcome="replayed", path=DoubleSyn),
        server="duplicate-starts-over",
    ),
)

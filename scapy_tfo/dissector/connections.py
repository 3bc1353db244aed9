"""What the plugin reports about a connection (`tshark -z tfo,records`)."""

from __future__ import annotations

from scapy_tfo.values import value

OUTCOMES = (
    "accepted",
    "accepted-partially",
    "cookieless-accepted",
    "requested-granted",
    "requested-not-granted",
    "refused-cookie",
    "refused-silently",
    "cookieless-refused",
    "syn-lost-fallback",
    "syn-ack-lost",
    "over-acknowledged",
    "replayed",
    "unknown",
)
"""All outcomes of a connection, the good ones first."""


@value(frozen=True, slots=True)
class Problem:
    """What breaks a rule. frame: number in the capture. severity: error, warning, note or chat."""

    frame: int
    rule: str
    severity: str


@value(frozen=True, slots=True, kw_only=True)
class Connection:
    """A connection with a Fast Open option or with data in its SYN.

    began: seconds since the epoch. client, server: addresses. client_port, port: of the client and
    of the server. outcome: one of OUTCOMES. why: one phrase. frames: numbers that the outcome
    rests on. sent, acknowledged, resent: bytes of data in the SYN, of these acknowledged by the
    SYN-ACK, and sent again. first_answer: seconds from the SYN to the server's first byte. rtt:
    seconds of the handshake's round trip. round_trips: 1 saved, -1 lost. seconds_lost: for which
    the client waited to send its SYN again. cookie: in hexadecimal, "" for none. capture: the file
    that it stands in. What the capture does not tell is None.
    """

    client: str
    client_port: int
    server: str
    port: int
    outcome: str
    why: str
    began: float | None = None
    frames: tuple[int, ...] = ()
    sent: int | None = None
    acknowledged: int | None = None
    resent: int | None = None
    first_answer: float | None = None
    rtt: float | None = None
    round_trips: int | None = None
    seconds_lost: float | None = None
    cookie: str = ""
    problems: tuple[Problem, ...] = ()
    capture: str = ""

    @property
    def source(self) -> str:
        """The client's address and port as one text."""
        return _joined(self.client, self.client_port)

    @property
    def endpoint(self) -> str:
        """The server's address and port as one text."""
        return _joined(self.server, self.port)

    @property
    def seconds_saved(self) -> float:
        """The round trip that was saved, as far as it is known."""
        return self.rtt or 0.0 if self.round_trips == 1 else 0.0


def connection_of(record: str, capture: str = "") -> Connection:
    """A line of the plugin's, of values between tabs. Raises ValueError where it is none."""
    values = record.split("\t")
    began, client, client_port, server, port, outcome, why, frames = values[:8]
    sent, acknowledged, resent, first_answer, rtt, round_trips, lost, cookie, problems = values[8:]
    return Connection(
        client=client,
        client_port=int(client_port),
        server=server,
        port=int(port),
        outcome=outcome,
        why=why,
        began=float(began) if began else None,
        frames=tuple(map(int, frames.split(","))) if frames else (),
        sent=int(sent) if sent else None,
        acknowledged=int(acknowledged) if acknowledged else None,
        resent=int(resent) if resent else None,
        first_answer=float(first_answer) if first_answer else None,
        rtt=float(rtt) if rtt else None,
        round_trips=int(round_trips) if round_trips else None,
        seconds_lost=float(lost) if lost else None,
        cookie=cookie,
        problems=tuple(map(_problem, problems.split("|"))) if problems else (),
        capture=capture,
    )


def _problem(told: str) -> Problem:
    frame, severity, rule = told.split(" ", 2)
    return Problem(int(frame), rule, severity)


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"

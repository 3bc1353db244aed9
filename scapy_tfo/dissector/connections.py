"""Reads what the plugin reports about the connections in a capture (`tshark -z tfo,json`)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapy_tfo.dissector import files, tshark
from scapy_tfo.errors import SetupError

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

_ERRORS = ("-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message")
_PATIENCE = 60.0
_BEGIN, _END = "tfo-json-begin", "tfo-json-end"


@dataclass(frozen=True, slots=True)
class Problem:
    """What breaks a rule. frame: number in the capture. severity: error, warning, note or chat."""

    frame: int
    rule: str
    severity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A connection with a Fast Open option or with data in its SYN.

    stream: number of tcp.stream. client, server: addresses. client_port, port: of the client and
    of the server. outcome: one of OUTCOMES. why: one phrase. frames: numbers that the outcome
    rests on. sent, acknowledged, resent: bytes of data in the SYN, of these acknowledged by the
    SYN-ACK, and sent again. first_answer: seconds from the SYN to the server's first byte. rtt:
    seconds of the handshake's round trip. round_trips: 1 saved, -1 lost. seconds_lost: for which
    the client waited to send its SYN again. cookie: in hexadecimal, "" for none. What the capture
    does not tell is None.
    """

    stream: int
    client: str
    client_port: int
    server: str
    port: int
    outcome: str
    why: str
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

    @property
    def source(self) -> str:
        """The client's address and port as one text."""
        return _joined(self.client, self.client_port)

    @property
    def endpoint(self) -> str:
        """The server's address and port as one text."""
        return _joined(self.server, self.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What came of a capture. tool: tshark and its version. warnings: why there may be more in
    the file than was read. packets: how many of the file, and tcp: of these with TCP, where no
    connection was found; else None."""

    capture: Path
    tool: str
    connections: tuple[Connection, ...]
    warnings: tuple[str, ...] = ()
    packets: int | None = None
    tcp: int | None = None


def read(capture: Path, *, display_filter: str = "") -> Reading:
    """Let tshark and the plugin judge the connections of a capture.

    display_filter: only packets that match are looked at. Raises SetupError where there is no
    tshark, the file cannot be read or holds no packet, the filter is wrong, or the plugin fails.
    """
    if not capture.is_file():
        raise SetupError(f"there is no file {capture}")
    program, plugin = tshark.find(), files.plugin()
    if not program.lua:
        raise SetupError(f"{program.text} was built without Lua, which the plugin needs")
    if display_filter:
        _try(program, display_filter)
    tap = f"tfo,json,{display_filter}" if display_filter else "tfo,json"
    # Errors of a dissector are in the tree of their packet and nowhere else.
    arguments = ["-Y", "_ws.lua.error", *_ERRORS, "-z", tap]
    done = tshark.run_alone(program, arguments, capture=capture, plugin=plugin)
    warnings = _warnings(capture, done)
    errors, lines = _parts(done.output)
    if lines is None:
        raise SetupError(f"the plugin failed on {capture}: {_said(done)}")
    if errors:
        number, _, message = errors[0].partition("\t")
        noun = "packet" if len(errors) == 1 else "packets"
        told = f"the plugin failed on {len(errors)} {noun}, first on {number}: {message.strip()}"
        warnings = (*warnings, f"{told}; what became of their connections may be told wrongly")
    try:
        connections = tuple(_connection(json.loads(line)) for line in lines)
    except (ValueError, KeyError, TypeError) as error:
        raise SetupError(f"the plugin's answer on {capture} is damaged: {error!r}") from error
    packets, tcp = (None, None) if connections else _count(program, capture)
    if packets == 0 and not warnings:
        raise SetupError(f"{capture} contains no packets")
    return Reading(
        capture=capture,
        tool=program.text,
        connections=connections,
        warnings=warnings,
        packets=packets,
        tcp=tcp,
    )


def _try(program: tshark.Tshark, display_filter: str) -> None:
    """Raises SetupError where a filter is none: a tap would not say what is wrong with it."""
    arguments = ["-c", "1", "-Y", display_filter]
    done = tshark.run_alone(
        program, arguments, capture=files.sample(), plugin=files.plugin(), patience=_PATIENCE
    )
    if done.status:
        raise SetupError(f"'{display_filter}' is not a display filter: {_said(done)}")


def _warnings(capture: Path, done: tshark.Done) -> tuple[str, ...]:
    """What is to be told of a run whose result can be used. Raises SetupError where it cannot."""
    told = " ".join(done.complaints).replace("The standard input", str(capture))
    told = told.replace('The file "-"', str(capture))
    if "Lua" in told:
        raise SetupError(f"the plugin failed on {capture}: {told}")
    if done.status < 0:
        raise SetupError(f"tshark was killed by signal {-done.status} while reading {capture}")
    if not told and not done.status:
        return ()
    if _parts(done.output)[1] is not None:
        return (told or f"tshark ended with status {done.status}",)
    raise SetupError(f"tshark cannot read {capture}: {told or f'status {done.status}'}")


def _parts(output: str) -> tuple[list[str], list[str] | None]:
    """The lines of packets, and those of the plugin's JSON; None where it did not come to its
    end."""
    lines = output.splitlines()
    if _BEGIN not in lines or _END not in lines:
        return lines, None
    begin = lines.index(_BEGIN)
    return lines[:begin], lines[begin + 1 : lines.index(_END)]


def _connection(record: dict[str, Any]) -> Connection:
    return Connection(
        stream=record["stream"],
        client=record["client"],
        client_port=record["client_port"],
        server=record["server"],
        port=record["port"],
        outcome=record["outcome"],
        why=record.get("why", ""),
        frames=tuple(record.get("frames", ())),
        sent=record.get("sent"),
        acknowledged=record.get("acked"),
        resent=record.get("resent"),
        first_answer=record.get("first_answer"),
        rtt=record.get("rtt"),
        round_trips=record.get("round_trips"),
        seconds_lost=record.get("seconds_lost"),
        cookie=record.get("cookie", ""),
        problems=tuple(
            Problem(each["frame"], each["rule"], each["severity"])
            for each in record.get("problems", ())
        ),
    )


def _count(program: tshark.Tshark, capture: Path) -> tuple[int, int]:
    """How many packets there are, and how many of them are TCP."""
    arguments = ["-T", "fields", "-e", "frame.number", "-e", "tcp.stream"]
    lines = tshark.run_alone(program, arguments, capture=capture).output.splitlines()
    return len(lines), sum(bool(line.partition("\t")[2]) for line in lines)


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _said(done: tshark.Done) -> str:
    return done.complaints[0] if done.complaints else f"tshark ended with status {done.status}"

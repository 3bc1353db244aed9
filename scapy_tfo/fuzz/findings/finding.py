"""A finding: one way in which a target is wrong, with the smallest program found that shows it."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.oracle import counters
from scapy_tfo.oracle.parts.violation import Signature
from scapy_tfo.program.program import Program, from_json, to_json

ALIVE = "stays-alive"
"""Rule of a finding that no model makes: after a program the target serves nobody any more."""

BALANCED = counters.BALANCED.id
"""Rule of one about the target's own counters, which cannot all be true of what was sent."""

ROBUST = "robust"
"""In place of a requirement's id, for those rules: no clause has to say it."""

COLUMNS = (
    *("id", "requirement", "state", "reply", "cookie", "rule", "status", "expected", "actual"),
    *("seed", "number", "program", "reduced", "packet", "packets", "beside"),
    *("target", "version", "first_seen"),
)
"""Of a finding in a store, as the record has them."""

_NESTED = ("program", "reduced", "packets", "beside")


_LATEST = 2.0**33
"""Seconds since the epoch: in the 23rd century."""


class Status(enum.StrEnum):
    """CONFIRMED: it came each time it was tried. FLAKY: it did not."""

    CONFIRMED = "confirmed"
    FLAKY = "flaky"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One way in which a target is wrong.

    signature: of the reduced program's violation; two findings with one signature are one. rule:
    of the model. status: one of Status. number, seed, program: the first that showed it. reduced:
    what is left of that; steps and flows that are not needed are gone. packets: of a run of the
    reduced program; packet: number of the one that is wrong, or -1 for a silence. target,
    version: what was judged, and by which version of this tool. first_seen: seconds since the
    epoch. count: programs that showed it, before they were reduced. beside: what else was wrong in
    that run, see `causes.manner_of`.
    """

    signature: Signature
    rule: str
    status: Status
    number: int
    seed: int
    program: Program
    reduced: Program
    expected: str
    actual: str
    packets: tuple[TracedPacket, ...]
    packet: int
    target: str
    version: str
    first_seen: float
    count: int = 1
    beside: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The same in every store: requirement and a hash of the signature."""
        return finding_id(self.signature)

    @property
    def requirement(self) -> str:
        return self.signature[0]

    @property
    def state(self) -> str:
        return self.signature[1]

    @property
    def reply(self) -> str:
        return self.signature[2]

    @property
    def cookie(self) -> str:
        """The wrong cookies that show it, "" where none has to be sent."""
        return self.signature[3]


def finding_id(signature: Signature) -> str:
    """`ACC-2-3f9a1c` for a signature."""
    parts = signature if signature[3] else signature[:3]
    digest = blake2b("|".join(parts).encode(errors="surrogatepass"), digest_size=3).hexdigest()
    return f"{signature[0]}-{digest}"


def to_record(finding: Finding, *, new: bool | None = None) -> dict[str, Any]:
    """A finding as JSON has it. new: whether the list of known ones lacks it."""
    record: dict[str, Any] = {
        "id": finding.id,
        "requirement": finding.requirement,
        "state": finding.state,
        "reply": finding.reply,
        "cookie": finding.cookie,
        "rule": finding.rule,
        "status": finding.status.value,
        "count": finding.count,
        "expected": finding.expected,
        "actual": finding.actual,
        "steps": len(finding.reduced.steps),
        "seed": finding.seed,
        "number": finding.number,
        "program": to_json(finding.program),
        "reduced": to_json(finding.reduced),
        "packet": finding.packet,
        "packets": packets_to_json(finding.packets),
        "beside": list(finding.beside),
        "target": finding.target,
        "version": finding.version,
        "first_seen": finding.first_seen,
    }
    if new is not None:
        record["new"] = new
    return record


def from_record(raw: dict[str, Any]) -> Finding:
    """The reverse of `to_record`. Raises ProgramError, KeyError, TypeError or ValueError."""
    packets, packet = packets_from_json(raw["packets"]), int(raw["packet"])
    if packets and not -1 <= packet < len(packets):
        raise ValueError(f"there is no packet {packet} among {len(packets)}")
    return Finding(
        signature=(
            *(_text(raw, "requirement"), _text(raw, "state"), _text(raw, "reply")),
            _text({"cookie": "", **raw}, "cookie"),
        ),
        rule=_text(raw, "rule"),
        status=Status(raw["status"]),
        number=int(raw["number"]),
        seed=int(raw["seed"]),
        program=from_json(raw["program"]),
        reduced=from_json(raw["reduced"]),
        expected=_text(raw, "expected"),
        actual=_text(raw, "actual"),
        packets=packets,
        packet=packet,
        target=_text(raw, "target"),
        version=_text(raw, "version"),
        first_seen=_time(raw["first_seen"]),
        count=int(raw["count"]),
        beside=tuple(map(str, raw.get("beside", ()))),
    )


def _text(raw: Mapping[str, Any], name: str) -> str:
    found = raw[name]
    if not isinstance(found, str):
        raise TypeError(f"{name} is {type(found).__name__}, not text")
    return found


def _time(raw: Any) -> float:
    """Seconds, which a capture and a script can hold."""
    found = float(raw)
    if not 0 <= found < _LATEST:
        raise ValueError(f"{found} is no time")
    return found


def packets_to_json(packets: Iterable[TracedPacket]) -> list[dict[str, Any]]:
    """Packets in hex, with their seconds and direction, and whether at the other target."""
    return [
        {"when": round(each.when, 6), "sent": each.outbound, "data": each.data.hex()}
        | ({"other": True} if each.other else {})
        for each in packets
    ]


def packets_from_json(raw: Sequence[dict[str, Any]]) -> tuple[TracedPacket, ...]:
    """The reverse. Raises KeyError, TypeError or ValueError."""
    return tuple(
        TracedPacket(
            _time(each["when"]),
            bool(each["sent"]),
            bytes.fromhex(each["data"]),
            bool(each.get("other", False)),
        )
        for each in raw
    )


def to_row(finding: Finding) -> dict[str, Any]:
    """The record as columns of the store: lists and programs are JSON."""
    record = to_record(finding)
    return {name: _column(record[name]) for name in COLUMNS}


def from_row(row: Mapping[str, Any], count: int) -> Finding:
    """The reverse. count: of the sightings. Raises as `from_record` does."""
    nested = {name: json.loads(row[name]) for name in _NESTED}
    return from_record({**{name: row[name] for name in COLUMNS}, **nested, "count": count})


def _column(held: Any) -> Any:
    return json.dumps(held, separators=(",", ":")) if isinstance(held, dict | list) else held

"""The rules of `specs/tcp-rules.toml`: what plain TCP demands and a peer can see, as values.

The file is looked for where `scapy_tfo.spec` looks for the requirements.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapy_tfo import freedoms, spec
from scapy_tfo.errors import SetupError
from scapy_tfo.spec import Level

FILE = "tcp-rules.toml"

JUDGES = ("any", "server", "client")
"""Whose packets a rule judges."""

SYNCHRONIZED = (
    *("ESTABLISHED", "FIN-WAIT-1", "FIN-WAIT-2", "CLOSE-WAIT"),
    *("CLOSING", "LAST-ACK", "TIME-WAIT"),
)
"""The states of a connection that both ends know of (RFC 9293 section 3.5.2, third group)."""

STATES = ("CLOSED", "LISTEN", "SYN-SENT", "SYN-RECEIVED", *SYNCHRONIZED)
"""RFC 9293 section 3.3.2."""

PROBLEMS = (
    "No initial slow start",
    "No slow start after retransmission timeout",
    "Uninitialized CWND",
    "Inconsistent retransmission",
    "Failure to retain above-sequence data",
    "Extra additive constant in congestion avoidance",
    "Initial RTO too low",
    "Failure of window deflation after loss recovery",
    "Excessively short keepalive connection timeout",
    "Failure to back off retransmission timeout",
    "Insufficient interval between keepalives",
    "Window probe deadlock",
    "Stretch ACK violation",
    "Retransmission sends multiple packets",
    "Failure to send FIN notification promptly",
    "Failure to send a RST after Half Duplex Close",
    "Failure to RST on close with data pending",
    "Options missing from TCP MSS calculation",
)
"""The problems of RFC 2525, sections 2.1 to 2.18, by name."""

_ALIASES = {"any": STATES, "synchronized": SYNCHRONIZED}
_ID = re.compile(r"TCP-[A-Z]+-[1-9][0-9]*")
_SOURCE = re.compile(r"RFC [0-9]+ section [0-9.]*[0-9]")
_REQID = re.compile(r"(MUST|SHLD|MAY|REC)-[1-9][0-9]*")
_FIELDS: Mapping[str, type] = {
    "id": str,
    "source": str,
    "text": str,
    "level": str,
    "form": str,
    "statement": str,
    "judges": str,
    "states": list,
    "witness": str,
    "freedoms": list,
    "allows": str,
}
_OPTIONAL: Mapping[str, type] = {
    "reqid": list,
    "seconds": float,
    "bound": str,
    "rule": list,
    "unwatched": str,
    "shown": dict,
    "problem": str,
}
_SHOWN = ("mutant", "case", "schedule")
_UNJUDGED: Mapping[str, type] = {"reqid": list, "reason": str}
_TABLES = {"topics": dict, "rule": list, "unjudged": list}
_WHAT = {
    str: "a string that is not empty",
    list: "an array of strings",
    float: "seconds above 0",
    dict: "a table",
}


class Form(enum.StrEnum):
    """What a rule says of the packets that it judges.

    NEVER: they must not come. MUST_WITHIN: they must come within some time. MAY_ONLY_IF: they may
    come under a condition.
    """

    NEVER = "never"
    MUST_WITHIN = "must within"
    MAY_ONLY_IF = "may only if"


class Witness(enum.StrEnum):
    """What a breach is.

    PACKET: one that came. SILENCE: nothing came. COUNT: too many or too few came, or what several
    have in common.
    """

    PACKET = "packet"
    SILENCE = "silence"
    COUNT = "count"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What shows that something tells of a rule that no rule of traffic judges.

    mutant: a wrong stack that breaks it. case: the id of a case or stimulus that tells; schedule:
    an opening, a server, and a client of `scapy-tfo explore`; with neither, programs of the fuzzer
    do.
    """

    mutant: str
    case: str = ""
    schedule: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpRule:
    """One rule that a peer can see kept or broken.

    id: topic and number, e.g. `TCP-RST-2`. source: the RFC's section that `text` is quoted from.
    statement: the rule in our words. judges: one of JUDGES. states: of the end that is judged,
    some of STATES. seconds: the longest time for MUST_WITHIN; otherwise the least that must pass,
    or None. bound: where that figure comes from. freedoms: ids in specs/ that limit the rule.
    allows: what a right stack may still do. rule: ids of the oracle's rules that judge it;
    unwatched: where there is none, why. shown: where none of them is a rule of traffic, by what
    a breach is told all the same; None where nothing can tell. problem: one of PROBLEMS, or "".
    reqid: ids in RFC 9293, appendix B.
    """

    id: str
    source: str
    text: str
    level: Level
    form: Form
    statement: str
    judges: str
    states: tuple[str, ...]
    witness: Witness
    freedoms: tuple[str, ...]
    allows: str
    seconds: float | None = None
    bound: str = ""
    rule: tuple[str, ...] = ()
    unwatched: str = ""
    shown: Shown | None = None
    problem: str = ""
    reqid: tuple[str, ...] = ()

    @property
    def topic(self) -> str:
        """The middle of the id, e.g. "RST"."""
        return self.id.split("-")[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """Rows of RFC 9293, appendix B, that no rule judges. reason: why none does."""

    reqid: tuple[str, ...]
    reason: str


class TcpRules(Mapping[str, TcpRule]):
    """Rules by id, in the order of the file.

    topics: what the middle part of an id stands for, e.g. "RST" for "Resets", in the same order.
    """

    def __init__(
        self,
        rules: Mapping[str, TcpRule],
        topics: Mapping[str, str],
        unjudged: tuple[Unjudged, ...],
    ) -> None:
        self._rules = dict(rules)
        self.topics = dict(topics)
        self.unjudged = unjudged

    def __getitem__(self, key: str) -> TcpRule:
        return self._rules[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def about(self, topic: str) -> tuple[TcpRule, ...]:
        """The rules of one topic, e.g. "RST"."""
        return tuple(each for each in self._rules.values() if each.topic == topic)


def load(where: Path | None = None) -> TcpRules:
    """The rules of the file in `where`, or in spec.directory() for None.

    Raises SetupError for a missing or damaged file: one line that names the file, the entry, the
    field, and what to do. A run needs them several times: what did not change is read once.
    """
    base = spec.directory() if where is None else where
    return _loaded(base, tuple(map(_changed, (base / FILE, base / freedoms.FILE))))


def _changed(path: Path) -> int:
    """When a file was changed last, in nanoseconds; 0 for a file that is missing."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@functools.lru_cache(maxsize=1)
def _loaded(base: Path, changed: tuple[int, ...]) -> TcpRules:  # noqa: ARG001 - part of the key
    path = base / FILE
    data = spec.read_toml(path, "the rules of TCP")
    if {name: type(value) for name, value in data.items()} != _TABLES:
        raise SetupError(
            f"{path}: write each rule as a [[rule]] table, each row of RFC 9293 that none judges "
            "as an [[unjudged]] table, what ids stand for as [topics], and nothing else"
        )
    known = freedoms.load(base)
    found: dict[str, TcpRule] = {}
    for number, entry in enumerate(data["rule"], 1):
        each = _rule(f"{path}, rule {number}", entry, known)
        if each.id in found:
            raise _damaged(f"{path}, rule {number}", "id", f"{each.id} is used twice; rename one")
        found[each.id] = each
    _check_topics(f"{path}, topics", data["topics"], found)
    left = [_unjudged(f"{path}, unjudged {n}", e) for n, e in enumerate(data["unjudged"], 1)]
    return TcpRules(found, data["topics"], tuple(left))


def _rule(where: str, entry: Any, known: Mapping[str, freedoms.Freedom]) -> TcpRule:
    if isinstance(entry, dict) and isinstance(entry.get("id"), str):
        where += f" ({entry['id']})"
    _check_fields(where, entry, _FIELDS, _OPTIONAL)
    for name, pattern, example in (
        ("id", _ID, "TCP-RST-2"),
        ("source", _SOURCE, "RFC 9293 section 3.10.7.1"),
    ):
        if not pattern.fullmatch(entry[name]):
            raise _damaged(where, name, f"{entry[name]!r} is not written as in {example}")
    _check_reqid(where, entry.get("reqid", []))
    for name, values, allowed in (
        ("level", [entry["level"]], tuple(Level)),
        ("form", [entry["form"]], tuple(Form)),
        ("judges", [entry["judges"]], JUDGES),
        ("witness", [entry["witness"]], tuple(Witness)),
        ("states", entry["states"], (*STATES, *_ALIASES)),
        ("freedoms", entry["freedoms"], tuple(known)),
        ("problem", [entry["problem"]] if "problem" in entry else [], PROBLEMS),
    ):
        for value in values:
            if value not in allowed:
                told = ", ".join(allowed) if name != "freedoms" else f"the ids in {freedoms.FILE}"
                raise _damaged(where, name, f"{value!r} is none of {told}")
    _check_time(where, entry)
    if ("rule" in entry) == ("unwatched" in entry):
        raise _damaged(where, "rule", "name what judges it, or say in unwatched why nothing does")
    named = {each for word in entry["states"] for each in _ALIASES.get(word, (word,))}
    return TcpRule(
        **{
            **entry,
            "level": Level(entry["level"]),
            "form": Form(entry["form"]),
            "witness": Witness(entry["witness"]),
            "shown": _shown(where, entry["shown"]) if "shown" in entry else None,
            "states": tuple(each for each in STATES if each in named),
            **{
                name: tuple(entry.get(name, ()))
                for name, kind in {**_FIELDS, **_OPTIONAL}.items()
                if kind is list and name != "states"
            },
        }
    )


def _shown(where: str, entry: Mapping[str, Any]) -> Shown:
    rest = {name: value for name, value in entry.items() if name != "schedule"}
    sound = set(entry) <= set(_SHOWN) and len(entry) <= 2 and "mutant" in entry
    if not sound or not all(isinstance(each, str) and each for each in rest.values()):
        raise _damaged(
            where, "shown", "give a mutant, and a case or a schedule besides, or neither"
        )
    return Shown(**rest, schedule=tuple(entry.get("schedule", ())))


def _check_topics(where: str, topics: Mapping[str, Any], rules: Mapping[str, TcpRule]) -> None:
    used = dict.fromkeys(each.topic for each in rules.values())
    for topic in used:
        if not _is(str, topics.get(topic)):
            raise _damaged(where, topic, "say in a string what it stands for")
    for topic in topics:
        if topic not in used:
            raise _damaged(where, topic, "no rule has it; remove it")


def _check_time(where: str, entry: Mapping[str, Any]) -> None:
    if entry["form"] == Form.MUST_WITHIN and "seconds" not in entry:
        raise _damaged(where, "seconds", 'missing; form "must within" needs it')
    if ("seconds" in entry) != ("bound" in entry):
        raise _damaged(where, "bound", "give seconds and where they come from, or neither")


def _unjudged(where: str, entry: Any) -> Unjudged:
    _check_fields(where, entry, _UNJUDGED, {})
    _check_reqid(where, entry["reqid"])
    return Unjudged(reqid=tuple(entry["reqid"]), reason=entry["reason"])


def _check_reqid(where: str, ids: list[str]) -> None:
    for each in ids:
        if not _REQID.fullmatch(each):
            raise _damaged(where, "reqid", f"{each!r} is not written as in MUST-2")


def _check_fields(
    where: str, entry: Any, required: Mapping[str, type], optional: Mapping[str, type]
) -> None:
    if not isinstance(entry, dict):
        raise SetupError(f"{where}: write it as a table")
    for name in required:
        if name not in entry:
            raise _damaged(where, name, "missing; add it")
    for name, value in entry.items():
        kind = required.get(name) or optional.get(name)
        if kind is None:
            known = ", ".join((*required, *optional))
            raise _damaged(where, name, f"unknown; the fields are {known}")
        if not _is(kind, value):
            raise _damaged(where, name, f"must be {_WHAT[kind]}")
        if kind is list and (len(set(value)) < len(value) or not (value or name == "freedoms")):
            raise _damaged(where, name, "give at least one, each once")


def _is(kind: type, value: object) -> bool:
    if kind is float:
        return isinstance(value, float) and value > 0
    if kind is dict:
        return isinstance(value, dict)
    if kind is list:
        return isinstance(value, list) and all(isinstance(v, str) and v.strip() for v in value)
    return isinstance(value, str) and bool(value.strip())


def _damaged(where: str, field: str, what: str) -> SetupError:
    return SetupError(f"{where}: field {field}: {what}")

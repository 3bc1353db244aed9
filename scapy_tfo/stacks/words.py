"""The language of hooks, docs/hooks.md: one line asks, one line answers.

What an agent says is from outside. It is taken only where it keeps to the grammar, and within
limits of length and number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address

from scapy_tfo.lab.hooks import VERBS, HooksBrokenError, NotOfferedError, Session

VERSION = "1"

MAX_LINE = 64 << 20
"""Longest answer that is read, in bytes."""

MAX_VALUES = 4096
"""Values in an answer: as many sessions as the lab's own applications keep of a listener."""

MAX_TEXT = 200
"""Characters that are shown of what an agent says in words."""

_DIGITS = re.compile(r"0|[1-9][0-9]{0,17}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_ERROR = re.compile(r"-|[A-Z][A-Z0-9_]{0,31}")
_BYTES = re.compile(r"-|(?:[0-9a-f]{2})+")
_NOT_SHOWN = re.compile(r"[^\x20-\x7e]")


class GarbledError(HooksBrokenError):
    """What an agent says does not keep to the grammar."""


def asked(verb: str, *arguments: object) -> bytes:
    """The line that asks for something."""
    return " ".join([verb, *map(str, arguments)]).encode("ascii") + b"\n"


def shown(text: str) -> str:
    """Words of an agent as a message may quote them."""
    return _NOT_SHOWN.sub("?", text[:MAX_TEXT]).strip()


def values_of(line: bytes, verb: str) -> list[str]:
    """What the answer to a verb holds behind its `ok`.

    Raises NotOfferedError for a `no`, HooksBrokenError for an `error`, GarbledError for what is
    no answer. So do the functions below, for what does not belong there.
    """
    text = line.decode("ascii", "replace").rstrip("\r\n")
    word, _, rest = text.partition(" ")
    if word == "ok":
        return rest.split(" ", MAX_VALUES) if rest else []
    said = shown(rest) or "no reason given"
    if word == "no":
        raise NotOfferedError(f"what the hooks do not offer: '{verb}': {said}")
    if word == "error":
        raise HooksBrokenError(f"the agent says of '{verb}': {said}")
    raise GarbledError(f"the agent answers '{verb}' with {shown(text)!r}: not ok, no or error")


def verbs_of(values: Sequence[str]) -> frozenset[str]:
    """The verbs that the answer to `hello` names; those that we do not know are left out."""
    if values[:1] != [VERSION]:
        raise GarbledError(
            f"the agent speaks version {shown(' '.join(values[:1]))!r}, and this is {VERSION}: "
            f"it must answer 'hello {VERSION}' with 'ok {VERSION} VERB...'"
        )
    return frozenset(values[1:]) & set(VERBS)


def port_of(values: Sequence[str]) -> int:
    """The port that the answer to `listen` names."""
    number = _number(values[0]) if len(values) == 1 else 0
    if not 0 < number < 65536:
        raise GarbledError(f"the agent answers 'listen' without a port: {_quoted(values)}")
    return number


def sessions_of(values: Sequence[str]) -> list[Session]:
    """The sessions in the answer to `sessions`."""
    return [_session(each) for each in values]


def counters_of(values: Sequence[str]) -> dict[str, int]:
    """The counters in the answer to `counters`."""
    found = {}
    for each in values:
        name, _, value = each.partition("=")
        if not _NAME.fullmatch(name) or _number(value) < 0:
            raise GarbledError(f"the agent's counter {shown(each)!r} is not NAME=NUMBER")
        found[name] = int(value)
    return found


def _session(text: str) -> Session:
    fields = text.split(",")
    if len(fields) == 6:
        host, port, eof, state, error, received = fields
        counts = (_number(port), _number(eof))
        if (
            0 <= counts[0] < 65536
            and counts[1] >= 0
            and state in ("open", "closed")
            and _ERROR.fullmatch(error)
            and _BYTES.fullmatch(received)
        ):
            try:
                address = str(ip_address(host))
            except ValueError:
                address = ""
            if address:
                return Session(
                    (address, counts[0]),
                    b"" if received == "-" else bytes.fromhex(received),
                    counts[1],
                    "" if error == "-" else error,
                    state == "closed",
                )
    raise GarbledError(
        f"the agent's session {shown(text)!r} is not ADDRESS,PORT,EOFS,open|closed,ERROR,BYTES"
    )


def _number(text: str) -> int:
    """-1 where it is none."""
    return int(text) if _DIGITS.fullmatch(text) else -1


def _quoted(values: Sequence[str]) -> str:
    return repr(shown(" ".join(values)))

"""How a script is refused that asks an application for what it would not do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.errors import ScriptError


class RefusalError(Exception):
    """What the application would not do, at an event."""

    def __init__(self, event: tree.Event, problem: str) -> None:
        super().__init__(problem)
        self.event = event


@contextmanager
def placed(text: str, name: str) -> Iterator[None]:
    """Make a refusal a ScriptError with its place. text, name: of the script, for messages."""
    try:
        yield
    except RefusalError as refusal:
        at = refusal.event.at
        raise ScriptError(
            str(refusal), name=name, text=text, line=at.line, column=at.column
        ) from None

"""Takes the values of a TOML table one by one, and says of a wrong one what to write instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.shape import kind_of
from scapy_tfo.units import TIMES, seconds_of

_MISSING = object()
_NO_NUL = "a text without NUL characters"
_LONGEST = 3600.0


class Fields:
    """A table. where: the file, for messages. prefix: `start.` of the table [start].

    Every method raises SetupError for a value of another kind; a default makes it optional.
    """

    def __init__(self, raw: Mapping[str, Any], where: str, prefix: str = "") -> None:
        self._raw, self._where, self._prefix = raw, where, prefix
        self._taken: set[str] = set()

    def wrong(self, key: str, what: str, wanted: str) -> SetupError:
        """The error that says so: what is there, and what to write."""
        return SetupError(f"{self._where}: '{self._prefix}{key}' is {what}: write {wanted}")

    def _take(self, key: str, default: object, wanted: str) -> Any:
        self._taken.add(key)
        held = self._raw.get(key, default)
        if held is _MISSING:
            raise self.wrong(key, "missing", wanted)
        return held

    def text(self, key: str, default: Any = _MISSING) -> str:
        held = self._take(key, default, "a text")
        if not isinstance(held, str):
            raise self.wrong(key, kind_of(held), "a text")
        if "\0" in held:
            raise self.wrong(key, "not usable", _NO_NUL)
        return held

    def texts(self, key: str, wanted: str, default: Any = _MISSING) -> tuple[str, ...]:
        """One text or a list of them, which is not empty unless that is the default."""
        held = self._take(key, default, wanted)
        many = [held] if isinstance(held, str) else held
        if not isinstance(many, list | tuple) or not all(isinstance(each, str) for each in many):
            raise self.wrong(key, kind_of(held), wanted)
        if held is not default and not (many and all(many)):
            raise self.wrong(key, "empty", wanted)
        return tuple(many)

    def argv(self, key: str, default: Any = _MISSING) -> tuple[str, ...]:
        wanted = 'a list of the program and its arguments, such as ["./server", "-p", "7"]'
        held = self._take(key, default, wanted)
        if isinstance(held, str):
            raise self.wrong(key, "a text, and no shell splits it", wanted)
        words = self.texts(key, wanted, default)
        if any("\0" in each for each in words):
            raise self.wrong(key, "not usable", _NO_NUL)
        return words

    def words(self, key: str) -> dict[str, str]:
        """A table of texts, empty unless given."""
        wanted = 'a table of texts, such as { LANG = "C" }'
        held = self._take(key, {}, wanted)
        if not isinstance(held, dict) or not all(isinstance(each, str) for each in held.values()):
            raise self.wrong(key, kind_of(held), wanted)
        if any("\0" in name + each or "=" in name or not name for name, each in held.items()):
            raise self.wrong(key, "not usable", wanted)
        return held

    def choice(self, key: str, known: Sequence[str], default: str) -> str:
        held = self.text(key, default)
        if held not in known:
            raise self.wrong(key, repr(held), " or ".join(known) + did_you_mean(held, known))
        return held

    def flag(self, key: str, default: bool) -> bool:
        held = self._take(key, default, "true or false")
        if not isinstance(held, bool):
            raise self.wrong(key, kind_of(held), "true or false")
        return held

    def port(self, key: str) -> int | None:
        """None where there is none."""
        held = self._take(key, None, "a port")
        if held is None:
            return None
        if not isinstance(held, int) or isinstance(held, bool):
            raise self.wrong(key, kind_of(held), "a port, 1 to 65535")
        if not 0 < held < 65536:
            raise self.wrong(key, str(held), "a port, 1 to 65535")
        return held

    def seconds(self, key: str, default: float) -> float:
        held = self._take(key, default, f"a time: {TIMES}")
        if isinstance(held, bool):
            raise self.wrong(key, kind_of(held), f"a time: {TIMES}")
        try:
            value = seconds_of(held if isinstance(held, str) else f"{held:g}")
        except (TypeError, ValueError):
            said = repr(held) if isinstance(held, str) else kind_of(held)
            raise self.wrong(key, said, f"a time: {TIMES}") from None
        if not 0 < value <= _LONGEST:
            raise self.wrong(key, f"{value:g} s", f"a time above 0, and at most {_LONGEST:g} s")
        return value

    def table(self, key: str) -> Fields | None:
        """None where there is none."""
        held = self._take(key, None, f"a table [{key}]")
        if held is None:
            return None
        if not isinstance(held, dict):
            raise self.wrong(key, kind_of(held), f"a table [{key}]")
        return Fields(held, self._where, f"{key}.")

    def left(self) -> list[str]:
        """Keys that nobody has asked for."""
        return [each for each in self._raw if each not in self._taken]

    def end(self) -> None:
        """Refuse what nobody has asked for."""
        for key in self.left():
            hint = did_you_mean(key, self._taken)
            known = ", ".join(sorted(self._taken))
            raise self.wrong(key, f"unknown{hint}", f"one of {known}")

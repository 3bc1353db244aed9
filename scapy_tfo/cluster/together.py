"""How far the parts of a campaign or of an exploration are, all of them together."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Generic, TypeVar

W = TypeVar("W")


@dataclass
class Together(Generic[W]):
    """shards: how many there are. Threads may tell at the same time."""

    shards: int
    _told: dict[int, W] = field(default_factory=dict)
    _ended: set[int] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, number: int, word: W) -> None:
        """A worker is so far. One that begins a lost shard anew takes the place of the lost one."""
        with self._lock:
            self._told[number] = word

    def end(self, number: int) -> None:
        """A shard came back, or was given up."""
        with self._lock:
            self._ended.add(number)

    def told(self) -> list[W]:
        """The last word of each shard, also of those that have ended."""
        with self._lock:
            return list(self._told.values())

    def going(self) -> list[W]:
        """The last word of each shard that is under way."""
        with self._lock:
            return [each for number, each in self._told.items() if number not in self._ended]

    def some_wait(self) -> bool:
        """Whether nothing was heard of some shard."""
        with self._lock:
            return self.shards > len(self._told.keys() | self._ended)

    def __str__(self) -> str:
        with self._lock:
            ended, going = len(self._ended), len(self._told.keys() - self._ended)
        waiting = self.shards - ended - going
        return f"{ended} of {self.shards} shards ended, {going} under way, {waiting} waiting"

"""Which numbers of a stream were sent, and with which bytes."""

from __future__ import annotations

from bisect import bisect_right


class Pieces:
    """Bytes by relative sequence number, sent in any order and perhaps more than once.

    next: the number after the last one of the part that has no gap. end: the number after the
    highest one.
    """

    __slots__ = ("_ends", "_starts", "_texts", "end", "next")

    def __init__(self, start: int) -> None:
        self.next = self.end = start
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._texts: list[tuple[int, bytes]] = []

    def add(self, start: int, text: bytes, length: int) -> None:
        """Take in `length` numbers, of which the first ones are the bytes of `text`."""
        end = start + length
        if text:
            self._texts.append((start, text))
        self.end = max(self.end, end)
        if start <= self.next:
            self.next = max(self.next, end)
        else:
            at = bisect_right(self._starts, start)
            self._starts.insert(at, start)
            self._ends.insert(at, end)
        while self._starts and self._starts[0] <= self.next:
            del self._starts[0]
            self.next = max(self.next, self._ends.pop(0))

    def covers(self, start: int, end: int) -> bool:
        """Whether all numbers from `start` up to `end` were sent."""
        if end <= self.next:
            return True
        at = start if start > self.next else self.next
        for a, b in zip(self._starts, self._ends, strict=True):
            if a > at:
                break
            at = max(at, b)
        return at >= end

    def differs(self, start: int, text: bytes) -> int | None:
        """The first number at which `text` has another byte than every one sent there before;
        None where it has none."""
        end = start + len(text)
        allowed: dict[int, set[int]] = {}
        for a, known in self._texts:
            low, high = max(a, start), min(a + len(known), end)
            if low >= high:
                continue
            if (low, high) == (start, end) and known[low - a : high - a] == text:
                return None
            for number in range(low, high):
                allowed.setdefault(number, set()).add(known[number - a])
        for number in sorted(allowed):
            if text[number - start] not in allowed[number]:
                return number
        return None

"""Which numbers of a stream were sent, and with which bytes."""

from __future__ import annotations

from bisect import insort

from scapy_tfo.seq import before

_MOST_TEXT = 1 << 20
_MOST_NUMBERS = 1 << 14


class Pieces:
    """Bytes by relative sequence number, sent in any order and perhaps more than once.

    next: the number after the last one of the part that has no gap. end: the number after the
    highest one. Of the bytes, the last MiB at most is kept.
    """

    __slots__ = ("_kept", "_later", "_texts", "end", "next")

    def __init__(self) -> None:
        self.next = self.end = 0
        # Most connections have neither: so they are only made where they are needed.
        self._later: list[tuple[int, int]] | None = None
        self._texts: list[tuple[int, bytes]] | None = None
        self._kept = 0

    def add(self, start: int, text: bytes, length: int) -> None:
        """Take in `length` numbers, of which the first ones are the bytes of `text`."""
        end = start + length
        if text:
            self._keep(start, text)
        if end > self.end:
            self.end = end
        if start > self.next:
            if self._later is None:
                self._later = []
            insort(self._later, (start, end))
            return
        if end > self.next:
            self.next = end
        while self._later and self._later[0][0] <= self.next:
            self.next = max(self.next, self._later.pop(0)[1])

    def _keep(self, start: int, text: bytes) -> None:
        if self._texts is None:
            self._texts = []
        self._texts.append((start, text))
        self._kept += len(text)
        if self._kept > _MOST_TEXT:
            # Drop the bytes that came first, about half of them.
            del self._texts[: len(self._texts) // 2 + 1]
            self._kept = sum(len(each) for _, each in self._texts)

    def fill(self, end: int) -> None:
        """Take all numbers before `end` as sent, with bytes that nobody knows."""
        self.add(self.next, b"", max(end - self.next, 0))

    def covers(self, start: int, end: int) -> bool:
        """Whether all numbers from `start` up to `end` were sent."""
        if end <= self.next:
            return True
        at = start if start > self.next else self.next
        for a, b in self._later or ():
            if a > at:
                break
            at = max(at, b)
        return at >= end

    def differs(self, start: int, text: bytes) -> int | None:
        """The first number at which `text` has another byte than every one sent there before;
        None where it has none."""
        end = start + len(text)
        allowed: dict[int, set[int]] = {}
        for a, known in self._texts or ():
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


class Numbers:
    """Numbers modulo 2**32, of which the last 16,384 are kept.

    What is no younger than the youngest that was dropped counts as being there.
    """

    __slots__ = ("_dropped", "_kept")

    def __init__(self) -> None:
        self._kept: dict[int, None] = {}
        self._dropped: int | None = None

    def add(self, number: int) -> None:
        """Take in a number."""
        kept = self._kept
        if number in kept:
            return
        kept[number] = None
        if len(kept) > _MOST_NUMBERS:
            oldest = next(iter(kept))
            del kept[oldest]
            if self._dropped is None or before(self._dropped, oldest):
                self._dropped = oldest

    def __contains__(self, number: int) -> bool:
        return number in self._kept or (
            self._dropped is not None and not before(self._dropped, number)
        )

    def __bool__(self) -> bool:
        return bool(self._kept)

"""Tracks how much of a stream is complete when its pieces come in any order."""

from __future__ import annotations


class Assembly:
    """Pieces of a stream by their relative sequence numbers.

    next: the number behind what is whole from the start. fin: the number of FIN, None unless one
    came. gaps: something lies beyond `next`.
    """

    __slots__ = ("_pieces", "fin", "next")

    def __init__(self, start: int) -> None:
        self.next = start
        self.fin: int | None = None
        self._pieces: list[tuple[int, int]] = []

    @property
    def gaps(self) -> bool:
        return bool(self._pieces) or (self.fin is not None and self.fin >= self.next)

    @property
    def ended(self) -> bool:
        """FIN and all before it has come."""
        return self.fin is not None and self.next > self.fin

    def add(self, start: int, end: int, fin: bool = False) -> None:
        """Take the numbers from `start` up to `end`, and a FIN behind them; what lies behind an
        earlier FIN is nothing."""
        if self.fin is not None:
            end = min(end, self.fin)
        elif fin:
            self.fin = end
        if start > self.next:
            if end > start:
                self._pieces.append((start, end))
        else:
            self.next = max(self.next, end)
        if self._pieces:
            self._pieces.sort()
            while self._pieces and self._pieces[0][0] <= self.next:
                self.next = max(self.next, self._pieces.pop(0)[1])
        if self.fin is not None and self.next == self.fin:
            self.next += 1

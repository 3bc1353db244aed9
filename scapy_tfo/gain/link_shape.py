"""Describes what a link does to packets besides delaying them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scapy_tfo.gain.names import AUTO
from scapy_tfo.lab.links.link_model import Shape

QUEUE = 128 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """link: one of `LINKS`. down, up: bits a second towards the client and from it, None for no
    limit; queue: bytes in front of each. jitter: up to so many seconds more, each way. loss,
    duplicate, reorder: parts of the packets, each way."""

    link: str = AUTO
    down: float | None = None
    up: float | None = None
    queue: int = QUEUE
    jitter: float = 0.0
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0

    def shapes(self, rtt: float) -> tuple[Shape, Shape]:
        """From the client on, and back to it. rtt: seconds, both delays together."""
        way = Shape(
            delay=rtt / 2,
            queue=self.queue,
            jitter=self.jitter,
            loss=self.loss,
            duplicate=self.duplicate,
            reorder=self.reorder,
        )
        return replace(way, rate=self.up), replace(way, rate=self.down)

    @property
    def is_bare(self) -> bool:
        """It does nothing to packets but delay them."""
        return self == Line(link=self.link, queue=self.queue)

    @property
    def tells(self) -> str:
        """In words, "" where it is bare."""
        said = []
        for name, rate in (("down", self.down), ("up", self.up)):
            if rate is not None:
                shown = f"{rate / 1e6:g} M" if rate >= 1e6 else f"{rate / 1e3:g} k"
                said.append(f"{shown}bit/s {name}")
        if said:
            said.append(f"{self.queue} bytes of queue")
        if self.jitter:
            said.append(f"jitter {self.jitter * 1000:g} ms")
        for name in ("loss", "duplicate", "reorder"):
            if part := getattr(self, name):
                said.append(f"{name} {part * 100:g} %")
        return ", ".join(said)


BARE = Line()
"""A delay and nothing else."""

PAPERS = Line(down=4e6, up=256e3)
"""The link of the paper's page loads (section 6.1)."""

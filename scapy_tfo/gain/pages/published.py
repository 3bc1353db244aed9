"""Published page load times, measured with other pages, links and browsers."""

from __future__ import annotations

from dataclasses import dataclass

LEAST, MOST = 4, 41
"""The range of the improvements in the paper's table 1, in percent."""


@dataclass(frozen=True, slots=True)
class Published:
    """Seconds without fast open and with it. percent: the improvement as it was printed."""

    tcp: float
    tfo: float
    percent: float


PAPER: dict[tuple[str, float], Published] = {
    ("amazon", 0.02): Published(1.54, 1.48, 4),
    ("amazon", 0.1): Published(2.60, 2.34, 10),
    ("amazon", 0.2): Published(4.10, 3.66, 11),
    ("nytimes", 0.02): Published(3.70, 3.56, 4),
    ("nytimes", 0.1): Published(4.59, 4.30, 6),
    ("nytimes", 0.2): Published(6.73, 5.55, 18),
    ("wsj", 0.02): Published(5.74, 5.48, 5),
    ("wsj", 0.1): Published(7.08, 6.60, 7),
    ("wsj", 0.2): Published(9.46, 8.47, 11),
    ("wikipedia", 0.02): Published(2.10, 1.95, 7),
    ("wikipedia", 0.1): Published(3.49, 2.92, 16),
    ("wikipedia", 0.2): Published(5.15, 3.03, 41),
}
"""Table 1 of the paper, by page and round-trip time in seconds: averages of 20 loads."""

CS244: dict[tuple[str, float], Published] = {
    ("amazon", 0.02): Published(1.450884, 1.31965, 9.04),
    ("amazon", 0.1): Published(3.366808, 2.547842, 24.32),
    ("wsj", 0.02): Published(4.25573, 4.073823, 4.27),
    ("wsj", 0.1): Published(6.688445, 5.807929, 13.16),
    ("wikipedia", 0.02): Published(2.599715, 2.301599, 11.46),
    ("wikipedia", 0.1): Published(4.909855, 4.085305, 16.79),
    ("wikipedia", 0.2): Published(8.403108, 7.015135, 16.51),
}
"""The reproduction's table, in which seven loads of twelve succeeded. The names of its rows were
lost on the web page; the plots in its repository, whose time axes end at these times, identify the
pages."""

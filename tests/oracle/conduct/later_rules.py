"""Conversations that break the rules on time and on causes, and some that nearly do."""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo.segment import ACK, CWR, ECE, FIN, RST
from tests.oracle.conduct import later_talk as steps
from tests.oracle.conduct import sending_talk as sending
from tests.oracle.conduct.conversation import Conversation
from tests.oracle.conduct.later_talk import FULL

Script = Callable[[Conversation], object]

SIX = {"flow-label", "over-the-path", "path-tried-early", "resent-for-the-same"}
"""Rules on IPv6 alone."""

MORE: dict[str, tuple[Script, Script]] = {
    "fin-ack-late": (lambda talk: steps.ended(talk, 0.6), lambda talk: steps.ended(talk, 0.4)),
    "ack-late": (lambda talk: steps.acked(talk, 0.6), lambda talk: steps.acked(talk, 0.4)),
    "probe-unanswered": (
        lambda talk: steps.probed(talk, 1.2),
        lambda talk: steps.probed(talk, 0.8),
    ),
    "early-text-dropped": (
        lambda talk: steps.early(talk, 3),
        lambda talk: steps.early(talk, 2),
    ),
    "acks-stretch": (
        lambda talk: steps.full_segments(talk, 4, 0.03),
        lambda talk: steps.full_segments(talk, 2, 0.03),
    ),
    "deaf-while-closed": (
        lambda talk: steps.acked_by_a_probe(talk, 1),
        lambda talk: steps.acked_by_a_probe(talk, 4),
    ),
    "fin-late": (lambda talk: sending.closing(talk, 1.2), lambda talk: sending.closing(talk, 0.8)),
    "avoidance-too-fast": (
        lambda talk: sending.avoiding(talk, 2),
        lambda talk: sending.avoiding(talk, 1),
    ),
    "rate-kept": (
        lambda talk: sending.avoiding(talk, 1, first=7),
        lambda talk: sending.avoiding(talk, 1, first=5),
    ),
    "slows-for-a-quench": (
        lambda talk: sending.quenched(talk, 10, 2),
        lambda talk: sending.quenched(talk, 10, 5),
    ),
    "resent-for-the-same": (
        lambda talk: sending.told_twice(talk, 0.05),
        lambda talk: sending.told_twice(talk, 0.3),
    ),
    "text-unpushed": (
        lambda talk: sending.unpushed(talk, more=False),
        lambda talk: sending.unpushed(talk, more=True),
    ),
    "fills-small-windows": (
        lambda talk: sending.little_room(talk, 0.0),
        lambda talk: sending.little_room(talk, 0.1),
    ),
    "under-any-path": (
        lambda talk: sending.told_little(talk, 26, 26),
        lambda talk: sending.told_little(talk, 26, 20),
    ),
    "loss-untold": (lambda talk: steps.left(talk, b"123"), lambda talk: steps.left(talk, b"12345")),
    "window-stays-shut": (lambda talk: steps.shut(talk, 0), lambda talk: steps.shut(talk, 500)),
    "window-moves-on": (
        lambda talk: steps.unread(talk, 600_000),
        lambda talk: steps.unread(talk, 500_000),
    ),
    "ack-repeated": (lambda talk: steps.acks(talk, 0, 1), lambda talk: steps.acks(talk, 1, 0)),
    "ack-of-an-ack": (lambda talk: steps.acks(talk, 4, 4), lambda talk: steps.acks(talk, 4, 0)),
    "old-ack-taken": (lambda talk: steps.old(talk, 4), lambda talk: steps.old(talk, 1)),
    "rst-unprovoked": (steps.reset, lambda talk: steps.reset(talk, wrong=True)),
    "soft-error-aborts": (
        lambda talk: steps.reset(talk, icmp=(11, 0)),
        lambda talk: steps.reset(talk, icmp=(3, 3)),
    ),
    "lives-on-after-rst": (
        lambda talk: steps.after_rst(talk, b""),
        lambda talk: steps.after_rst(talk, b"", exact=False),
    ),
    "rst-with-text-ignored": (
        lambda talk: steps.after_rst(talk, b"why"),
        lambda talk: steps.after_rst(talk, b"why", flags=RST),
    ),
    "goes-on-after-its-rst": (
        lambda talk: steps.abort(talk, ACK),
        lambda talk: steps.abort(talk, RST | ACK),
    ),
    "challenges-unlimited": (
        lambda talk: steps.challenges(talk, 0.0),
        lambda talk: steps.challenges(talk, 0.001),
    ),
    "time-wait-short": (
        lambda talk: steps.fins(talk, RST, 1.2),
        lambda talk: steps.fins(talk, ACK, 1.2),
    ),
    "time-wait-silent": (
        lambda talk: steps.fins(talk, ACK, 0.5, silent=True),
        lambda talk: steps.fins(talk, ACK, 0.5),
    ),
    "not-repeated": (
        lambda talk: sending.unacked(talk, again=False),
        lambda talk: sending.unacked(talk, again=True),
    ),
    "fin-not-repeated": (
        lambda talk: sending.all_but_the_fin(talk, again=False),
        lambda talk: sending.all_but_the_fin(talk, again=True),
    ),
    "fin-again": (
        lambda talk: sending.fin_later(talk, FIN | ACK, 5),
        lambda talk: sending.fin_later(talk, ACK, 5),
    ),
    "timer-bursts": (lambda talk: sending.burst(talk, FULL), lambda talk: sending.burst(talk, b"")),
    "timeout-after-lost-handshake": (
        lambda talk: sending.lost_twice(talk, 10, gap=1.0),
        lambda talk: sending.lost_twice(talk, 10, gap=3.0),
    ),
    "timeout-limited": (
        lambda talk: sending.copies(talk, 1, 2, 4, 8, 16, 32, 32),
        lambda talk: sending.copies(talk, 1, 2, 4, 8, 16, 32, 60, 60),
    ),
    "keepalive-early": (lambda talk: steps.idle(talk, 60.0), lambda talk: steps.idle(talk, 7200.0)),
    "probe-missing": (
        lambda talk: steps.closed_window(talk, 9.0),
        lambda talk: steps.closed_window(talk, 6.0),
    ),
    "id-repeated": (
        lambda talk: steps.identified(talk, 7, 7, 7),
        lambda talk: steps.identified(talk, 7, 7, 8),
    ),
    "probes-end": (
        lambda talk: steps.closed_window(talk, 1, 2, 4, 30.0),
        lambda talk: steps.closed_window(talk, 1, 2, 4, 20.0),
    ),
    "probes-too-soon": (
        lambda talk: steps.closed_window(talk, 0.1),
        lambda talk: steps.closed_window(talk, 0.3),
    ),
    "probes-too-often": (
        lambda talk: steps.closed_window(talk, 1, 1, 1, 1),
        lambda talk: steps.closed_window(talk, 1, 2, 4),
    ),
    "flight-too-large": (
        lambda talk: sending.flight(talk, 14),
        lambda talk: sending.flight(talk, 10),
    ),
    "stays-inflated": (
        lambda talk: sending.recovered(talk, 24),
        lambda talk: sending.recovered(talk, 12),
    ),
    "no-fast-retransmit": (
        lambda talk: sending.duplicates(talk, 3, 4, late=0.3),
        lambda talk: sending.duplicates(talk, 3, 4, late=0.1),
    ),
    "resends-too-soon": (
        lambda talk: sending.duplicates(talk, 2, 4),
        lambda talk: sending.duplicates(talk, 3, 4),
    ),
    "resends-another": (
        lambda talk: sending.duplicates(talk, 3, 1464),
        lambda talk: sending.duplicates(talk, 3, 4),
    ),
    "window-after-lost-handshake": (
        lambda talk: sending.lost_twice(talk, 1460, 1460),
        lambda talk: sending.lost_twice(talk, 1460),
    ),
    "clock-stands": (
        lambda talk: steps.ticks(talk, 3.0, 0),
        lambda talk: steps.ticks(talk, 3.0, 1),
    ),
    "clock-races": (
        lambda talk: steps.ticks(talk, 1.0, 40_000_000),
        lambda talk: steps.ticks(talk, 1.0, 10_000_000),
    ),
    "report-left-out": (steps.reports, lambda talk: steps.reports(talk, (11, 21))),
    "duplicate-of-nothing": (
        lambda talk: steps.told(talk, sent=1, told=1),
        lambda talk: steps.told(talk, sent=2, told=1),
    ),
    "duplicate-again": (
        lambda talk: steps.told(talk, sent=2, told=2),
        lambda talk: steps.told(talk, sent=2, told=1),
    ),
    "copy-marked": (lambda talk: steps.copy(talk, 0, 2), lambda talk: steps.copy(talk, 0, 0)),
    "copy-with-cwr": (lambda talk: steps.copy(talk, CWR, 0), lambda talk: steps.copy(talk, 0, 0)),
    "mark-unanswered": (lambda talk: steps.marked(talk, 0), lambda talk: steps.marked(talk, ECE)),
    "reduction-untold": (
        lambda talk: steps.reduced(talk, 0),
        lambda talk: steps.reduced(talk, CWR),
    ),
    "answers-a-group": (
        lambda talk: steps.group(talk, one=False),
        lambda talk: steps.group(talk, one=True),
    ),
    "last-hop-dropped": (lambda talk: steps.far(talk, 4.0), lambda talk: steps.far(talk, 1.0)),
    "over-the-path": (
        lambda talk: sending.narrow(talk, 1400),
        lambda talk: sending.narrow(talk, 1220),
    ),
    "iss-used-before": (
        lambda talk: steps.reopened(talk, 7_400),
        lambda talk: steps.reopened(talk, 7_502),
    ),
    "path-tried-early": (
        lambda talk: sending.narrow_again(talk, 1400, 1400),
        lambda talk: sending.narrow_again(talk, 1220, 1400),
    ),
    "text-not-delivered": (
        lambda talk: steps.got(talk, b"123"),
        lambda talk: steps.got(talk, b"12345"),
    ),
    "iss-on-a-line": (lambda talk: steps.line(talk, 10), lambda talk: steps.line(talk, 9)),
}
"""By rule: what breaks it, and what nearly does."""

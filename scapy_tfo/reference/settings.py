"""Every choice that the RFC or the paper leaves to the host, by name, with the RFC's default."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

from scapy_tfo.option import Form
from scapy_tfo.reference.parts.signatures import Signature


class InitialWindow(enum.Enum):
    """How much may be sent before the first acknowledgement."""

    RFC3390 = "RFC 3390"
    RFC6928 = "RFC 6928"

    def bytes_for(self, mss: int) -> int:
        """The initial congestion window in bytes for segments of `mss` bytes."""
        if self is InitialWindow.RFC3390:
            return min(4 * mss, max(2 * mss, 4380))
        return min(10 * mss, max(2 * mss, 14600))


class Undo(enum.Enum):
    """How a retransmission timeout that came too early is found out, and then taken back."""

    OFF = "off"
    TIMESTAMPS = "RFC 4015"
    FRTO = "RFC 5682"


class Icmp(enum.Enum):
    """What ICMP errors do to connections (RFC 1122 section 4.2.3.9, RFC 5461, RFC 5927).

    IGNORED: nothing, not even packet-too-big. ADVICE: they end none; one that ends for another
    reason is told the error. SYN_SENT: hard errors end a connection in SYN-SENT, as RFC 5461
    section 4.1 describes. HARD: they end any, as RFC 1122 says.
    """

    IGNORED = "ignored"
    ADVICE = "advice"
    SYN_SENT = "before an answer"
    HARD = "always"


class SynCookies(enum.Enum):
    """When a listener answers a SYN without keeping a state (RFC 4987 section 3.6)."""

    OFF = "off"
    WHEN_FULL = "when the backlog is full"
    ALWAYS = "always"


class AcceptFull(enum.Enum):
    """What becomes of a handshake while the application has not accepted what waits.

    DROP_SYN: SYNs and final ACKs are dropped, as by Linux. DROP_ACK: SYNs are answered, and the
    final ACK is dropped, so that the SYN-ACK goes out again. RESET: the final ACK is answered by
    RST. Under the last two a fast open becomes a plain handshake.
    """

    DROP_SYN = "drop SYNs"
    DROP_ACK = "drop ACKs"
    RESET = "reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a host behaves. Times are in seconds, sizes in bytes.

    Options and windows:
    mtu: of the link; the MSS advertised follows from it (RFC 9293 section 3.7.1).
    timestamps, sack, window_scaling: options offered, and agreed to when offered.
    timestamps_required: drop segments without the timestamps that were agreed, in silence (RFC
        7323 section 3.2, a SHOULD), or take them.
    other_syn_options: bytes of option space that something else takes in every SYN of the host,
        TCP MD5 (18) for one; they are filled with NOP (paper 4.4).
    dsack: report text that came twice (RFC 2883). Where SACK was agreed.
    keep_early_text: keep text past a gap until the gap is filled (RFC 9293 SHLD-31), or drop it.
    signature: a key of TCP MD5 (RFC 2385) or TCP-AO (RFC 5925): all segments are signed with it,
        and those that come without are dropped in silence. It takes 18 or 16 bytes of each header.
    receive_window: offered to peers; its scale follows from it. Any size, also tiny and odd ones.
    advertised_mss: the MSS offered, whatever the link carries; None for what follows from `mtu`.
    ack_delay: how long an acknowledgement may wait for data to go with, 0 to 0.5 s (RFC 1122
        section 4.2.3.2); 0 for never. ack_every: an ACK for that many full segments at once; 2 is
        the most that RFC 5681 section 4.2 has in mind, and more make a stretch ACK (RFC 2525 2.13).
    half_duplex_close: text that comes after `close`, or that was not read before it, is answered
        by RST (RFC 9293 section 3.6.1, RFC 1122 4.2.2.13). Otherwise `close` ends one direction.
    initial_window: RFC 3390 is what RFC 7413 section 4.2.2 names; a number is one of segments, 1
        to 10 (RFC 6928).
    nagle: a segment that is not full waits while anything is not acknowledged (RFC 9293 3.7.4).
    ecn: offer ECN and agree to it (RFC 3168); not in SYNs that are sent again.

    IP headers:
    ttl: TTL or hop limit. dscp: 0 to 63. ip_ids: "zero", "counted" or "random"; all are right
        where packets are not to be fragmented (RFC 6864 section 4.1). flow_labels: one for each
        flow (RFC 6437), or 0.
    icmp: see `Icmp`.

    Timers:
    initial_rto, min_rto, max_rto: of RFC 6298, which wants 1 s, 1 s, and at least 60 s; stacks
        have 0.2 to 3 s for the first two. The timeout is doubled each time.
    linear_retries: SYNs and SYN-ACKs that are sent again before the timeout is doubled (4 of
        Linux's SYNs, tcp_syn_linear_timeouts). rto_after_lost_handshake: RFC 6298 section 5.7.
    undo: see `Undo`.
    syn_retries: 7 make the 3 minutes that RFC 9293 MUST-23 wants. syn_ack_retries, data_retries:
        give up after that many.
    msl: RFC 9293 section 3.4.2. time_wait: TIME-WAIT lasts so long; None for 2 MSL (RFC 9293
        section 3.6.1, where RFC 6191 lets a SYN end it earlier).
    challenges_per_second: challenge ACKs of one connection (RFC 5961 section 7 names 10 in 5 s
        as an example; this is generous, so that silence means something).
    echoes_per_second: acknowledgements of unacceptable segments that have no length.

    Server, handshake. `Stack.listen` takes settings for one listener:
    syn_cookies: see `SynCookies`; a SYN that is answered so is no fast open.
    syn_cookie_timestamps: SACK and window scale survive a SYN cookie in the timestamps, where the
        client offers these; otherwise a SYN cookie loses all options but the MSS.
    accept_full: see `AcceptFull`.
    connections_at_once: a SYN beyond so many connections on a port is dropped; None for no such
        limit. (Stacks for small devices have one socket for each connection.)
    refuse_when_full: a SYN over the backlog or that limit is answered by RST, not dropped.
    reset_syn_fin: a SYN with FIN that is not taken is answered by RST, not dropped.
    keep_syn_data: data of a SYN that is no fast open is acknowledged with it, and handed over
        when the handshake is done (RFC 9293 section 3.10.7.2), not dropped.
    syn_ack_delay: seconds until a SYN is answered.
    syn_ack_window: bytes offered in the SYN-ACK, at most 65,535; None for `receive_window`. The
        rest is offered `window_opens_after` seconds after the handshake. (0 is what a proxy sends
        that first connects to the server behind it.)
    migrate: when one of the listeners that share a port closes, another takes over what it has
        not accepted yet (as Linux does with tcp_migrate_req); otherwise that is reset.
    first_isn: the ISN of the first connection, each later one 64,000 above the one before; None
        for random ISNs (RFC 9293 section 3.4.1, RFC 6528).

    Server, fast open:
    forms: kinds of the option that are understood; each is answered in its own.
    host_pending_limit: pending fast opens of all listeners together; None for no such limit.
    reset_timeout: seconds for which a fast open that is reset while pending goes on counting (RFC
        7413 section 5.1, paper 3.4.1).
    client_pending_limit: pending fast opens of one client address (paper 7.3), None for no
        such limit; client_pending_size: addresses that are watched, least recent forgotten.
    cookieless: SYN data needs no option, a bad cookie does no harm, and none are handed out (RFC
        7413 section 7.3).
    syn_data_limit: bytes of SYN data taken at most; None for all that fits the window.
    accept_syn_fin: take a FIN in a SYN, as RFC 9293 allows; or drop the segment, as most do.
    hold_last_ack: stay in LAST-ACK for 2 MSL, so that late duplicates of the SYN are not
        replayed to the application (paper 3.5).
    wait_for_handshake: send no data before the handshake ends (paper 3.4.2, RFC 7413 5.2).

    Client, fast open:
    client_form: kind under which it is sent.
    data_without_cookie: send SYN data without having a cookie (RFC 7413 section 7.3).
    cache_size: servers remembered, least recently used forgotten (paper 5.1).
    cap_mss: limit SYN data to 1460 (IPv4) or 1440 bytes (IPv6), whatever the server said
        (section 4.1.3).
    syn_timer_from_rtt: time the SYN by 1.5 times the cached RTT (paper 4.1).
    negative_lifetime: for how long a path that refused fast open is left alone (section 4.1.3.1).
    request_again_after: when a server that gave no cookie is asked again (section 4.2.1).
    forget_on_silence: forget a server whose first SYN-ACK to a request has no cookie
        (section 4.2.1 step 3).
    """

    mtu: int = 1500
    timestamps: bool = True
    sack: bool = True
    window_scaling: bool = True
    timestamps_required: bool = True
    dsack: bool = False
    keep_early_text: bool = True
    signature: Signature | None = None
    other_syn_options: int = 0
    receive_window: int = 262_144
    advertised_mss: int | None = None
    ack_delay: float = 0.0
    ack_every: int = 2
    half_duplex_close: bool = False
    initial_window: InitialWindow | int = InitialWindow.RFC3390
    nagle: bool = False
    ecn: bool = False

    ttl: int = 64
    dscp: int = 0
    ip_ids: Literal["zero", "counted", "random"] = "zero"
    flow_labels: bool = False
    icmp: Icmp = Icmp.SYN_SENT

    initial_rto: float = 1.0
    min_rto: float = 1.0
    max_rto: float = 60.0
    linear_retries: int = 0
    rto_after_lost_handshake: float = 3.0
    undo: Undo = Undo.OFF
    syn_retries: int = 7
    syn_ack_retries: int = 5
    data_retries: int = 8
    msl: float = 120.0
    time_wait: float | None = None
    challenges_per_second: int = 1000
    echoes_per_second: int = 10

    syn_cookies: SynCookies = SynCookies.OFF
    syn_cookie_timestamps: bool = False
    accept_full: AcceptFull = AcceptFull.DROP_SYN
    connections_at_once: int | None = None
    refuse_when_full: bool = False
    reset_syn_fin: bool = False
    keep_syn_data: bool = False
    syn_ack_delay: float = 0.0
    syn_ack_window: int | None = None
    window_opens_after: float = 0.0
    migrate: bool = False
    first_isn: int | None = None

    forms: frozenset[Form] = frozenset(Form)
    host_pending_limit: int | None = None
    reset_timeout: float = 60.0
    client_pending_limit: int | None = None
    client_pending_size: int = 10_000
    cookieless: bool = False
    syn_data_limit: int | None = None
    accept_syn_fin: bool = False
    hold_last_ack: bool = False
    wait_for_handshake: bool = False

    client_form: Form = Form.IANA
    data_without_cookie: bool = False
    cache_size: int = 10_000
    cap_mss: bool = True
    syn_timer_from_rtt: bool = False
    negative_lifetime: float = 600.0
    request_again_after: float = 600.0
    forget_on_silence: bool = False

    def initial_window_for(self, mss: int) -> int:
        """The initial congestion window in bytes for segments of `mss` bytes."""
        if isinstance(self.initial_window, InitialWindow):
            return self.initial_window.bytes_for(mss)
        return self.initial_window * mss

    @property
    def marks_packets(self) -> bool:
        """Whether IP headers differ from what a segment has by itself."""
        return (self.ttl, self.dscp, self.ip_ids, self.flow_labels) != (64, 0, "zero", False)

    @property
    def window_shift(self) -> int:
        """The least shift that lets the window field hold `receive_window` (RFC 7323 2.3)."""
        return max(0, (self.receive_window >> 16).bit_length())

    @property
    def time_wait_length(self) -> float:
        """Seconds in TIME-WAIT."""
        return 2 * self.msl if self.time_wait is None else self.time_wait

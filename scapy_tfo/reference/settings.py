"""Every choice that the RFC or the paper leaves to the host, by name, with the RFC's default."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from scapy_tfo.option import Form


class InitialWindow(enum.Enum):
    """How much may be sent before the first acknowledgement."""

    RFC3390 = "RFC 3390"
    RFC6928 = "RFC 6928"

    def bytes_for(self, mss: int) -> int:
        """The initial congestion window in bytes for segments of `mss` bytes."""
        if self is InitialWindow.RFC3390:
            return min(4 * mss, max(2 * mss, 4380))
        return min(10 * mss, max(2 * mss, 14600))


class Cookieless(enum.Enum):
    """Whether SYN data is taken without a cookie (RFC 7413 section 7.3).

    EMPTY: an option with an empty cookie is enough. ANY: no option is needed, and a bad cookie
    does no harm; no cookies are handed out.
    """

    OFF = "off"
    EMPTY = "empty"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a host behaves. Times are in seconds, sizes in bytes.

    Options and windows:
    mtu: of the link; the MSS advertised follows from it (RFC 9293 section 3.7.1).
    timestamps, sack, window_scaling: options offered, and agreed to when offered.
    other_syn_options: bytes of option space that something else takes in every SYN of the host,
        TCP MD5 (18) for one; they are filled with NOP (paper 4.4).
    receive_window: offered to peers; its scale follows from it.
    initial_window: RFC 3390 is what RFC 7413 section 4.2.2 names.

    Timers:
    initial_rto, min_rto, max_rto: of RFC 6298. syn_retries: 7 make the 3 minutes that RFC 9293
        MUST-23 wants. syn_ack_retries, data_retries: give up after that many. msl: RFC 9293
        section 3.4.2. challenges_per_second: challenge ACKs of one connection (RFC 5961 section
        7 names 10 in 5 s as an example; this is generous, so that silence means something).
        echoes_per_second: acknowledgements of unacceptable segments that have no length.

    Server, fast open:
    forms: kinds of the option that are understood; each is answered in its own.
    host_pending_limit: pending fast opens of all listeners together; None for no such limit.
    reset_accounting: a fast open that is reset while pending counts for `reset_timeout` more
        (RFC 7413 section 5.1, paper 3.4.1).
    client_pending_limit: pending fast opens of one client address (paper 7.3), None for no
        such limit; client_pending_size: addresses that are watched, least recent forgotten.
    cookieless: RFC 7413 section 7.3.
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
    other_syn_options: int = 0
    receive_window: int = 262_144
    initial_window: InitialWindow = InitialWindow.RFC3390

    initial_rto: float = 1.0
    min_rto: float = 1.0
    max_rto: float = 60.0
    syn_retries: int = 7
    syn_ack_retries: int = 5
    data_retries: int = 8
    msl: float = 120.0
    challenges_per_second: int = 1000
    echoes_per_second: int = 10

    forms: frozenset[Form] = frozenset(Form)
    host_pending_limit: int | None = None
    reset_accounting: bool = True
    reset_timeout: float = 60.0
    client_pending_limit: int | None = None
    client_pending_size: int = 10_000
    cookieless: Cookieless = Cookieless.OFF
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

    @property
    def window_shift(self) -> int:
        """The least shift that lets the window field hold `receive_window` (RFC 7323 2.3)."""
        return max(0, (self.receive_window >> 16).bit_length())

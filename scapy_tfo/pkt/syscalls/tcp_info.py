"""Values of a socket that code in a script can read: tcp_info, congestion control, memory.

The layouts are those of linux/tcp.h and linux/inet_diag.h. If a kernel answers with fewer bytes,
it has fewer fields; those that a newer kernel adds at the end are not read.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from socket import IPPROTO_TCP, SOL_SOCKET, TCP_INFO

from scapy_tfo.pkt.syscalls import libc
from scapy_tfo.pkt.syscalls.names import constants, name_error
from scapy_tfo.pkt.syscalls.values import CallError

# Name and type, or for bits of one number: (name, bits) from the lowest, and the type.
_Field = tuple[str | tuple[tuple[str, int], ...], str]


def _fields(kind: str, names: str) -> list[_Field]:
    return [(name, kind) for name in names.split()]


_TCP_INFO: list[_Field] = [
    *_fields("B", "state ca_state retransmits probes backoff options"),
    ((("snd_wscale", 4), ("rcv_wscale", 4)), "B"),
    ((("delivery_rate_app_limited", 1), ("fastopen_client_fail", 2)), "B"),
    *_fields("I", "rto ato snd_mss rcv_mss unacked sacked lost retrans fackets"),
    *_fields("I", "last_data_sent last_ack_sent last_data_recv last_ack_recv"),
    *_fields("I", "pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering"),
    *_fields("I", "rcv_rtt rcv_space total_retrans"),
    *_fields("Q", "pacing_rate max_pacing_rate bytes_acked bytes_received"),
    *_fields("I", "segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out"),
    *_fields("Q", "delivery_rate busy_time rwnd_limited sndbuf_limited"),
    *_fields("I", "delivered delivered_ce"),
    *_fields("Q", "bytes_sent bytes_retrans"),
    *_fields("I", "dsack_dups reord_seen rcv_ooopack snd_wnd rcv_wnd rehash"),
    *_fields("H", "total_rto total_rto_recoveries"),
    *_fields("I", "total_rto_time received_ce"),
    *_fields("I", "delivered_e1_bytes delivered_e0_bytes delivered_ce_bytes"),
    *_fields("I", "received_e1_bytes received_e0_bytes received_ce_bytes"),
    (
        (("ecn_mode", 2), ("accecn_opt_seen", 2), ("accecn_fail_mode", 4), ("options2", 24)),
        "I",
    ),
]

# The kernel says by its answer's length alone which of these its congestion control has filled.
_CONGESTION_CONTROL: Mapping[str, tuple[str, list[str]]] = {
    "bbr": ("IIIII", ["bbr_bw_lo", "bbr_bw_hi", "bbr_min_rtt", "bbr_pacing_gain", "bbr_cwnd_gain"]),
    "dctcp": (
        "HHIII",
        ["dctcp_enabled", "dctcp_ce_state", "dctcp_alpha", "dctcp_ab_ecn", "dctcp_ab_tot"],
    ),
    "vegas": ("IIII", ["tcpv_enabled", "tcpv_rttcnt", "tcp_rtt", "tcp_minrtt"]),
}

_MEMORY = (
    *("RMEM_ALLOC", "RCVBUF", "WMEM_ALLOC", "SNDBUF", "FWD_ALLOC", "WMEM_QUEUED"),
    *("OPTMEM", "BACKLOG", "DROPS"),
)

_STATES = (
    *("TCP_ESTABLISHED", "TCP_SYN_SENT", "TCP_SYN_RECV", "TCP_FIN_WAIT1", "TCP_FIN_WAIT2"),
    *("TCP_TIME_WAIT", "TCP_CLOSE", "TCP_CLOSE_WAIT", "TCP_LAST_ACK", "TCP_LISTEN", "TCP_CLOSING"),
)
_CA_STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
_OPTIONS = (
    *("TIMESTAMPS", "SACK", "WSCALE", "ECN", "ECN_SEEN", "SYN_DATA", "USEC_TS", "TFO_CHILD"),
)

CONSTANTS: Mapping[str, int] = {
    **{name: number for number, name in enumerate(_STATES, start=1)},
    **{f"TCP_CA_{name}": number for number, name in enumerate(_CA_STATES)},
    **{f"TCPI_OPT_{name}": 1 << bit for bit, name in enumerate(_OPTIONS)},
}
"""What code may compare `tcpi_state`, `tcpi_ca_state` and `tcpi_options` with."""

_LONGEST = 512


def read(live: int) -> dict[str, int]:
    """All of a live socket by the names that code uses, with CONSTANTS.

    Raises CallError where it is no TCP socket.
    """
    values = dict(CONSTANTS)
    values |= decode_tcp_info(_option(live, IPPROTO_TCP, TCP_INFO, "TCP_INFO"))
    congestion = _option(live, IPPROTO_TCP, constants()["TCP_CC_INFO"], "TCP_CC_INFO")
    values |= decode_congestion_control(congestion)
    memory = _option(live, SOL_SOCKET, constants()["SO_MEMINFO"], "SO_MEMINFO")
    values |= zip((f"SK_MEMINFO_{name}" for name in _MEMORY), _numbers("I", memory), strict=False)
    return values


def decode_tcp_info(data: bytes) -> dict[str, int]:
    """The fields of a whole or cut `struct tcp_info`, each with `tcpi_` before its name."""
    values: dict[str, int] = {}
    at = 0
    for name, kind in _TCP_INFO:
        size = struct.calcsize(kind)
        at += -at % size
        if at + size > len(data):
            break
        (number,) = struct.unpack_from(f"={kind}", data, at)
        at += size
        for part, bits in ((name, 64),) if isinstance(name, str) else name:
            values[f"tcpi_{part}"] = number & (1 << bits) - 1
            number >>= bits
    return values


def decode_congestion_control(data: bytes) -> dict[str, int]:
    """The fields of every congestion control whose answer is not longer than this one."""
    values: dict[str, int] = {}
    for kinds, names in _CONGESTION_CONTROL.values():
        if len(data) >= struct.calcsize(f"={kinds}"):
            values |= zip(names, struct.unpack_from(f"={kinds}", data), strict=True)
    if "bbr_bw_lo" in values:
        values["bbr_bw"] = values["bbr_bw_hi"] << 32 | values["bbr_bw_lo"]
    return values


def _numbers(kind: str, data: bytes) -> Sequence[int]:
    return struct.unpack(f"={len(data) // struct.calcsize(kind)}{kind}", data)


def _option(live: int, level: int, name: int, shown: str) -> bytes:
    buffer = ctypes.create_string_buffer(_LONGEST)
    length = ctypes.c_uint(_LONGEST)
    outcome = libc.call("getsockopt", (live, level, name, buffer, ctypes.byref(length)))
    if outcome.result < 0:
        raise CallError(f"cannot read {shown} for the code: {name_error(outcome.errno)}")
    return bytes(buffer)[: length.value]

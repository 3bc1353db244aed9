"""Constants of Linux by name: Python's own modules first, then a table of what they lack.

The numbers are those of Linux's public headers (linux/tcp.h, in.h, in6.h, errqueue.h, net_tstamp.h,
capability.h, eventpoll.h and asm-generic/socket.h), which hold on x86, ARM and RISC-V.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import socket
import termios
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache

_FROM_PYTHON = (
    (
        socket,
        ("AF_", "SOCK_", "IPPROTO_", "SOL_", "SO_", "TCP_", "IP_", "IPV6_", "MSG_", "SHUT_"),
    ),
    (select, ("POLL", "EPOLL")),
    (errno, ("E",)),
    (os, ("O_", "SEEK_", "SPLICE_F_")),
    (fcntl, ("F_", "FD_", "LOCK_")),
    (termios, ("FIO", "TIOC")),
)

_NUMBERS = {
    "NULL": 0,
    "PF_INET": 2,
    "PF_INET6": 10,
    "SOL_IP": 0,
    "SOL_IPV6": 41,
    "SIOCINQ": 0x541B,
    "SIOCOUTQ": 0x5411,
    "SIOCOUTQNSD": 0x894B,
    "SIOCATMARK": 0x8905,
    "EPOLL_CTL_ADD": 1,
    "EPOLL_CTL_DEL": 2,
    "EPOLL_CTL_MOD": 3,
    "POLLREMOVE": 0x1000,
    "SPLICE_F_GIFT": 8,
    # Of sockets.
    "SO_NO_CHECK": 11,
    "SO_BSDCOMPAT": 14,
    "SO_SECURITY_AUTHENTICATION": 22,
    "SO_SECURITY_ENCRYPTION_TRANSPORT": 23,
    "SO_SECURITY_ENCRYPTION_NETWORK": 24,
    "SO_ATTACH_FILTER": 26,
    "SO_DETACH_FILTER": 27,
    "SO_PEERNAME": 28,
    "SO_TIMESTAMP": 29,
    "SO_TIMESTAMPNS": 35,
    "SO_TIMESTAMPING": 37,
    "SO_RXQ_OVFL": 40,
    "SO_PEEK_OFF": 42,
    "SO_SELECT_ERR_QUEUE": 45,
    "SO_BUSY_POLL": 46,
    "SO_MAX_PACING_RATE": 47,
    "SO_MEMINFO": 55,
    "SO_COOKIE": 57,
    "SO_ZEROCOPY": 60,
    "SO_TXTIME": 61,
    "SO_BINDTOIFINDEX": 62,
    "SO_RESERVE_MEM": 73,
    "SO_TXREHASH": 74,
    "SO_RCVMARK": 75,
    "SO_EE_ORIGIN_NONE": 0,
    "SO_EE_ORIGIN_LOCAL": 1,
    "SO_EE_ORIGIN_ICMP": 2,
    "SO_EE_ORIGIN_ICMP6": 3,
    "SO_EE_ORIGIN_TXSTATUS": 4,
    "SO_EE_ORIGIN_TIMESTAMPING": 4,
    "SO_EE_ORIGIN_ZEROCOPY": 5,
    "SO_EE_ORIGIN_TXTIME": 6,
    "SO_EE_CODE_ZEROCOPY_COPIED": 1,
    "SCM_TIMESTAMP": 29,
    "SCM_TIMESTAMPNS": 35,
    "SCM_TIMESTAMPING": 37,
    "SCM_TIMESTAMPING_OPT_STATS": 54,
    "SCM_TSTAMP_SND": 0,
    "SCM_TSTAMP_SCHED": 1,
    "SCM_TSTAMP_ACK": 2,
    # Of IP.
    "IP_MTU_DISCOVER": 10,
    "IP_RECVERR": 11,
    "IP_RECVTTL": 12,
    "IP_MTU": 14,
    "IP_FREEBIND": 15,
    "IP_MINTTL": 21,
    "IP_LOCAL_PORT_RANGE": 51,
    "IP_PMTUDISC_DONT": 0,
    "IP_PMTUDISC_WANT": 1,
    "IP_PMTUDISC_DO": 2,
    "IP_PMTUDISC_PROBE": 3,
    "IP_PMTUDISC_INTERFACE": 4,
    "IP_PMTUDISC_OMIT": 5,
    "IPV6_FLOWINFO": 11,
    "IPV6_MTU_DISCOVER": 23,
    "IPV6_MTU": 24,
    "IPV6_RECVERR": 25,
    "IPV6_FLOWLABEL_MGR": 32,
    "IPV6_FLOWINFO_SEND": 33,
    "IPV6_AUTOFLOWLABEL": 70,
    "IPV6_MINHOPCOUNT": 73,
    "IPV6_TRANSPARENT": 75,
    "IPV6_FREEBIND": 78,
    "IPV6_PMTUDISC_DONT": 0,
    "IPV6_PMTUDISC_WANT": 1,
    "IPV6_PMTUDISC_DO": 2,
    "IPV6_PMTUDISC_PROBE": 3,
    # Of TCP.
    "TCP_MD5SIG": 14,
    "TCP_COOKIE_TRANSACTIONS": 15,
    "TCP_THIN_LINEAR_TIMEOUTS": 16,
    "TCP_THIN_DUPACK": 17,
    "TCP_REPAIR": 19,
    "TCP_REPAIR_QUEUE": 20,
    "TCP_QUEUE_SEQ": 21,
    "TCP_REPAIR_OPTIONS": 22,
    "TCP_TIMESTAMP": 24,
    "TCP_CC_INFO": 26,
    "TCP_SAVE_SYN": 27,
    "TCP_SAVED_SYN": 28,
    "TCP_REPAIR_WINDOW": 29,
    "TCP_FASTOPEN_CONNECT": 30,
    "TCP_ULP": 31,
    "TCP_MD5SIG_EXT": 32,
    "TCP_FASTOPEN_KEY": 33,
    "TCP_FASTOPEN_NO_COOKIE": 34,
    "TCP_ZEROCOPY_RECEIVE": 35,
    "TCP_INQ": 36,
    "TCP_CM_INQ": 36,
    "TCP_TX_DELAY": 37,
    "TCP_AO_ADD_KEY": 38,
    "TCP_AO_DEL_KEY": 39,
    "TCP_AO_INFO": 40,
    "TCP_AO_GET_KEYS": 41,
    "TCP_AO_REPAIR": 42,
    "TCP_IS_MPTCP": 43,
    "TCP_RTO_MAX_MS": 44,
    "TCP_RTO_MIN_US": 45,
    "TCP_DELACK_MAX_US": 46,
    "TCP_INFINITE_SSTHRESH": 0x7FFFFFFF,
    # Of recvmsg() and sendmsg().
    "MSG_PROXY": 0x10,
    "MSG_FIN": 0x200,
    "MSG_SYN": 0x400,
    "MSG_RST": 0x1000,
    "MSG_ZEROCOPY": 0x4000000,
    # Of cap_set().
    "CAP_EFFECTIVE": 0,
    "CAP_PERMITTED": 1,
    "CAP_INHERITABLE": 2,
    "CAP_CLEAR": 0,
    "CAP_SET": 1,
}

_COUNTED_FROM_ZERO: dict[str, Sequence[str]] = {
    "TCP_CA_": ("OPEN", "DISORDER", "CWR", "RECOVERY", "LOSS"),
    "TCP_NLA_": (
        *("PAD", "BUSY", "RWND_LIMITED", "SNDBUF_LIMITED", "DATA_SEGS_OUT", "TOTAL_RETRANS"),
        *("PACING_RATE", "DELIVERY_RATE", "SND_CWND", "REORDERING", "MIN_RTT", "RECUR_RETRANS"),
        *("DELIVERY_RATE_APP_LMT", "SNDQ_SIZE", "CA_STATE", "SND_SSTHRESH", "DELIVERED"),
        *("DELIVERED_CE", "BYTES_SENT", "BYTES_RETRANS", "DSACK_DUPS", "REORD_SEEN", "SRTT"),
        *("TIMEOUT_REHASH", "BYTES_NOTSENT", "EDT", "TTL"),
    ),
    "CAP_": (
        *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID"),
        *("SETUID", "SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST"),
        *("NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO"),
        *("SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE"),
        *("SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE"),
        *("AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM"),
        *("BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE"),
    ),
}

_BITS_FROM_ZERO: dict[str, Sequence[str]] = {
    "SOF_TIMESTAMPING_": (
        *("TX_HARDWARE", "TX_SOFTWARE", "RX_HARDWARE", "RX_SOFTWARE", "SOFTWARE"),
        *("SYS_HARDWARE", "RAW_HARDWARE", "OPT_ID", "TX_SCHED", "TX_ACK", "OPT_CMSG"),
        *("OPT_TSONLY", "OPT_STATS", "OPT_PKTINFO", "OPT_TX_SWHW", "BIND_PHC", "OPT_ID_TCP"),
    ),
}


@cache
def constants() -> Mapping[str, int]:
    """Every constant that a call of a script may name."""
    found = dict(_NUMBERS)
    for prefix, names in _COUNTED_FROM_ZERO.items():
        found |= {prefix + name: number for number, name in enumerate(names)}
    for prefix, names in _BITS_FROM_ZERO.items():
        found |= {prefix + name: 1 << bit for bit, name in enumerate(names)}
    for module, prefixes in _FROM_PYTHON:
        for name, number in vars(module).items():
            if name.startswith(prefixes) and isinstance(number, int):
                found[name] = int(number)
    return found


@cache
def error_numbers() -> Mapping[str, int]:
    """Every name that may stand behind `= -1`."""
    return {name: number for number, name in errno.errorcode.items()} | {
        name: number for name, number in vars(errno).items() if name.startswith("E")
    }


def name_error(number: int) -> str:
    """`EAGAIN (Resource temporarily unavailable)`."""
    return f"{errno.errorcode.get(number, number)} ({os.strerror(number)})"


def name_flags(prefix: str, value: int) -> str:
    """`POLLIN|POLLHUP`: the bits of a value by names that begin so; what has none, in hex."""
    names = []
    for name, number in sorted(constants().items(), key=lambda item: (item[1], item[0])):
        if name.startswith(prefix) and value & number and number.bit_count() == 1:
            names.append(name)
            value &= ~number
    if value:
        names.append(hex(value))
    return "|".join(names) or "0"


def nearest(name: str, known: Mapping[str, object] | Sequence[str], *, alike: float) -> str | None:
    """The known name that looks most like this one; alike: from 0, anything, to 1, the same."""
    swapped = [other for other in known if sorted(other) == sorted(name)]
    if swapped:
        return swapped[0]
    found = get_close_matches(name, list(known), n=1, cutoff=alike)
    return found[0] if found else None

"""The kernel's report on a connection, for each outcome that the plugin reads from a capture.

dissector/README.md has the same table: change both.
"""

from __future__ import annotations

NOT_TRIED, NO_COOKIE, NOT_ACKED, RETRANSMITTED = range(4)
"""`tcpi_fastopen_client_fail`. The third: the SYN's data was not (all) acknowledged. The fourth:
nor was it, and the SYN was sent more than once."""

ACKED = (True, NOT_TRIED)
"""TCPI_OPT_SYN_DATA: the SYN-ACK that opened the connection acknowledged all of its SYN's data."""

CLIENT = {
    "": {(False, NOT_TRIED)},
    "requested-granted": {(False, NO_COOKIE)},
    "requested-not-granted": {(False, NO_COOKIE)},
    "accepted": {ACKED},
    "accepted-partially": {(False, NOT_ACKED)},
    "refused-cookie": {(False, NOT_ACKED)},
    "refused-silently": {(False, NOT_ACKED)},
    "syn-lost-fallback": {(False, RETRANSMITTED)},
    # Refused and lost, it is RETRANSMITTED, which the client cannot tell from a lost SYN.
    "syn-ack-lost": {ACKED, (False, RETRANSMITTED)},
    "cookieless-accepted": {ACKED},
    "cookieless-refused": {(False, NOT_ACKED)},
    # Linux drops such a SYN-ACK. What it says is of the next one, or that none came.
    "over-acknowledged": {ACKED, (False, RETRANSMITTED), (False, NOT_TRIED)},
    # The kernel speaks of the first time alone; that there was a second, the application knows.
    "replayed": {ACKED, (False, RETRANSMITTED)},
    "unknown": {(False, NOT_TRIED)},
}
"""TCP_INFO of the client by outcome: (TCPI_OPT_SYN_DATA, tcpi_fastopen_client_fail)."""

CLIENT_COUNTERS = {
    ACKED: "TCPFastOpenActive",
    (False, NOT_ACKED): "TCPFastOpenActiveFail",
    (False, RETRANSMITTED): "TCPFastOpenActiveFail",
}
"""What a connection with that TCP_INFO adds to, in the client's namespace."""

NEVER_ANSWERED = ("over-acknowledged", (False, NOT_TRIED))
"""Every SYN-ACK was dropped. The third SYN in vain adds to TCPFastOpenActiveFail, too."""

SERVER_COUNTERS = {
    # Every request counts, whether the listener grants it or not.
    "requested-granted": "TCPFastOpenCookieReqd",
    "requested-not-granted": "TCPFastOpenCookieReqd",
    "accepted": "TCPFastOpenPassive",
    "accepted-partially": "TCPFastOpenPassive",
    "cookieless-accepted": "TCPFastOpenPassive",
    "syn-ack-lost": "TCPFastOpenPassive",
    "refused-cookie": "TCPFastOpenPassiveFail",
}
"""What an outcome in the server's capture adds to, in the server's namespace."""

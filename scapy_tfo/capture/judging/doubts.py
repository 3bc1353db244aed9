"""Why a rule cannot be held against an end of a captured connection."""

from __future__ import annotations

import enum


class Doubt(enum.StrEnum):
    """Each is a sentence for the report."""

    START = "the capture begins in the middle of the connection: no SYN"
    ONE_WAY = "nothing of the other end was captured"
    LACKS = "the capture lacks packets of the other end"
    UNPROVEN = "nothing shows that the capture lacks no packet (--complete says so)"
    TWICE = "packets are in the capture twice, as where several interfaces were captured"
    PLACE = "nothing shows that it was captured at this end (--at says so)"
    JOINED = "an interface may have joined segments (--no-offloads says that none did)"
    CUT = "packets were cut short by the snap length"
    AGAIN = "its ports are those of another connection just before or after it"
    LONG = "its sequence numbers are more than 1 GiB apart, and may come again"
    ASIDE = "it was set aside, to bound the memory, and went on later"

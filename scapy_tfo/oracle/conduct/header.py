"""Rules on the headers of any segment: RFC 9293 section 3.1, and the IP header below it."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.parts.conditions import ANSWERED, ERRORS, GROUPS, LAST_HOP, URGENT
from scapy_tfo.oracle.conduct.parts.facts import PROMPT
from scapy_tfo.oracle.conduct.parts.peer_record import UNDER_WAY
from scapy_tfo.oracle.conduct.rule import Breach, Due, Judged, Rule, strict
from scapy_tfo.segment import ACK, FIN, RST, SYN, URG, Segment

_SIZES = {opt.MSS: 4, opt.WINDOW_SCALE: 3, opt.SACK_PERMITTED: 2, opt.TIMESTAMPS: 10}
"""Bytes of options that have one size only (RFC 9293 section 3.2, 7323, 2018)."""
_AT_ONCE = 0.1
"""Seconds in which no timer runs out."""
_HEADERS = {4: 40, 6: 60}
"""Bytes of the headers of IP and TCP, without options."""
_NEARLY = 40
"""Bytes that a full packet may lack: options differ from one to the next."""
_RAISED_AFTER = 300.0
"""Seconds after which larger packets may be tried (RFC 1191 section 3, RFC 8201 section 4)."""
_UNDER_WAY = 0.2
_SAME_IDS = 2
"""Packets in a row that have the identification of the one before: never by chance."""
_SYN_ACK_WITHIN = 3.5
_SYN_ONLY = {opt.MSS: "MSS", opt.WINDOW_SCALE: "window scale", opt.SACK_PERMITTED: "SACK permitted"}


def flags_together(_: History, came: Came) -> Judged:
    """RST stands alone. SYN with FIN may be that of an application that closes at once (RFC 9293
    section 3.10.4)."""
    alone = not came.flags & RST or not came.flags & (SYN | FIN)
    return alone or Breach("RST without SYN and FIN", str(came.segment))


def has_ack(_: History, came: Came) -> Judged:
    """Every segment but a SYN or a RST acknowledges (RFC 9293 section 3.10.7.4, fifth)."""
    if came.flags & (SYN | RST):
        return False
    return bool(came.flags & ACK) or Breach("the ACK flag", str(came.segment))


def no_bare_syn(_: History, came: Came) -> Judged:
    """A listener opens nothing by itself: its SYN answers one, and acknowledges it."""
    if not came.flags & SYN or came.flags & RST:
        return False
    return bool(came.flags & ACK) or Breach("SYN with ACK", str(came.segment))


def no_syn_ack_unasked(history: History, came: Came) -> Judged:
    """SYN-ACK answers a SYN."""
    if not came.segment.is_syn_ack or not history.complete:
        return False
    asked = history.isn is not None or (history.mixed and bool(history.offered.scales))
    return asked or Breach("no SYN-ACK: no SYN was sent", str(came.segment))


def reserved_bits(history: History, came: Came) -> Judged:
    """Reserved bits are zero, unless accurate ECN was asked for (RFC 9768)."""
    if history.offered.ecn or history.offered.experiment:
        return False
    return not came.segment.reserved or Breach("reserved bits of 0", f"{came.segment.reserved:#x}")


def data_offset(_: History, came: Came) -> Judged:
    """The data offset is 5 words at least, and inside the segment."""
    offset = came.segment.data_offset
    return offset is None or Breach("a data offset inside the segment", f"{offset} words")


def urgent_pointer(_: History, came: Came) -> Judged:
    """Urgent data has a length (RFC 9293 section 3.8.5, MUST-62)."""
    if not came.flags & URG:
        return False
    return came.segment.urgent > 0 or Breach("an urgent pointer behind its data", "0")


def options_sound(_: History, came: Came) -> Judged:
    """Each option has the length that its kind says."""
    if not came.segment.options:
        return False
    for each in came.every:
        if not each.is_sound:
            return Breach("options whose lengths fit", f"kind {each.kind}, length {each.length}")
        right = _SIZES.get(each.kind)
        if right is not None and each.length != right:
            return Breach(f"length {right} of kind {each.kind}", f"{each.length}")
    return True


def padding_zero(_: History, came: Came) -> Judged:
    """What follows the end of the options is zero (RFC 9293 section 3.1, MUST-69)."""
    if not came.every or came.every[-1].kind != opt.EOL:
        return False
    rest = came.every[-1].data
    return not any(rest) or Breach("zeros behind the end of options", rest.hex())


def options_agree(_: History, came: Came) -> Judged:
    """No option comes twice with two values: receivers read one or the other."""
    given: dict[int, bytes] = {}
    for each in came.every:
        if each.kind in (opt.NOP, opt.EOL, opt.EXPERIMENT_1, opt.EXPERIMENT_2):
            continue
        if given.setdefault(each.kind, each.data) != each.data:
            return Breach("one value of each option", f"two of kind {each.kind}")
    return bool(given)


def syn_options_elsewhere(_: History, came: Came) -> Judged:
    """MSS, window scale and SACK permitted stand in SYNs only (RFC 9293 3.7.1, 7323, 2018)."""
    if came.flags & SYN:
        return False
    names = [name for kind, name in _SYN_ONLY.items() if kind in came.options]
    return not names or Breach("none of a SYN's options", ", ".join(names))


def fast_open_elsewhere(_: History, came: Came) -> Judged:
    """So does the Fast Open option (RFC 7413 section 2)."""
    return not came.segment.fast_open or Breach("no Fast Open option without SYN", "one")


def from_many(_: History, came: Came) -> Judged:
    """No packet comes from a multicast address (RFC 1122 section 3.2.1.3, RFC 4291 2.7)."""
    source = came.segment.src
    return not source.is_multicast or Breach("the address of one host", str(source))


def hop_limit(_: History, came: Came) -> Judged:
    """A packet lives for more than the path to the next router (RFC 1122 section 3.2.1.7)."""
    limit = came.segment.hop_limit
    return limit > 1 or Breach("a hop limit that reaches beyond one router", f"{limit}")


def flow_label(history: History, came: Came) -> Judged:
    """A connection has one flow label (RFC 6437 section 3), unless something was sent
    again: then an end may look for another path."""
    best = history.best
    known = history.family == 6 and history.ordered
    if not known or best is None or not (came.length and best.length):
        return False
    if (came.flags | best.flags) & (SYN | RST) or not history.is_newer(came):
        return False
    if came.seq is None or came.seq < history.theirs.end:
        # It is sent again itself.
        return False
    if history.repeated or came.at - best.at > _AT_ONCE or not history.is_timed(best.at):
        return False
    before, now = best.segment.flow_label, came.segment.flow_label
    return before == now or Breach(f"flow label {before:#x} as before", f"{now:#x}")


def same_identification(history: History, came: Came) -> Judged:
    """Packets that routers may cut have an identification each, unless one is sent again (RFC 6864
    section 4.3). Numbers at random may be equal once."""
    if history.identified is not came:
        return False
    limit = history.same_ids < _SAME_IDS
    return limit or Breach(
        "another identification, or the flag DF",
        f"{came.segment.ip_id} in {history.same_ids + 1} packets that routers may cut",
    )


def answers_a_group(history: History, came: Came) -> Judged:
    """What comes from or goes to many hosts is not answered (RFC 9293 section 3.9.2.3, MUST-57,
    MUST-63)."""
    if not history.peer.groups or came.segment.src.is_multicast:
        return False
    return not history.peer.group or Breach("silence: it was sent to or by many", str(came.segment))


def last_hop(history: History, segment: Segment, at: float) -> Due | None:
    """A packet that has arrived is taken, though its hop limit is used up (RFC 1122 3.2.1.7)."""
    if segment.hop_limit != 1 or segment.flags != SYN or history.syns != 1 or not history.steady:
        return None
    by = at + _SYN_ACK_WITHIN
    return Due(at, by, "a SYN-ACK to a SYN with a hop limit of 1", lambda _: True, plain=False)


def over_the_path(history: History, came: Came) -> Judged:
    """No packet is larger than a router told (RFC 8201 section 4); of IPv6, as routers may cut
    those of IPv4."""
    size, peer = _size_on_the_path(history, came), history.peer
    if size is None or peer.mtu is None or _keeps_to_the_path(history):
        return False
    if peer.mtu - _NEARLY <= size <= peer.mtu:
        history.fitted_at = came.at
    return size <= peer.mtu or Breach(f"packets of {peer.mtu} bytes", f"{size} bytes")


def tries_early(history: History, came: Came) -> Judged:
    """Nor does an end that kept to that try larger ones within five minutes (RFC 8201 section 4),
    but for probes of RFC 4821, which come one by one."""
    size, peer, before = _size_on_the_path(history, came), history.peer, history.best
    if size is None or peer.mtu is None or before is None or not _keeps_to_the_path(history):
        return False
    if size <= peer.mtu:
        return True
    alone = _HEADERS[6] + len(before.segment.options) + len(before.segment.payload) <= peer.mtu
    return False if alone else Breach(f"packets of {peer.mtu} bytes", f"{size}")


def _size_on_the_path(history: History, came: Came) -> int | None:
    """Of a packet of IPv6 that may be too large by what a router told; None of any other."""
    elapsed = came.at - history.peer.mtu_at
    if not came.segment.payload or not _UNDER_WAY + history.grace < elapsed < _RAISED_AFTER:
        return None
    if history.family != 6 or not history.whole:
        return None
    return _HEADERS[6] + len(came.segment.options) + len(came.segment.payload)


def _keeps_to_the_path(history: History) -> bool:
    """Whether a packet came that is as long as the path takes, and no router told more since."""
    fitted, peer = history.fitted_at, history.peer
    return fitted is not None and fitted > peer.mtu_at and peer.told_again_at is None


def told_the_same(history: History, came: Came) -> Judged:
    """A packet-too-big that tells no less than the one before makes nothing come again (RFC 1191
    section 6.4, RFC 8201 section 5.4)."""
    since, peer = history.peer.told_again_at, history.peer
    if since is None or came.at - since > _AT_ONCE or not came.segment.payload or peer.idles:
        return False
    if came.seq is None or peer.sure_at is None or came.at - peer.sure_at > PROMPT:
        # A timer may be the reason: it began anew with the last ACK of new text (RFC 6298 5.3).
        return False
    if not _is_short(history):
        return False
    end = came.seq + came.length
    return end > history.theirs.end or Breach("nothing again: no less was told", f"{end} again")


def _is_short(history: History) -> bool:
    """Whether the path is."""
    trip = history.peer.round_trip
    return trip is not None and trip < UNDER_WAY


def under_any_path(history: History, came: Came) -> Judged:
    """No packet-too-big makes packets shorter than each path lets through: 68 bytes of IPv4, 1280
    of IPv6 (RFC 1191 section 3, RFC 8201 section 4); judged by two in a row that are as long as one
    told."""
    mtu, before = history.peer.unlikely_mtu, history.best
    if not mtu or not came.segment.payload or before is None or not history.whole:
        return False
    sizes = {
        _HEADERS[history.family] + len(each.segment.options) + len(each.segment.payload)
        for each in (before, came)
    }
    return sizes != {mtu} or Breach(f"more than {mtu} bytes, which no path asks for", f"{mtu}")


RULES: tuple[Rule, ...] = (
    Rule("flags-together", flags_together),
    Rule("no-ack-flag", has_ack, on="a"),
    Rule("bare-syn", no_bare_syn, on="s", listens=True),
    Rule("syn-ack-unasked", no_syn_ack_unasked, complete=True, on="s"),
    Rule("reserved-bits", reserved_bits, complete=True),
    Rule("data-offset", data_offset),
    Rule("urgent-pointer", urgent_pointer, needs=URGENT),
    Rule("options-unsound", options_sound, options=True),
    Rule("padding", padding_zero, options=True),
    Rule("option-twice", options_agree, options=True),
    Rule("syn-option-elsewhere", syn_options_elsewhere, on="ra", options=True),
    Rule("fast-open-elsewhere", fast_open_elsewhere, on="ra", options=True),
    Rule("from-many", from_many, ordered=True),
    Rule("hop-limit", hop_limit, ordered=True),
    Rule("flow-label", flow_label, on="a", text=True, numbers=True, needs=ANSWERED),
    Rule("id-repeated", same_identification, ordered=True),
    Rule("answers-a-group", answers_a_group, listens=True, complete=True, needs=GROUPS),
    Rule("last-hop-dropped", owes=last_hop, needs=LAST_HOP),
    strict("over-the-path", over_the_path, "a", ERRORS, text=True),
    strict("path-tried-early", tries_early, "a", ERRORS, text=True),
    strict("resent-for-the-same", told_the_same, "a", ERRORS, text=True),
    strict("under-any-path", under_any_path, "a", ERRORS, text=True),
)

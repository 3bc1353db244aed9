"""What the target sends, held against what the model allows."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.fuzz.assembly import Assembly
from scapy_tfo.fuzz.frames import ACK, FIN, RST, SYN, Reply
from scapy_tfo.fuzz.model import LISTEN, OPEN, RCVD, Connection, older
from scapy_tfo.fuzz.options import Offer, offer_of
from scapy_tfo.fuzz.text import text, wrong_text

_HALF = 1 << 31
_MASK = 0xFFFFFFFF

_AFTER = 0.3
"""Seconds after which a segment is no answer to what came before."""

_WHOLE_LIST = 30
"""Bytes of options; where a cookie needs more room, others may be left out."""


def reply_class(reply: Reply) -> str:
    """One of "rst", "syn-ack", "syn", "fin", "text", "ack" and "odd"."""
    flags = reply.flags
    if flags & RST:
        return "rst"
    if flags & SYN:
        return "syn-ack" if flags & ACK else "syn"
    if not flags & ACK:
        return "odd"
    if flags & FIN:
        return "fin"
    return "text" if reply.payload else "ack"


def came(link: Connection, reply: Reply, now: float, packet: int) -> str:
    """Judge one segment of the target's and learn from it; returns its class.

    now: seconds. packet: its number in the trace.
    """
    kind = reply_class(reply)
    link.heard.append(kind)
    offer = offer_of(reply.options)
    if not reply.sound or kind in ("syn", "odd"):
        link.blame(
            "unsound",
            "ACC-9",
            "a segment with ACK, and a right checksum and data offset",
            f"flags {reply.flags:#x}, {'sound' if reply.sound else 'unsound'}",
            reply=kind,
            packet=packet,
        )
        return kind
    if link.vague:
        return kind
    number = (reply.ack - (link.flow.isn or 0) + _HALF) % (1 << 32) - _HALF
    if kind == "rst":
        _rst(link, reply, number, packet)
        return kind
    if link.states == LISTEN:
        _from_nothing(link, kind, now, packet)
        return kind
    link.wants_answer = False
    if kind == "syn-ack":
        _syn_ack(link, reply, offer, number, now, packet)
    elif link.iss is None:
        link.blame(
            "unopened",
            "ACC-9",
            "a SYN-ACK first",
            f"{kind} acknowledging {number}",
            group="stream",
            reply=kind,
            packet=packet,
        )
    else:
        _segment(link, reply, offer, number, now, packet, kind)
    _times(link, offer, packet, kind)
    return kind


def _rst(link: Connection, reply: Reply, number: int, packet: int) -> None:
    link.wants_answer = False
    wanted, link.wants_rst = link.wants_rst, None
    if wanted is not None and link.states == LISTEN:
        seq, ack = wanted
        if ack:
            right = reply.seq == 0 and number == ack and bool(reply.flags & ACK)
        else:
            right = link.iss is None or (reply.seq - link.iss) & _MASK == seq & _MASK
        if not right:
            link.blame(
                "rst-numbers",
                "ACC-12a" if link.flow.port == "closed" else "AFT-9",
                f"RST that acknowledges {ack}" if ack else f"RST with sequence number {seq}",
                f"sequence number {reply.seq}, acknowledging {number}",
                reply="rst",
                packet=packet,
            )
        return
    if not link.rst_pardoned:
        rule = link.rule
        if rule is not None and link.iss is None:
            link.blame("syn-reset", rule.silent, "a SYN-ACK", "RST", reply="rst", packet=packet)
        else:
            link.blame(
                "reset",
                "ACC-9",
                "the connection goes on",
                "RST",
                group="reset",
                reply="rst",
                packet=packet,
            )
        link.states = LISTEN
        link.rst_pardoned = True
        link.wants_rst = None
        return
    rejected = link.rst_number
    if (
        link.iss is not None
        and rejected is not None
        and (reply.seq - link.iss - rejected) & _MASK == 0
    ):
        # It rejects one segment and need not end the connection.
        return
    link.states = LISTEN


def _from_nothing(link: Connection, kind: str, now: float, packet: int) -> None:
    """Something else than RST came from where no connection can be."""
    if link.flow.port == "closed":
        link.blame("closed", "ACC-12a", "RST", kind, reply=kind, packet=packet)
    elif link.reset_at is not None:
        if now - link.reset_at > _AFTER or kind == "syn-ack":
            late = now - link.reset_at > _AFTER
            if late:
                link.blame(
                    "lives-on", "AFT-9", "silence after RST", kind, reply=kind, packet=packet
                )
    elif link.rule is None:
        link.blame(
            "unasked",
            "ACC-12",
            "RST or silence: no SYN was sent",
            kind,
            group="stream" if "option-elsewhere" in link.features else "",
            reply=kind,
            packet=packet,
        )


def _syn_ack(
    link: Connection, reply: Reply, offer: Offer, number: int, now: float, packet: int
) -> None:
    rule = link.rule
    assert rule is not None
    if link.iss is None:
        _first_syn_ack(link, reply, offer, number, now, packet)
        return
    assert link.taken is not None
    again = (reply.seq, number) == (link.iss, link.base + 1 + link.taken)
    if not again:
        default = "DUP-1" if "duplicate-syn" in link.features else "ACC-8a"
        for feature, clause in (("syn-when-open", "DUP-2"), ("other-syn", "DUP-6")):
            if feature in link.features:
                default = clause
        if default == "ACC-8a" and number - link.base - 1 > link.taken:
            default = "ACC-3"
        link.blame(
            "another-syn-ack",
            default,
            f"the SYN-ACK as before, acknowledging {link.base + 1 + link.taken}",
            f"ISS moved by {(reply.seq - link.iss) & _MASK}, acknowledging {number}",
            reply="syn-ack",
            packet=packet,
        )
    elif (
        link.states == OPEN
        and link.opened_at is not None
        and now - link.opened_at > _AFTER
        and "syn-when-open" not in link.features
    ):
        link.blame(
            "syn-ack-when-open",
            "AFT-11",
            "no SYN-ACK after the handshake",
            "SYN-ACK",
            reply="syn-ack",
            packet=packet,
        )
    by_timer = now - link.syn_ack_at > _AFTER
    if reply.payload or reply.flags & FIN:
        link.blame(
            "repeated-text",
            "ACC-8",
            "no data in a repeated SYN-ACK",
            f"{len(reply.payload)} bytes",
            reply="syn-ack",
            packet=packet,
        )
    if offer.fast_open and (by_timer or not link.offer.fast_open):
        link.blame(
            "repeated-option",
            "ACC-8",
            "no option in a repeated SYN-ACK",
            "a Fast Open option",
            reply="syn-ack",
            packet=packet,
        )
    if again:
        _options(link, reply, offer, packet, first=False)
    link.syn_acks += 1
    link.syn_ack_at = link.their_last = now
    link.their_repeats += 1


def _first_syn_ack(
    link: Connection, reply: Reply, offer: Offer, number: int, now: float, packet: int
) -> None:
    rule = link.rule
    assert rule is not None
    link.iss = reply.seq
    link.states = RCVD
    taken = number - link.base - 1
    size = link.sent_end - link.base - 1
    if not 0 <= taken <= size:
        link.blame(
            "syn-ack-number",
            "ACC-11" if "wraps" in link.features else "ACC-10",
            f"acknowledging {link.base + 1} to {link.base + 1 + size}",
            f"acknowledging {number}",
            reply="syn-ack",
            packet=packet,
        )
        taken = min(max(taken, 0), size)
    elif taken > rule.most + link.syn_fin:
        link.blame(
            "takes-text",
            rule.taken,
            f"acknowledging {link.base + 1}: no right to its text",
            f"acknowledging {number}",
            reply="syn-ack",
            packet=packet,
        )
    elif taken < rule.least:
        partly = "ACC-10" if taken else rule.refused
        link.blame(
            "refuses-text",
            partly,
            f"acknowledging {link.base + 1 + rule.least}: the cookie is good",
            f"acknowledging {number}",
            reply="syn-ack",
            packet=packet,
        )
    link.taken = taken
    link.answer = offer
    fin = link.syn_fin and taken == size
    end = link.base + 1 + taken - fin
    link.may, link.must = Assembly(link.base + 1), Assembly(link.base + 1)
    link.may.add(link.base + 1, end, fin)
    link.must.add(link.base + 1, end, fin)
    link.acked = number
    link.syn_acks = 1
    link.syn_ack_at = link.their_last = now
    link.their_repeats = 0
    link.timestamps = offer.times is not None and link.offer.times is not None
    link.sack = offer.sack and link.offer.sack
    both = offer.scale is not None and link.offer.scale is not None
    link.scale = link.offer.scale if both else None
    link.window = max(reply.window, 1)
    _grant(link, offer, packet)
    _options(link, reply, offer, packet, first=True)
    if reply.payload:
        _text(link, reply, 1, now, packet, "syn-ack")


def _grant(link: Connection, offer: Offer, packet: int) -> None:
    """The Fast Open option of a first SYN-ACK."""
    rule = link.rule
    assert rule is not None
    found = offer.fast_open

    def wrong(requirement: str, expected: str, actual: str) -> None:
        link.blame("grant", requirement, expected, actual, reply="syn-ack", packet=packet)

    if len(found) > 1:
        wrong("OPT-12", "one Fast Open option", f"{len(found)}")
    for each in found:
        if isinstance(each, opt.Broken):
            wrong(each.rule, "a cookie of legal size", each.reason)
        elif int(each.form) not in rule.forms:
            asked = link.offer.fast_open
            valid = [one for one in asked if isinstance(one, opt.FastOpen)]
            if not rule.forms or not valid:
                wrong(rule.option, "no Fast Open option", f"one of kind {int(each.form)}")
            else:
                clause = "OPT-6" if valid[-1].form == opt.TFO else "OPT-6a"
                wrong(clause, f"kind {int(valid[-1].form)}", f"kind {int(each.form)}")
        elif each.cookie:
            link.cookie = each.cookie
            # Good from now on, whatever it looks like.
            link.jar.grant(link.client, each.cookie)
        else:
            wrong("SRV-9", "a cookie in the option", "none")
    if rule.granting and not found:
        wrong(rule.ungranted, "a cookie, as granted before", "no Fast Open option")


def _options(link: Connection, reply: Reply, offer: Offer, packet: int, *, first: bool) -> None:
    """The other options of a SYN-ACK (RFC 7323 2.2 and 3.2, RFC 2018 section 2)."""
    ours = link.offer

    def wrong(expected: str, actual: str) -> None:
        link.blame("syn-ack-options", "OPT-9", expected, actual, reply="syn-ack", packet=packet)

    if offer.times is not None and ours.times is None:
        wrong("no timestamps, which the SYN had not", "timestamps")
    if offer.scale is not None and ours.scale is None:
        wrong("no window scale, which the SYN had not", "a window scale")
    if offer.sack and not ours.sack:
        wrong("no SACK-permitted, which the SYN had not", "SACK-permitted")
    if offer.unsound:
        wrong("options that can be read", reply.options.hex())
    if offer.times is not None and offer.times[1] not in link.times_sent:
        wrong("TSecr of a SYN that was sent", f"TSecr {offer.times[1]}")
    usual = link.profile.options
    if usual is None or ours.unsound or ours.ended or ours.strange:
        return
    room = len(opt.push_options(each for each in opt.pull_options(reply.options)))
    if room > _WHOLE_LIST:
        return
    had = (offer.mss, offer.scale, offer.sack, offer.times is not None)
    should = (
        usual.mss[link.flow.family],
        usual.scale if ours.scale is not None else None,
        usual.sack and ours.sack,
        usual.times and ours.times is not None,
    )
    if not first and had[1:] != should[1:]:
        wrong(f"options as in the first SYN-ACK: {should}", f"{had}")
    elif first and had != should:
        wrong(f"MSS, scale, SACK, timestamps as without Fast Open: {should}", f"{had}")


def _segment(
    link: Connection, reply: Reply, offer: Offer, number: int, now: float, packet: int, kind: str
) -> None:
    """A segment behind the SYN-ACK."""
    assert link.iss is not None
    if number > link.may.next:
        link.blame(
            "ack-beyond",
            "ACC-10" if number > link.sent_end else "ACC-9",
            f"acknowledging {link.may.next} at most",
            f"acknowledging {number}",
            group="stream",
            reply=kind,
            packet=packet,
        )
    elif number < link.acked:
        early = link.states & RCVD and link.opened_at is None
        link.blame(
            "ack-back",
            "ACC-10" if early else "ACC-9",
            f"acknowledging {link.acked}, as before",
            f"acknowledging {number}",
            group="" if early else "stream",
            reply=kind,
            packet=packet,
        )
    else:
        link.acked = number
    if offer.fast_open:
        link.blame(
            "option-on-segment",
            "OPT-4" if "option-elsewhere" in link.features else "SRV-8",
            "no Fast Open option on a segment without SYN",
            "one",
            reply=kind,
            packet=packet,
        )
    if link.window != 0 or reply.window:
        link.window = reply.window << (_their_scale(link) or 0)
    for left, right in offer.blocks:
        _sack(link, left, right, number, packet, kind)
    seq = (reply.seq - link.iss + _HALF) % (1 << 32) - _HALF
    if reply.payload or reply.flags & FIN:
        _text(link, reply, seq, now, packet, kind)


def _their_scale(link: Connection) -> int | None:
    return link.profile.options.scale if link.profile.options and link.scale is not None else None


def _sack(link: Connection, left: int, right: int, number: int, packet: int, kind: str) -> None:
    isn = link.flow.isn or 0
    start = (left - isn + _HALF) % (1 << 32) - _HALF
    end = (right - isn + _HALF) % (1 << 32) - _HALF
    known = any(a <= start < end <= b for a, b in _joined(link.sent_text))
    if not link.sack or not known:
        link.blame(
            "sack",
            "AFT-11",
            "SACK blocks of what was sent" if link.sack else "no SACK, which was not agreed on",
            f"{start}:{end} beside {number}",
            reply=kind,
            packet=packet,
        )


def _joined(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(pieces):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def _text(link: Connection, reply: Reply, seq: int, now: float, packet: int, kind: str) -> None:
    """Text and FIN of the target: the echo of what it may have taken, in its place."""
    payload = reply.payload
    end = seq + len(payload)
    if link.opened_at is None and not link.states & OPEN and not link.early:
        rule = link.rule
        early = rule.taken if rule is not None else "ACC-4"
        if rule is not None and link.taken == 0 and rule.early:
            early = "ACC-3"
        link.blame(
            "early-text",
            early,
            "nothing before the handshake ends",
            f"{len(payload)} bytes and flags {reply.flags:#x}",
            reply=kind,
            packet=packet,
        )
    if seq < 1:
        link.blame(
            "text-place",
            "ACC-9",
            "text from number 1 on",
            f"number {seq}",
            group="stream",
            reply=kind,
            packet=packet,
        )
        return
    most = 1 + link.answer_size
    if end > most:
        link.blame(
            "text-excess",
            "ACC-9",
            f"{most - 1} bytes at most: what was taken, once",
            f"bytes up to {end - 1}",
            group="stream",
            reply=kind,
            packet=packet,
        )
    elif payload and not _is_echo(link, seq, payload):
        link.blame(
            "text-wrong",
            "ACC-9",
            "the stream's bytes in their place",
            repr(payload[:24]),
            group="stream",
            reply=kind,
            packet=packet,
        )
    if payload:
        # A probe of a closed window has one byte (RFC 9293 section 3.8.6.1).
        if end > link.limit and not (len(payload) == 1 and seq >= link.limit):
            link.blame(
                "over-window",
                "AFT-7",
                f"text up to {link.limit}, where the window ends",
                f"text up to {end}",
                reply=kind,
                packet=packet,
            )
        if len(payload) + len(reply.options) > max(link.mss, 88):
            link.blame(
                "over-mss",
                "AFT-7b",
                f"{link.mss} bytes of options and text at most",
                f"{len(payload) + len(reply.options)}",
                reply=kind,
                packet=packet,
            )
    if reply.flags & FIN:
        if not link.may.ended or end < most:
            link.blame(
                "fin-early",
                "AFT-2",
                "FIN behind the whole echo, after our FIN",
                f"FIN at {end}",
                reply="fin",
                packet=packet,
            )
        link.their_fin = end
    repeated = end + bool(reply.flags & FIN) <= link.received
    link.theirs[seq] = max(end, link.theirs.get(seq, 0))
    while (stop := link.theirs.pop(link.received, None)) is not None or any(
        start < link.received < until for start, until in link.theirs.items()
    ):
        if stop is None:
            start = next(s for s, u in link.theirs.items() if s < link.received < u)
            stop = link.theirs.pop(start)
        link.received = max(link.received, stop)
    if link.their_fin is not None and link.received == link.their_fin:
        link.received += 1
    link.their_repeats = link.their_repeats + 1 if repeated else 0
    link.their_last = now


def _is_echo(link: Connection, seq: int, payload: bytes) -> bool:
    start = link.base + seq
    if payload == text(link.index, start, len(payload)):
        return True
    if not link.odd_text:
        return False
    right = text(link.index, start, len(payload))
    wrong = wrong_text(link.index, start, len(payload))
    return all(
        one == right[at]
        or (one == wrong[at] and any(a <= start + at < b for a, b in link.odd_text))
        for at, one in enumerate(payload)
    )


def _times(link: Connection, offer: Offer, packet: int, kind: str) -> None:
    """Timestamps on every segment once agreed on, and none else (RFC 7323 section 3.2)."""
    if kind == "syn-ack":
        if offer.times is None or not link.timestamps:
            return
    elif link.timestamps != (offer.times is not None):
        early = link.opened_at is None
        link.blame(
            "timestamps",
            "AFT-6" if link.timestamps else "OPT-9",
            "timestamps" if link.timestamps else "no timestamps: they were not agreed on",
            "none" if link.timestamps else "timestamps",
            reply="text" if early else kind,
            packet=packet,
        )
        return
    if offer.times is None:
        return
    value, echo = offer.times
    if link.last_tsval is not None and older(value, link.last_tsval):
        link.blame(
            "clock-back",
            "AFT-6",
            f"TSval {link.last_tsval} or later",
            f"{value}",
            reply=kind,
            packet=packet,
        )
    link.last_tsval = value
    settled = link.times_settled
    if kind != "syn-ack" and (
        echo not in link.times_sent or (settled is not None and older(echo, settled))
    ):
        link.blame(
            "echo-of-time",
            "AFT-6",
            f"TSecr {settled} or later, of a segment that was sent",
            f"TSecr {echo}",
            reply=kind,
            packet=packet,
        )

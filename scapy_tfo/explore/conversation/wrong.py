"""Wrong segments: what a target gets beside its conversation, and must not fall for.

Each kind is built from what a target has got and sent so far, as if the client had sent it, or
somebody in its name. Texts in them are never those of the conversation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.icmp import IcmpError, packet_too_big, unreachable
from scapy_tfo.segment import ACK, CWR, ECE, FIN, PSH, RST, SYN, URG, Address, Segment

_TEXT = b"\xee" * 24
_FAR = 1 << 30
_HALF = 1 << 31
_AHEAD = 1 << 29
"""Ticks by which a timestamp is ahead of all others."""


@dataclass(slots=True)
class Situation:
    """What is known of a conversation. client, target, sport, dport: its ends. isn: the client's.

    syn: its first SYN, as the target got it. awaits: the number that the target expects next, by
    what it acknowledged. edge: of its window. iss: the target's, None before its SYN-ACK. sent_end:
    behind all that it sent. unacked: the first of that that was not acknowledged. times: the newest
    timestamps of the client, None without. last: the target's last packet with text, SYN or FIN.
    over: the target sent or got a RST. cookie: a good one. got: the number behind all that came.
    fin: that behind the target's FIN. text, end: the client's last segments with text and with
    FIN. paws: the target refuses text with an old timestamp. once: its cookies are for one use.
    widest: window of the client's, as its segments have it.
    """

    client: Address
    target: Address
    sport: int
    dport: int
    isn: int
    cookie: bytes
    syn: Segment | None = None
    awaits: int = 0
    edge: int = 0
    iss: int | None = None
    sent_end: int = 0
    unacked: int = 0
    times: tuple[int, int] | None = None
    last: bytes = b""
    over: bool = False
    got: int | None = None
    fin: int | None = None
    paws: bool = True
    once: bool = False
    widest: int = 0
    text: Segment | None = None
    end: Segment | None = None

    def sent(self, segment: Segment) -> None:
        """A segment of the client's came to the target."""
        if segment.flags & SYN and self.syn is None:
            self.syn = segment
        if segment.flags & ACK and self.iss is not None and seq.before(self.unacked, segment.ack):
            self.unacked = segment.ack
        self.widest = max(self.widest, segment.window)
        times = segment.timestamps if segment.options else None
        if times is not None and not self._is_late(segment, times[0]):
            self.times = times
        if self.got is None or seq.before(self.got, segment.end):
            self.got = segment.end
        if not segment.flags & (SYN | RST):
            self.text = segment if segment.payload else self.text
            self.end = segment if segment.flags & FIN else self.end

    def _is_late(self, segment: Segment, time: int) -> bool:
        """Whether a segment was overtaken. After weeks an old timestamp may look like a new one."""
        if self.got is None or self.times is None:
            return False
        return seq.before(segment.seq, self.got) and seq.before(time, self.times[0])

    def is_next(self, segment: Segment) -> bool:
        """Whether it has the number that the target expects, fits its window, and neither its
        timestamp nor what it acknowledges is too old to be believed (RFC 5961 section 5.2)."""
        times = segment.timestamps if segment.options else None
        if times is not None and self.times is not None and seq.before(times[0], self.times[0]):
            return False
        fits = not seq.before(self.edge, segment.end)
        recent = not seq.before(segment.ack, seq.add(self.unacked, -self.widest))
        return self.iss is not None and segment.seq == self.awaits and fits and recent

    def came(self, segment: Segment, packet: bytes, awaits: int, shift: int) -> None:
        """The target sent a segment. awaits: see above. shift: of its windows."""
        flags = segment.flags
        if flags & RST:
            self.over = True
            return
        if self.iss is None and flags & SYN:
            self.iss = self.unacked = self.sent_end = segment.seq
            if segment.timestamps is None:
                self.times = None
        if self.iss is not None and seq.before(self.sent_end, segment.end):
            self.sent_end = segment.end
        if segment.length:
            self.last = packet
        if flags & FIN:
            self.fin = segment.end
        self.awaits = awaits
        self.edge = seq.add(segment.ack, segment.window << (0 if flags & SYN else shift))

    def again(self, sent: Segment | None) -> Segment | None:
        """A segment of the client's once more, with what it acknowledges by now."""
        if sent is None or self.iss is None:
            return None
        return self.segment(sent.seq, sent.flags & (PSH | FIN), self.unacked, sent.payload)

    def segment(
        self, number: int, flags: int, ack: int | None = None, text: bytes = b"", age: int = 0
    ) -> Segment:
        """A segment of the client's. age: of its timestamps, in units of their clock."""
        options = b""
        if self.times is not None:
            value, echo = self.times
            options = opt.push_options(
                [opt.nop(), opt.nop(), opt.timestamps(seq.add(value, -age), echo)]
            )
        return Segment(
            src=self.client,
            dst=self.target,
            sport=self.sport,
            dport=self.dport,
            seq=seq.add(number, 0),
            ack=0 if ack is None else seq.add(ack, 0),
            flags=flags | (0 if ack is None else ACK),
            window=512,
            options=options,
            payload=text,
        )


Made = Segment | IcmpError | None
"""None: the situation has no such segment."""


@dataclass(frozen=True, slots=True)
class Kind:
    """make: the segment. ends: why it may end the connection, or "". early: why it may end one
    whose handshake goes on."""

    make: Callable[[Situation], Made]
    ends: str = ""
    early: str = ""


def _opened(make: Callable[[Situation], Made]) -> Callable[[Situation], Made]:
    """Only behind a SYN-ACK."""
    return lambda now: None if now.iss is None else make(now)


def _spoilt(segment: Segment, checksum: int = 0x1234) -> Segment:
    at = (20 if segment.src.version == 4 else 40) + 16
    right = int.from_bytes(segment.to_bytes()[at : at + 2], "big")
    # In one's complement 0 and 0xFFFF are one number.
    is_right = right % 0xFFFF == checksum % 0xFFFF
    return replace(segment, checksum=checksum ^ 0x5555 if is_right else checksum)


def _syn(now: Situation, isn: int, *, data: bytes = _TEXT, flags: int = SYN) -> Segment:
    options = [opt.mss(1460), opt.fast_open(now.cookie)] if now.cookie else [opt.mss(1460)]
    return replace(
        now.segment(isn, flags, None, data),
        options=opt.padded(opt.push_options(options)),
    )


def _with_ack(segment: Segment) -> Segment:
    """The same with an acknowledgement of something that was never sent."""
    return replace(segment, flags=segment.flags | ACK, ack=0x01020304)


def _text_of(now: Situation) -> bytes:
    return b"" if now.syn is None else now.syn.payload


def _again(now: Situation, text: bytes) -> Segment | None:
    """The SYN with other text, where it had some."""
    return None if now.syn is None or not now.syn.payload else replace(now.syn, payload=text)


def _asking(syn: Segment, asks: opt.RawOption) -> Segment:
    """A SYN with that in the place of its Fast Open option."""
    kept = [each for each in opt.pull_options(syn.options) if each.kind != opt.TFO]
    return replace(syn, options=opt.padded(opt.push_options([*kept, asks])))


def _error(quote: bytes, code: int, kind: int | None = None) -> IcmpError | None:
    if not quote:
        return None
    error = unreachable(quote, code=code)
    return error if kind is None else replace(error, type=kind)


def _old(quote: bytes) -> bytes:
    """What is quoted, with a number that the target never sent."""
    if not quote:
        return b""
    at = (20 if quote[0] >> 4 == 4 else 40) + 4
    number = seq.add(int.from_bytes(quote[at : at + 4], "big"), 1 << 20)
    return quote[:at] + number.to_bytes(4, "big") + quote[at + 4 :]


def _v4(now: Situation) -> bool:
    return now.client.version == 4


_BY_RST = "a RST with the number that is expected ends a connection (RFC 9293 section 3.10.7.4)"
_BY_ANY_RST = "without RFC 5961 a RST anywhere in the window ends a connection"
_BY_ICMP = "a hard ICMP error may end a connection (RFC 1122 section 4.2.3.9)"
_BY_SYN = "a SYN in the window may end a connection (RFC 9293 section 3.10.7.4, RFC 5961)"
_IN_SYN_RCVD = "in SYN-RCVD another SYN may end the connection (RFC 9293 section 3.10.7.4)"
_HALF_OPEN = "an ICMP error may end a handshake (RFC 5461 section 4)"

KINDS: dict[str, Kind] = {
    "rst-before": Kind(_opened(lambda now: now.segment(now.awaits - 1, RST))),
    "rst-isn": Kind(
        lambda now: (
            None
            if now.iss is None or now.awaits in (now.isn, seq.add(now.isn, 1))
            else now.segment(now.isn + 1, RST)
        )
    ),
    "rst-exact": Kind(_opened(lambda now: now.segment(now.awaits, RST)), _BY_RST),
    "rst-in-window": Kind(_opened(lambda now: now.segment(now.awaits + 300, RST)), _BY_ANY_RST),
    "rst-beyond": Kind(_opened(lambda now: now.segment(now.edge + _FAR, RST))),
    "rst-text-beyond": Kind(
        _opened(lambda now: now.segment(now.edge + _FAR, RST | ACK, now.sent_end, _TEXT))
    ),
    "rst-checksum": Kind(_opened(lambda now: _spoilt(now.segment(now.awaits, RST)))),
    "syn-again": Kind(lambda now: now.syn),
    "syn-again-bare": Kind(lambda now: None if now.syn is None else replace(now.syn, payload=b"")),
    "syn-again-plain": Kind(
        lambda now: (
            None
            if now.syn is None
            else replace(
                now.syn, payload=b"", options=opt.padded(opt.push_options([opt.mss(1460)]))
            )
        )
    ),
    "syn-again-other": Kind(lambda now: _again(now, bytes(each ^ 1 for each in _text_of(now)))),
    "syn-again-less": Kind(lambda now: _again(now, _text_of(now)[: len(_text_of(now)) // 2])),
    "syn-again-request": Kind(
        lambda now: (
            None if now.syn is None else _asking(replace(now.syn, payload=b""), opt.fast_open())
        )
    ),
    "syn-behind": Kind(_opened(lambda now: _syn(now, now.isn - _FAR)), early=_IN_SYN_RCVD),
    "syn-in-window": Kind(_opened(lambda now: _syn(now, now.awaits + 40)), _BY_SYN),
    "syn-fin": Kind(
        _opened(lambda now: _syn(now, now.isn - _FAR, flags=SYN | FIN)), early=_IN_SYN_RCVD
    ),
    # A RST is looked for before a SYN, and an ACK before it, too (RFC 9293 section 3.10.7.2).
    "syn-rst": Kind(lambda now: _syn(now, now.isn - _FAR, flags=SYN | RST)),
    "syn-rst-ack": Kind(lambda now: _with_ack(_syn(now, now.isn - _FAR, flags=SYN | RST))),
    "syn-ack-first": Kind(
        lambda now: None if now.syn is not None else _with_ack(_syn(now, now.isn - _FAR))
    ),
    "syn-ack": Kind(
        _opened(lambda now: now.segment(now.awaits, SYN, now.sent_end, _TEXT)), _BY_SYN
    ),
    "ack-one-above": Kind(_opened(lambda now: now.segment(now.awaits, 0, now.sent_end + 1))),
    "ack-above": Kind(_opened(lambda now: now.segment(now.awaits, 0, now.sent_end + 5000))),
    "ack-far": Kind(_opened(lambda now: now.segment(now.awaits, 0, now.sent_end + _HALF - 9))),
    "ack-above-text": Kind(
        _opened(lambda now: now.segment(now.awaits, PSH, now.sent_end + 5000, _TEXT))
    ),
    "ack-above-fin": Kind(_opened(lambda now: now.segment(now.awaits, FIN, now.sent_end + 5000))),
    "ack-iss": Kind(
        lambda now: (
            None
            if now.iss is None
            else now.segment(now.awaits, PSH, now.iss - 5, _TEXT)
            if now.unacked == now.iss
            else None
        )
    ),
    "no-flags": Kind(lambda now: now.segment(now.awaits, 0, None, _TEXT)),
    "fin-alone": Kind(lambda now: now.segment(now.awaits, FIN)),
    "urg-push": Kind(lambda now: now.segment(now.awaits, URG | PSH, None, _TEXT)),
    "every-flag": Kind(
        lambda now: now.segment(
            now.isn - _FAR, SYN | FIN | RST | PSH | URG | ECE | CWR, now.sent_end, _TEXT
        )
    ),
    "text-below": Kind(
        lambda now: (
            None
            if now.iss is None or seq.distance(now.isn, now.awaits) < 30
            else now.segment(now.awaits - 25, PSH, now.unacked, _TEXT)
        )
    ),
    "text-below-new-times": Kind(
        lambda now: (
            None
            if now.iss is None or now.times is None or seq.distance(now.isn, now.awaits) < 30
            else now.segment(now.awaits - 25, PSH, now.unacked, _TEXT, age=-_AHEAD)
        )
    ),
    "text-beyond": Kind(_opened(lambda now: now.segment(now.edge + _FAR, PSH, now.unacked, _TEXT))),
    "text-far-below": Kind(
        _opened(lambda now: now.segment(now.isn - 5000, PSH, now.unacked, _TEXT))
    ),
    "fin-below": Kind(
        lambda now: (
            None
            if now.iss is None or seq.distance(now.isn, now.awaits) < 30
            else now.segment(now.awaits - 20, FIN, now.unacked)
        )
    ),
    "fin-beyond": Kind(_opened(lambda now: now.segment(now.edge + _FAR, FIN, now.unacked))),
    "text-checksum": Kind(
        _opened(lambda now: _spoilt(now.segment(now.awaits, PSH, now.unacked, _TEXT)))
    ),
    "text-checksum-0": Kind(
        _opened(lambda now: _spoilt(now.segment(now.awaits, PSH, now.unacked, _TEXT), 0))
    ),
    "text-checksum-65535": Kind(
        _opened(lambda now: _spoilt(now.segment(now.awaits, PSH, now.unacked, _TEXT), 0xFFFF))
    ),
    "fin-checksum": Kind(_opened(lambda now: _spoilt(now.segment(now.awaits, FIN, now.unacked)))),
    "text-old-times": Kind(
        _opened(
            lambda now: (
                None
                if now.times is None or not now.paws
                else now.segment(now.awaits, PSH, now.unacked, _TEXT, age=100_000)
            )
        )
    ),
    "fin-old-times": Kind(
        _opened(
            lambda now: (
                None
                if now.times is None or not now.paws
                else now.segment(now.awaits, FIN, now.unacked, age=100_000)
            )
        )
    ),
    # These are right, but come where no client sends them.
    "last-again": Kind(lambda now: now.again(now.text)),
    "fin-again": Kind(lambda now: now.again(now.end)),
    "bare-ack": Kind(_opened(lambda now: now.segment(now.awaits, 0, now.sent_end))),
    "bare-ack-again": Kind(_opened(lambda now: now.segment(now.awaits, 0, now.unacked))),
    "window-probe": Kind(_opened(lambda now: now.segment(now.awaits - 1, 0, now.unacked))),
    "cookie-on-ack": Kind(
        _opened(
            lambda now: (
                replace(
                    now.segment(now.awaits - 1, 0, now.unacked),
                    options=opt.padded(
                        now.segment(0, 0).options + opt.push_options([opt.fast_open(now.cookie)])
                    ),
                )
                if now.cookie
                else None
            )
        )
    ),
    "host-unreachable": Kind(lambda now: _error(now.last, 1 if _v4(now) else 3), early=_HALF_OPEN),
    "net-unreachable": Kind(lambda now: _error(now.last, 0), early=_HALF_OPEN),
    "port-unreachable": Kind(lambda now: _error(now.last, 3 if _v4(now) else 4), _BY_ICMP),
    "port-unreachable-old": Kind(
        lambda now: _error(_old(now.last), 3 if _v4(now) else 4), _BY_ICMP
    ),
    "time-exceeded": Kind(lambda now: _error(now.last, 0, 11 if _v4(now) else 3), early=_HALF_OPEN),
    "parameter-problem": Kind(
        lambda now: _error(now.last, 0, 12 if _v4(now) else 4), early=_HALF_OPEN
    ),
    "too-big-1400": Kind(lambda now: packet_too_big(now.last, mtu=1400) if now.last else None),
    "too-big-1280": Kind(lambda now: packet_too_big(now.last, mtu=1280) if now.last else None),
    "too-big-20": Kind(lambda now: packet_too_big(now.last, mtu=20) if now.last else None),
    "too-big-old": Kind(lambda now: packet_too_big(_old(now.last), mtu=600) if now.last else None),
    "rst-of-neighbour": Kind(
        _opened(lambda now: replace(now.segment(now.awaits, RST), sport=now.sport ^ 1))
    ),
    "fast-open-beside": Kind(
        lambda now: None if now.once else replace(_syn(now, now.isn + 77), sport=now.sport ^ 1)
    ),
    "plain-syn-beside": Kind(
        lambda now: replace(
            _syn(replace(now, cookie=b""), now.isn + 77, data=b""), sport=now.sport ^ 1
        )
    ),
}
"""Every kind, by name."""

"""Writes the head of an exported script: source, assumptions, options and set-up command."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from scapy_tfo import option as opt
from scapy_tfo.pkt.export.conversation import Conversation
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.settings import ANY_SEGMENTS
from scapy_tfo.segment import ACK, CWR, ECE, SYN, Segment

_WIDTH = 100
_LONGEST = 2000
"""Characters of one comment: some come from captures and stores, with any amount."""

_MOST_FLOWS = 6
_IP_AND_TCP = {4: 40, 6: 60}
_USUAL_MTU = 1500
_MTUS = {4: range(68, 65536), 6: range(1280, 65536)}
_SERVER, _CLIENT, _WITHOUT_COOKIE_TO, _WITHOUT_COOKIE_BY = 2, 1, 0x200, 4
_RATE = 500_000_000
"""ns between two answers to segments that are out of the window (tcp_invalid_ratelimit)."""

_OFFERS = (
    (opt.TIMESTAMPS, "tcp_timestamps"),
    (opt.SACK_PERMITTED, "tcp_sack"),
    (opt.WINDOW_SCALE, "tcp_window_scaling"),
)


def head(
    talks: Sequence[Conversation],
    about: Iterable[str],
    assumed: Iterable[str],
    *,
    is_server: bool,
    is_divided: bool = False,
    turns_on: bool = False,
) -> Iterator[tree.Line]:
    """Comments, options and the set-up command. about, assumed: a sentence each. is_divided: the
    target's data came in several packets, and need not come in the same ones. turns_on: a listener
    takes fast opens, even if no packet shows it."""
    for text in about:
        yield from _comment(text)
    flows = list(dict.fromkeys(each.connection.flow for each in talks))
    rest = len(flows) - _MOST_FLOWS
    shown = ", ".join(flows[:_MOST_FLOWS]) + (f" and {rest} more" if rest > 0 else "")
    yield from _comment(f"The kernel is the {'server' if is_server else 'client'} of {shown}.")
    for text in assumed:
        yield from _comment(text)
    options = list(_options(talks, is_server=is_server, is_divided=is_divided))
    if options:
        yield tree.Blank()
    yield from options
    settings = _settings(talks, is_server=is_server)
    if turns_on:
        settings.setdefault("tcp_fastopen", _SERVER)
    if settings:
        shown = " ".join(f"net.ipv4.{name}={value}" for name, value in settings.items())
        yield tree.Blank()
        yield tree.Command(tree.Shell(f"sysctl -q {shown}"))
    yield tree.Blank()


def mtu(talks: Sequence[Conversation]) -> int | None:
    """Of the target's link, by its MSS in bytes; None where none can have been the reason."""
    family = talks[0].connection.family
    offered = {
        seen.what.mss
        for talk in talks
        for seen in talk.segments(talk.target)
        if seen.what.flags & SYN and seen.what.mss is not None
    }
    if not offered:
        return _USUAL_MTU
    size = (offered.pop() or 0) + _IP_AND_TCP[family]
    return size if not offered and size in _MTUS[family] else None


def _comment(text: str) -> Iterator[tree.Line]:
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} (cut)"
    plain = "".join(sign if sign.isprintable() else "?" for sign in shown)
    for line in textwrap.wrap(plain, _WIDTH - 3, break_on_hyphens=False):
        yield tree.Comment(f"// {line}")


def _options(
    talks: Sequence[Conversation], *, is_server: bool, is_divided: bool
) -> Iterator[tree.Option]:
    if talks[0].connection.family == 6:
        yield tree.Option("ip_version", "ipv6")
    size = mtu(talks)
    if size not in (None, _USUAL_MTU):
        yield tree.Option("mtu", str(size))
    if is_server and talks[0].ports is not None:
        yield tree.Option("bind_port", str(talks[0].target.port))
    if is_divided:
        yield tree.Option(ANY_SEGMENTS)
    if any(each.scaled for each in talks):
        yield tree.Option("tcp_ts_ecr_scaled")


def _settings(talks: Sequence[Conversation], *, is_server: bool) -> dict[str, int]:
    """Of the kernel, where the target was not as one usually is."""
    found = {}
    fast = 0
    for talk in talks:
        fast |= _fast_open_of_server(talk) if is_server else _fast_open_of_client(talk)
    if fast:
        found["tcp_fastopen"] = fast
    for kind, name in _OFFERS:
        answers = [each for talk in talks for each in _answers(talk, kind, is_server=is_server)]
        if answers and not any(answers):
            found[name] = 0
    if not is_server and any(map(_offers_ecn, talks)):
        found["tcp_ecn"] = 1
    if is_server and any(map(_answers_often, talks)):
        found["tcp_invalid_ratelimit"] = 0
    return found


def _offers_ecn(talk: Conversation) -> bool:
    syns = (seen.what for seen in talk.segments(talk.target) if seen.what.is_syn)
    return any(each.flags & ECE and each.flags & CWR for each in syns)


def _answers_often(talk: Conversation) -> bool:
    """Whether SYN-ACKs, or ACKs that say nothing new, came faster, one after another, than Linux
    answers what is out of the window."""
    sent: list[int] = []
    said: set[tuple[int, int]] = set()
    for packet, segment in ((each.packet, each.what) for each in talk.segments(talk.target)):
        number = segment.seq, segment.ack
        bare = segment.flags == ACK and not segment.payload
        if segment.is_syn_ack or (bare and number in said):
            sent.append(packet.when)
        said |= {number, (segment.end, segment.ack)}
    return any(later - earlier < _RATE for earlier, later in pairwise(sent))


def _fast_open_of_server(talk: Conversation) -> int:
    taken = [
        seen.what
        for seen in talk.segments(talk.target)
        if seen.what.is_syn_ack and talk.remote_number(seen.what.ack) > 0
    ]
    syns = [seen.what for seen in talk.segments(talk.peer) if seen.what.is_syn]
    if taken and syns and not any(each.fast_open for each in syns):
        return _SERVER | _WITHOUT_COOKIE_TO
    return _SERVER if taken or _has_fast_open(talk) else 0


def _fast_open_of_client(talk: Conversation) -> int:
    plain = [
        seen.what
        for seen in talk.segments(talk.target)
        if seen.what.is_syn and seen.what.payload and not seen.what.fast_open
    ]
    if plain:
        return _CLIENT | _WITHOUT_COOKIE_BY
    return _CLIENT if _has_fast_open(talk) else 0


def _has_fast_open(talk: Conversation) -> bool:
    return any(
        isinstance(each, opt.FastOpen)
        for seen in talk.segments(talk.target)
        if seen.what.flags & SYN
        for each in seen.what.fast_open
    )


def _answers(talk: Conversation, kind: int, *, is_server: bool) -> Iterator[bool]:
    """Whether the target's SYN, or the SYN-ACK to a SYN with this option, had it."""

    def first(segments: Iterable[Segment]) -> Segment | None:
        return next(iter(segments), None)

    own = first(seen.what for seen in talk.segments(talk.target) if seen.what.flags & SYN)
    if own is None:
        return
    if is_server:
        syn = first(seen.what for seen in talk.segments(talk.peer) if seen.what.is_syn)
        if syn is None or syn.option(kind) is None or not own.is_syn_ack:
            return
    yield own.option(kind) is not None

"""RFC 9293 section 3.8.6 and RFC 7323 section 2: the send window before and after the handshake;
RFC 5681 section 3.1: the first flight after the SYN-ACK was lost.
"""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.cases.syn_ack_retransmission import retransmitted
from scapy_tfo.lab.apps import pattern
from scapy_tfo.segment import ACK, PSH, Segment
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Absent
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

SHIFT = 7
REQUEST = b"GET"
LATER = 0.1
"""Seconds in which whatever is sent at once has come."""
SMALL, OVERRIDDEN = 100, 10.0
"""Bytes: less than half of what any other window offered; seconds after which text goes out all the
same, as probes of a closed window do at the latest."""
_FIRST_PROBE = 0.2
"""Seconds after which stacks probe a closed window at the earliest."""


async def opened(peer: Peer, app: str, window: int, shift: int | None = None) -> Flow:
    """A fast open to an application that writes at once, its SYN offering that window."""
    service = await peer.listen(app)
    cookie = await peer.cookie(service)
    flow = peer.flow(service)
    flow.window = window
    flow.syn(
        cookie=cookie, data=REQUEST, options=[] if shift is None else [opt.window_scale(shift)]
    )
    flow.must_accept(await flow.syn_ack(), len(REQUEST))
    return flow


def furthest(flow: Flow) -> int:
    """How many bytes of its stream the target has sent, holes counted."""
    first = seq.add(flow.irs or 0, 1)
    return max(seq.distance(first, each.end) for each in flow.heard if not each.is_rst)


def must_not_pass(flow: Flow, size: int, why: str) -> None:
    """Demand that nothing came beyond `size` bytes, but for the byte of a window probe."""
    got = furthest(flow)
    # A probe may be a whole segment, but comes after a timeout only.
    probe = 1 if LATER + flow.slack < _FIRST_PROBE else flow.mss
    expected = f"at most {size} bytes, and {probe} as a probe"
    flow.require(got <= size + probe, why, expected, f"{got} bytes")


async def whole(flow: Flow, size: int) -> None:
    """Acknowledge until all `size` bytes of the pattern have come, and the echo behind them."""
    expected = pattern(size) + REQUEST
    flow.ack()
    await flow.until(
        f"{size} bytes and the echo",
        lambda: len(flow.stream.data) >= len(expected),
        acking=True,
    )
    flow.require(
        flow.stream.data == expected,
        "the bytes that came are not those that were written",
        f"{size} bytes of the pattern, then the echo",
        f"{len(flow.stream.data)} bytes, some of them others",
    )


async def goes_out_at_once(peer: Peer, window: int) -> None:
    """Write more than the SYN's window; what the ACK sets free waits for no timer.

    What comes at once is told by another connection, which asks after the ACK was sent.
    """
    control = await peer.connect()
    flow = await opened(peer, "send:15000", window)
    await flow.pause(LATER)
    already = furthest(flow)
    peer.record("bytes before the ACK", already)
    flow.window = 65535
    flow.ack()
    control.request()
    await control.answered()
    await flow.until(
        "data that the ACK set free, without waiting for a timer",
        lambda: furthest(flow) > already,
        within=0.15,
    )
    await whole(flow, 15_000)


@case("AFT-7", needs=["listeners"])
async def window_of_the_syn_limits_early_data(peer: Peer) -> None:
    """A window of 2,000 in the SYN: no more comes before the ACK, and all comes after it."""
    flow = await opened(peer, "send:20000", 2000)
    await flow.pause(LATER)
    must_not_pass(flow, 2000, "more came before the ACK than the window of the SYN")
    flow.window = 65535
    await whole(flow, 20_000)


@case("AFT-7", needs=["listeners"])
async def window_of_the_syn_is_not_scaled(peer: Peer) -> None:
    """A window of 2,000 in a SYN that offers a shift of 7 is 2,000, not 256,000."""
    flow = await opened(peer, "send:20000", 2000, SHIFT)
    await flow.pause(LATER)
    must_not_pass(flow, 2000, "the window of the SYN was scaled")
    flow.window = 2000
    await whole(flow, 20_000)


@case("AFT-7", needs=["listeners"])
async def closed_window_in_the_syn_holds_data_back(peer: Peer) -> None:
    """A window of zero in the SYN: nothing comes before the ACK that opens it."""
    flow = await opened(peer, "send:20000", 0)
    await flow.pause(LATER)
    must_not_pass(flow, 0, "data came into a closed window")
    flow.window = 65535
    await whole(flow, 20_000)


@case("AFT-7", needs=["listeners"])
async def window_of_the_ack_is_scaled(peer: Peer) -> None:
    """The ACK's window of 20, shifted by 7 as agreed: 256 bytes come at least, and no more."""
    flow = await opened(peer, "send:40000", 0, SHIFT)
    await flow.pause(LATER)
    agreed = any(each.option(opt.WINDOW_SCALE) for each in flow.heard if each.is_syn_ack)
    peer.record("window scale agreed", agreed)
    flow.window = 20 if agreed else 20 << SHIFT
    flow.ack()
    # A window of 20 that is shifted by less holds less. Segments may be small, and one at first
    # where a SYN-ACK went out again (RFC 5681 section 3.1).
    least = min(256, flow.mss - opt.MAX_OPTIONS)
    await flow.until("text into the window of the ACK", lambda: furthest(flow) >= least)
    await flow.pause(LATER)
    must_not_pass(flow, 20 << SHIFT, "more came than the window of the ACK")
    flow.window = 65535
    await whole(flow, 40_000)


@case("AFT-7", needs=["echo"])
async def closed_window_after_the_handshake_opens_again(peer: Peer) -> None:
    """The ACK closes the window: the answer waits, and comes whole when it opens."""
    flow = await peer.open(data=b"")
    flow.window = 0
    flow.ack()
    flow.request(1000)
    flow.request(1000)
    await flow.pause(LATER)
    must_not_pass(flow, 0, "data came into a closed window")
    flow.window = 65535
    flow.ack()
    await flow.finish()


@case("AFT-7", needs=["echo"], fixed=["size"])
async def text_opens_the_window_like_an_ack(peer: Peer) -> None:
    """A full window is opened by nothing but a segment with text: the answer waits for no timer."""
    control = await peer.connect()
    cookie = await peer.cookie()
    flow = peer.flow()
    # One segment fills it: with two, Nagle's algorithm may hold the second one back.
    flow.window = 64
    flow.syn(cookie=cookie)
    await flow.syn_ack()
    flow.ack()
    flow.request(64)
    await flow.answered(acking=False)
    flow.window = 0
    flow.ack()
    flow.request(64)
    await flow.pause(LATER)
    already = furthest(flow)
    flow.window = 65535
    flow.request(64)
    control.request()
    await control.answered()
    await flow.until(
        "data that the window of the text set free, without waiting for a timer",
        lambda: furthest(flow) > already,
        within=0.15,
    )
    await flow.finish()


@case("AFT-7", needs=["echo"])
async def older_window_does_not_close_a_newer_one(peer: Peer) -> None:
    """Of two requests the later one comes first, in the window as it was, and then the earlier one
    with a window of zero: the answer comes all the same."""
    flow = await peer.open()
    flow.ack()
    await flow.answered()
    already, begin = furthest(flow), flow.snd_nxt
    earlier, later = flow.app.request(), flow.app.request()
    flow.send(ACK | PSH, later, seq=seq.add(begin, len(earlier)))
    flow.send(ACK | PSH, earlier, seq=begin, window=0)
    flow.sent += [earlier, later]
    flow.snd_nxt = seq.add(begin, len(earlier + later))
    # A probe of a closed window brings less, again and again.
    await flow.until(
        "the whole answer to the first",
        lambda: furthest(flow) >= already + len(earlier),
    )
    flow.ack()
    await flow.finish()


@case("AFT-11", needs=["echo"])
async def ack_of_text_that_waits_for_the_window_is_none(peer: Peer) -> None:
    """A part of the answer fills a small window, and more than that is acknowledged: the rest
    comes all the same once the window opens."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.window = SMALL
    flow.syn(cookie=cookie)
    await flow.syn_ack()
    flow.ack()
    flow.request(4 * SMALL)
    await flow.until("what fits into the window", lambda: furthest(flow) >= SMALL)
    await flow.pause(LATER)
    flow.send(ACK, ack=seq.add(flow.rcv_nxt, SMALL))
    await flow.pause(LATER)
    flow.window = 65535
    flow.ack()
    await flow.finish()


@case("AFT-7", needs=["echo"], waits=1.0)
async def small_window_that_stays_is_used(peer: Peer) -> None:
    """A window too small to be worth a segment, with nothing under way: a timer makes use of it
    (RFC 9293 section 3.8.6.2.1)."""
    flow = await peer.open()
    flow.ack()
    await flow.answered()
    known = furthest(flow)
    flow.window = SMALL
    flow.request(2 * SMALL)
    await flow.until(
        "a part of the answer, into the small window",
        lambda: furthest(flow) > known,
        within=OVERRIDDEN,
    )
    flow.window = 65535
    flow.ack()
    await flow.finish()


@case("AFT-7a", needs=["listeners"])
async def large_first_write_goes_out_at_once(peer: Peer) -> None:
    """15,000 bytes written against a window of 10,000: the rest comes at once on the ACK."""
    await goes_out_at_once(peer, 10_000)


@case("AFT-7a", needs=["listeners"])
async def first_write_into_a_small_window_goes_out_at_once(peer: Peer) -> None:
    """15,000 bytes written against a window of 500: the rest comes at once on the ACK."""
    await goes_out_at_once(peer, 500)


@case("AFT-7a", needs=["listeners"])
async def first_write_into_a_closed_window_goes_out_at_once(peer: Peer) -> None:
    """15,000 bytes written against a window of zero: they come at once on the ACK."""
    await goes_out_at_once(peer, 0)


@case("AFT-5", needs=["listeners"], slow=True)
async def first_flight_after_two_lost_syn_acks(peer: Peer) -> None:
    """Only the third SYN-ACK is acknowledged: the first flight is one segment at most."""
    flow = await opened(peer, "send:20000", 0)
    for _ in range(2):
        await retransmitted(flow, within=15)
    flow.window = 65535
    flow.ack()
    await flow.until("the first flight", lambda: furthest(flow) > 1)
    await flow.pause(LATER)
    flow.require(
        furthest(flow) <= flow.mss + 1,
        "the first flight after a lost SYN-ACK is too large",
        f"at most one segment of {flow.mss} bytes",
        f"{furthest(flow)} bytes",
    )
    await whole(flow, 20_000)


def right_edge(segment: Segment, shift: int) -> int:
    """The sequence number that the window of a segment without SYN ends before."""
    return seq.add(segment.ack, segment.window << shift)


@case("AFT-7", needs=["answer"])
async def advertised_window_is_not_taken_back(peer: Peer) -> None:
    """With window scale agreed, no window after the ACK ends before one that came ahead of it."""
    cookie = await peer.cookie()
    flow = peer.flow()
    flow.syn(cookie=cookie, data=flow.app.request(), options=[opt.window_scale(SHIFT)])
    syn_ack = await flow.syn_ack()
    flow.must_accept(syn_ack, len(flow.sent[0]))
    scale = syn_ack.option(opt.WINDOW_SCALE)
    shift = scale.data[0] if scale else 0
    await flow.pause(LATER)
    early = [right_edge(each, shift) for each in flow.heard if not (each.is_syn_ack or each.is_rst)]
    if not early:
        raise Absent("nothing comes before the ACK, which is allowed")
    flow.request()
    await flow.answered()
    later = [
        right_edge(each, shift)
        for each in flow.heard
        if each.ack == flow.snd_nxt and not each.is_rst
    ]
    # What a shift rounds off may be missing (RFC 7323 section 2.4).
    least = min(seq.distance(flow.isn, each) for each in later) + (1 << shift)
    most = max(seq.distance(flow.isn, each) for each in early)
    flow.require(
        most <= least,
        "the window that was advertised before the ACK is taken back after it",
        f"a right edge of {most} or more (relative to our ISN)",
        f"{least}",
    )
    await flow.finish()

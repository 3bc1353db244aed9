"""RFC 9293 sections 3.7.1 and 3.8.6.1: the size of segments, and a window that stays closed."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.cases.data_with_the_ack import loses_first_text
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Inconclusive
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

SIZE = 20_000
REQUEST = b"GET"
DEFAULT_MSS = {4: 536, 6: 1220}
"""Bytes, where the SYN says nothing (RFC 9293 section 3.7.1)."""
ACK_DELAY = 0.8
"""Seconds: an ACK is due within 0.5 (RFC 9293 section 3.8.6.3), a probe after 1 or more."""
_ONE_WINDOW = 500
"""Bytes that small windows, too, take at once: each window is acknowledged by itself."""
PROBE = 10
"""Seconds: a probe is due after one retransmission timeout (RFC 9293 section 3.8.6.1)."""


async def within_the_mss(peer: Peer, flow: Flow, mss: int, *options: opt.RawOption) -> None:
    """A fast open with these options; no segment of the long answer passes that MSS."""
    flow.syn_with([*options, opt.fast_open(await peer.cookie())], REQUEST)
    flow.must_accept(await flow.syn_ack(), len(REQUEST))
    await flow.pause(0.05)
    flow.ack()
    await flow.until(f"{SIZE} bytes", lambda: len(flow.stream.data) >= SIZE, acking=True)
    largest = max(len(each.payload) + len(each.options) for each in flow.heard if each.payload)
    if largest > mss and not peer.target.whole:
        raise Inconclusive("offloads of an interface may have joined the segments that are seen")
    flow.require(
        largest <= mss,
        "a segment is larger than the MSS allows",
        f"at most {mss} bytes of options and data",
        f"{largest} bytes",
    )


@case("AFT-7b", needs=["listeners"])
async def segments_keep_to_the_mss_of_the_syn(peer: Peer) -> None:
    """An MSS of 300 in the SYN: no segment is larger, before the ACK or after it."""
    flow = peer.flow(await peer.listen(f"send:{SIZE}"))
    await within_the_mss(peer, flow, 300, opt.mss(300))


@case("AFT-7b", needs=["listeners"])
async def segments_with_timestamps_keep_to_the_mss(peer: Peer) -> None:
    """An MSS of 300, and timestamps: they are taken off what a segment may carry."""
    flow = peer.flow(await peer.listen(f"send:{SIZE}"))
    flow.timestamp = 1
    await within_the_mss(peer, flow, 300, opt.mss(300))


@case("AFT-7b", needs=["listeners"])
async def segments_keep_to_the_default_without_an_mss(peer: Peer) -> None:
    """No MSS in the SYN: segments of 536 bytes over IPv4, 1220 over IPv6, or smaller."""
    flow = peer.flow(await peer.listen(f"send:{SIZE}"))
    await within_the_mss(peer, flow, DEFAULT_MSS[peer.family])


@case("AFT-7", needs=["echo"])
async def closed_window_is_probed(peer: Peer) -> None:
    """The ACK closes the window and nothing opens it: a probe comes, and then the answer."""
    resends = await loses_first_text(peer)
    flow = await peer.open(data=b"")
    flow.window = 0
    flow.resends = resends
    flow.ack()
    flow.request(_ONE_WINDOW)
    await flow.until(
        "an acknowledgement, without a probe",
        lambda: flow.their_rcv_nxt == flow.snd_nxt,
        within=ACK_DELAY,
    )
    await flow.pause(0.05)
    already = len(flow.heard)
    await flow.until("a probe", lambda: len(flow.heard) > already, within=PROBE)
    flow.window = 65535
    flow.ack()
    await flow.finish()

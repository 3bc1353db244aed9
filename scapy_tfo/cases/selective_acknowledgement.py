"""RFC 2018 sections 3 and 4: SACK on a connection whose stream began in the SYN."""

from __future__ import annotations

from collections.abc import Iterable

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.segment import ACK, PSH, Segment
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Absent, Unsupported
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

ANSWER = "send:20000"
AGAIN = 10.0
"""Seconds in which text that nobody acknowledged comes again, for a second time as well."""
FORGED = b"\x5a\xa5" * 4
PIECE = 50
"""Bytes of each segment that is sent, or left out."""

LATER = 0.1
"""Seconds in which whatever is sent at once has come."""

TRIES = 5
"""So often LATER passes at most: an ACK takes less than 0.5 s (RFC 9293 3.8.6.3, MUST-40)."""

Block = tuple[int, int]


def blocks(segment: Segment) -> list[Block]:
    """The edges of a segment's SACK blocks: first byte, and the one behind the last."""
    sack = segment.option(opt.SACK)
    edges = sack.data if sack else b""
    numbers = [int.from_bytes(edges[at : at + 4], "big") for at in range(0, len(edges), 4)]
    return list(zip(numbers[::2], numbers[1::2], strict=False))


def within(block: Block, piece: Block) -> bool:
    """Whether a block names bytes of that piece alone; a target need not keep all of it."""
    return seq.at_most(piece[0], block[0]) and seq.at_most(block[1], piece[1])


def shown(found: Iterable[Block], start: int) -> str:
    """Blocks relative to where the pieces begin."""
    return ", ".join(
        f"{seq.distance(start, first)} to {seq.distance(start, end)}" for first, end in found
    )


async def opened(peer: Peer, cookie: bytes, isn: int | None = None) -> Flow:
    """A connection with SACK whose SYN brought data, acknowledged by now; Unsupported without."""
    flow = peer.flow(isn=isn)
    flow.syn(cookie=cookie, data=flow.app.request(PIECE), options=[opt.sack_permitted()])
    syn_ack = await flow.syn_ack()
    if not syn_ack.option(opt.SACK_PERMITTED):
        raise Unsupported("the target agrees to no SACK")
    flow.resend()
    flow.snd_nxt = seq.add(flow.isn, 1 + len(flow.sent[0]))
    await flow.answered()
    return flow


async def blocks_heard(flow: Flow, awaited: list[Block]) -> set[Block]:
    """What SACK has named until all that is awaited is among it, or no ACK may come any more."""
    named: set[Block] = set()
    for _ in range(TRIES):
        await flow.pause(LATER)
        named = {block for each in flow.heard for block in blocks(each)}
        if named.issuperset(awaited):
            break
    return named


async def names_what_came(flow: Flow, gaps: int) -> None:
    """Send every second piece, and demand that SACK names these; then fill the gaps and close."""
    start, data = flow.snd_nxt, flow.app.request(2 * gaps * PIECE)
    last = 2 * gaps - 1
    ends = [(seq.add(start, at * PIECE), seq.add(start, (at + 1) * PIECE)) for at in range(last)]
    ends.append((seq.add(start, last * PIECE), seq.add(start, len(data))))
    pieces = [data[at * PIECE : (at + 1) * PIECE] for at in range(last)] + [data[last * PIECE :]]
    flow.sent.append(data)
    for at in range(1, 2 * gaps, 2):
        flow.send(ACK | PSH, pieces[at], seq=ends[at][0])
    await flow.settled()
    named = await blocks_heard(flow, ends[1::2])
    wrong = [
        block
        for each in flow.heard
        for block in blocks(each)
        # One that repeats what is acknowledged reports a duplicate (RFC 2883).
        if seq.before(each.ack, block[1]) and not any(within(block, piece) for piece in ends[1::2])
    ]
    flow.require(
        not wrong,
        "a SACK block names what was not sent",
        " ".join(
            f"{seq.distance(start, at)} to {seq.distance(start, end)}" for at, end in ends[1::2]
        ),
        " ".join(f"{seq.distance(start, at)} to {seq.distance(start, end)}" for at, end in wrong),
    )
    for at in range(0, 2 * gaps, 2):
        flow.send(ACK | PSH, pieces[at], seq=ends[at][0])
    flow.snd_nxt = ends[-1][1]
    await flow.finish()
    if not named.issuperset(ends[1::2]):
        raise Absent("SACK is agreed to, and names not all that came past a gap")


@case("AFT-11", needs=["listeners"], slow=True)
async def what_sack_named_is_sent_again(peer: Peer) -> None:
    """SACK names the second segment of an answer; the ACK of the first takes that back, as a
    receiver may: the second one comes again (RFC 2018 section 8)."""
    service = await peer.listen(ANSWER)
    flow = peer.flow(service)
    flow.syn(cookie=await peer.cookie(service), data=b"GET", options=[opt.sack_permitted()])
    syn_ack = await flow.syn_ack()
    if not syn_ack.option(opt.SACK_PERMITTED):
        raise Unsupported("the target agrees to no SACK")
    start, (first, second) = await two_under_way(flow)
    block = opt.RawOption(opt.SACK, 10, b"".join(at.to_bytes(4, "big") for at in second))
    known = len(flow.heard)
    flow.send(ACK, ack=start, options=[block])
    for what, number, told in (("first", start, first[1]), ("second", second[0], second[1])):
        await comes_again(flow, what, number, known)
        flow.send(ACK, ack=told)


async def two_under_way(flow: Flow) -> tuple[int, list[Block]]:
    """Acknowledge text until two segments are under way; the number that is acknowledged then, and
    the edges of the two."""
    start = seq.add(flow.irs or 0, 1)
    for _ in range(TRIES):
        flow.send(ACK, ack=start)
        await text_from(flow, start)
        await flow.pause(LATER)
        found = segments_from(flow, start)
        if len(found) > 1:
            return start, found[:2]
        start = flow.rcv_nxt
    raise Unsupported("the target has one segment under way at a time")


async def text_from(flow: Flow, start: int) -> None:
    """Wait for text that begins there, or later."""
    await flow.until("text", lambda: bool(segments_from(flow, start)), within=AGAIN)


def segments_from(flow: Flow, start: int) -> list[Block]:
    """The edges of what came of the text from there on, in order."""
    ends = {each.seq: each.end for each in flow.heard if each.payload}
    later = [each for each in ends.items() if seq.at_most(start, each[0])]
    return sorted(later, key=lambda each: seq.distance(start, each[0]))


async def comes_again(flow: Flow, what: str, number: int, known: int) -> None:
    """Wait for text that has the byte of a number, behind so many segments."""
    await flow.until(
        f"the {what} segment again",
        lambda: any(
            0 <= seq.distance(each.seq, number) < len(each.payload) for each in flow.heard[known:]
        ),
        within=AGAIN,
    )


@case("AFT-11", needs=["answer"])
async def sack_names_what_came_past_a_gap(peer: Peer) -> None:
    """A gap behind accepted SYN data: the SACK block is what came past it, to the byte."""
    await names_what_came(await opened(peer, await peer.cookie()), 1)


@case("AFT-11", needs=["answer"])
async def sack_names_what_came_past_two_gaps(peer: Peer) -> None:
    """Two gaps behind accepted SYN data: the SACK blocks are what came past each."""
    await names_what_came(await opened(peer, await peer.cookie()), 2)


@case("AFT-11", needs=["answer"])
async def sack_across_zero(peer: Peer) -> None:
    """Sequence number zero lies inside the SACK block behind accepted SYN data."""
    isn = -(1 + PIECE + PIECE + PIECE // 2) % (1 << 32)
    await names_what_came(await opened(peer, await peer.cookie(), isn), 1)


@case("AFT-11", needs=["answer"])
async def sack_after_a_refusal(peer: Peer) -> None:
    """A gap behind SYN data that was refused and resent: the SACK block is what came past it."""
    await names_what_came(await opened(peer, FORGED), 1)

"""The end of a connection, and text behind the end of the other stream (RFC 9293 section 3.6)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.segment import ACK, FIN, PSH, RST
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Missing
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import stimulus
from scapy_tfo.suite.target import Service

CROSSED = 1.5
"""Seconds in which what was under way has come, on busy hosts too."""
TRIES = 100
"""Times a tenth of a second that an application may take."""
COMES_AGAIN = 4.0
"""Seconds after which what is not acknowledged has come again."""
MUCH, BEYOND = 100_000, 100_000
"""Bytes that the target sends, and numbers that the next SYN lies behind the last FIN."""
EARLY, LATE = 0.4, 1.3
"""Seconds in TIME-WAIT before the FIN comes again, and more before it does once more."""


@stimulus("TCP-TW-1", "TCP-TW-2", needs=["listeners"], waits=2.0)
async def a_fin_that_comes_again_in_time_wait(peer: Peer) -> None:
    """The target closes first; our FIN comes again twice in less than two seconds."""
    flow = await peer.connect(await peer.listen("send-close:100"))
    await flow.until("the target's FIN", lambda: flow.stream.ended, acking=True)
    flow.fin()
    await flow.until("an ACK of our FIN", lambda: flow.their_rcv_nxt == flow.snd_nxt)
    for pause in (EARLY, LATE):
        await flow.pause(pause)
        flow.send(FIN | ACK, seq=seq.add(flow.snd_nxt, -1), once=True)
    await flow.pause(0.1)


@stimulus("TCP-TW-3", needs=["listeners"])
async def the_same_ends_after_much_text(peer: Peer) -> None:
    """The target sends much text and closes first; a SYN beyond ours comes in TIME-WAIT."""
    service = await peer.listen(f"send-close:{MUCH}")
    flow = await peer.connect(service)
    await flow.until("the target's FIN", lambda: flow.stream.ended, acking=True)
    flow.fin()
    await flow.until("an ACK of our FIN", lambda: flow.their_rcv_nxt == flow.snd_nxt)
    again = peer.flow(service, like=flow, isn=seq.add(flow.snd_nxt, BEYOND))
    again.syn()
    await again.pause(CROSSED)


@stimulus("TCP-TW-1", "TCP-TW-2", needs=["listeners"], waits=2.0)
async def fins_that_cross(peer: Peer) -> None:
    """Both ends close before they hear of the other's FIN; ours comes again in TIME-WAIT."""
    flow = await peer.connect(await peer.listen("send-close:100"))
    await flow.until("the target's FIN", lambda: flow.stream.ended)
    # Text is acknowledged, and the FIN behind it is not.
    flow.fin(ack=seq.add(flow.rcv_nxt, -1))
    await flow.until("an ACK of our FIN", lambda: flow.their_rcv_nxt == flow.snd_nxt)
    flow.ack()
    await flow.pause(EARLY)
    flow.send(FIN | ACK, seq=seq.add(flow.snd_nxt, -1), once=True)
    await flow.pause(CROSSED)


@stimulus("TCP-TW-1", "TCP-TW-2", needs=["listeners"], waits=3.3)
async def a_fin_that_acknowledges_the_targets(peer: Peer) -> None:
    """The target closes first; our FIN is what acknowledges its FIN, and comes again twice."""
    flow = await peer.connect(await peer.listen("send-close:100"))
    await flow.until("the target's FIN", lambda: flow.stream.ended)
    flow.fin()
    await flow.until("an ACK of our FIN", lambda: flow.their_rcv_nxt == flow.snd_nxt)
    for pause in (EARLY, LATE):
        await flow.pause(pause)
        flow.send(FIN | ACK, seq=seq.add(flow.snd_nxt, -1), once=True)
    await flow.pause(CROSSED)


@stimulus("TCP-FIN-5", needs=["echo"], slow=True)
async def an_ack_without_the_fin_in_last_ack(peer: Peer) -> None:
    """We close first; the answer is acknowledged, and the target's FIN behind it is not."""
    flow = await peer.connect()
    flow.request()
    flow.fin()
    await flow.until("the target's FIN", lambda: flow.stream.ended)
    await all_but_the_fin(flow)


@stimulus("TCP-FIN-5", needs=["listeners"], slow=True)
async def an_ack_without_the_fin_in_fin_wait_1(peer: Peer) -> None:
    """The target closes first; its text is acknowledged, and its FIN is not."""
    flow = await peer.connect(await peer.listen("send-close:100"))
    await flow.until("the target's FIN", lambda: flow.stream.ended)
    await all_but_the_fin(flow)


@stimulus("TCP-FIN-5", needs=["listeners"], slow=True)
async def an_ack_without_the_fin_in_closing(peer: Peer) -> None:
    """Both ends close at a time; the target's text is acknowledged, and its FIN is not."""
    flow = await peer.connect(await peer.listen("send-close:100"))
    await flow.until("the target's FIN", lambda: flow.stream.ended)
    flow.fin(ack=seq.add(flow.irs or 0, 1))
    await flow.until("an ACK of our FIN", lambda: flow.their_rcv_nxt == flow.snd_nxt)
    await all_but_the_fin(flow)


async def all_but_the_fin(flow: Flow) -> None:
    """Acknowledge the text before a FIN, and wait for the FIN to come again."""
    flow.send(ACK, ack=seq.add(flow.rcv_nxt, -1))
    known = len(flow.heard)

    def again() -> bool:
        return any(each.flags & (FIN | RST) for each in flow.heard[known:])

    await flow.until("the FIN again", again, within=COMES_AGAIN)
    flow.ack()
    await flow.pause(LATE)


@stimulus("TCP-FIN-1", needs=["echo"])
async def a_fin_behind_old_text(peer: Peer) -> None:
    """A request that was answered comes once more, and has our FIN behind it."""
    flow = await peer.connect()
    flow.request()
    await flow.answered()
    flow.ack()
    text = flow.sent[-1]
    flow.send(FIN | ACK | PSH, text, seq=seq.add(flow.snd_nxt, -len(text)), once=True)
    await flow.pause(CROSSED)


async def what_is_read(peer: Peer, flow: Flow, service: Service) -> bytes:
    """What the application has read of the connection, once that is all, or after a while."""
    session = None
    for _ in range(TRIES):
        session = await peer.session(flow, service)
        if flow.was_reset or (session and len(session.received) == sum(map(len, flow.sent))):
            break
        await flow.pause(0.1)
    if session is None:
        raise Missing("the application did not see the connection")
    return session.received


async def what_the_application_got(peer: Peer, app: str, *, closes: bool) -> None:
    """Text goes to an application that tells what it got. closes: it ends its own stream first."""
    service = await peer.listen(app)
    flow = peer.flow(service)
    flow.syn(options=[opt.sack_permitted()])
    await flow.syn_ack()
    flow.ack()
    if closes:
        await flow.until("the target's FIN", lambda: flow.stream.ended, acking=True)
        await flow.pause(CROSSED)
    for text in (b"one", b"two" * 700, b"three"):
        flow.sent.append(text)
        flow.send(ACK | PSH, text)
        await flow.until("an ACK of the text", lambda: flow.their_rcv_nxt == flow.snd_nxt)
        await flow.pause(0.05)
    flow.conduct.got(await what_is_read(peer, flow, service), b"".join(flow.sent))
    flow.fin()
    await flow.pause(0.1)


@stimulus("TCP-FIN-8", "TCP-FIN-15", needs=["listeners", "sessions"], waits=2.0)
async def text_behind_the_fin_of_the_target(peer: Peer) -> None:
    """The application ends its stream, and reads on."""
    await what_the_application_got(peer, "half-close:100", closes=True)


@stimulus("TCP-FIN-7", needs=["listeners"], waits=1.5)
async def text_of_an_application_that_closes(peer: Peer) -> None:
    """The application writes and closes; its text is not acknowledged."""
    flow = await peer.connect(await peer.listen("send-close:100"))
    flow.conduct.closes()
    await flow.until("text", lambda: len(flow.stream.data) > 0)
    await flow.pause(CROSSED)


async def what_a_closed_application_got(peer: Peer, app: str, *, waits: bool) -> None:
    """Text goes to an application that does not read it before it closes. waits: until then."""
    service = await peer.listen(app)
    flow = await peer.connect(service)
    if waits:
        await flow.until("the target's FIN", lambda: flow.stream.ended, acking=True)
    text = b"unread" * 10
    flow.sent.append(text)
    flow.send(ACK | PSH, text)
    await flow.pause(CROSSED)
    read = await what_is_read(peer, flow, service)
    if not (flow.stream.ended or flow.was_reset):
        raise Missing("the application did not close the connection")
    flow.conduct.left(read)


@stimulus("TCP-FIN-9", needs=["listeners", "sessions"], waits=1.5)
async def text_that_is_unread_at_the_close(peer: Peer) -> None:
    """The application closes while text waits for it."""
    await what_a_closed_application_got(peer, "close-unread:500", waits=False)


@stimulus("TCP-FIN-10", needs=["listeners", "sessions"], waits=1.5)
async def text_behind_the_close(peer: Peer) -> None:
    """The application has closed before text comes."""
    await what_a_closed_application_got(peer, "close", waits=True)


@stimulus("TCP-ACK-3", needs=["listeners", "sessions"])
async def text_to_an_application_that_only_reads(peer: Peer) -> None:
    """The application reads all, and writes nothing."""
    await what_the_application_got(peer, "mute", closes=False)

"""More connections than the application has accepted: RFC 7413 says nothing of that queue.

A stack may drop a SYN or an ACK, fall back, or reset what finds no room. But what it acknowledged
and does not reset is the application's, as soon as that accepts the connection.
"""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Missing, Unsupported, WasReset
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

_ROOM, _CLIENTS = 2, 6
_ACCEPTS, _NEVER_ACCEPTS = "late-accept:200", "late-accept:60000"
_ANSWERS, _ACCEPTED, _AGAIN = 0.05, 0.3, 6.0
"""Seconds until a SYN was answered, until the application has accepted what waited, and until what
was dropped came again."""


def _goes_on(flow: Flow) -> bool:
    """Take the SYN-ACK, and send again what it does not acknowledge; False where none came."""
    syn_ack = next((each for each in flow.heard if each.is_syn_ack), None)
    if syn_ack is None:
        return False
    if flow.acknowledged(syn_ack):
        flow.must_accept(syn_ack, len(flow.opening.payload))
        flow.ack()
    else:
        flow.resend()
    return True


async def _is_served(flow: Flow, *, was_answered: bool) -> bool:
    """Whether the client gets its answer; False where the target does not take it, as it may."""
    # A SYN-ACK may be late, and needs no SYN once more.
    try:
        if not (was_answered or _goes_on(flow)):
            flow.again()
            await flow.syn_ack("a SYN-ACK once there is room", within=_AGAIN)
            _goes_on(flow)
    except (Missing, WasReset):
        return False
    try:
        await flow.finish(within=_AGAIN)
    except WasReset:
        return False
    return True


@case("ACC-9", needs=["echo", "listeners"], intrusive=True, waits=1.5)
async def a_full_accept_queue_loses_no_acknowledged_data(peer: Peer) -> None:
    """Six fast opens and a plain client meet an application that accepts late, with room for two:
    whoever is answered and not reset gets its whole answer once."""
    # Not at the listener itself: where it takes part in a fast open, a request waits there, too.
    cookie = await peer.cookie()
    service = await peer.listen(_ACCEPTS, backlog=_ROOM)
    service = replace(service, app=peer.main.app)
    plain = peer.flow(service)
    plain.syn()
    await plain.syn_ack("a SYN-ACK to a plain SYN")
    flows = [peer.flow(service) for _ in range(_CLIENTS)]
    for each in flows:
        each.syn(cookie=cookie, data=each.app.request(64))
    await flows[-1].pause(_ANSWERS)
    answered = [_goes_on(each) for each in flows]
    peer.record("fast opens answered at a full accept queue", answered.count(True))
    plain.ack()
    plain.request()
    await flows[-1].pause(_ACCEPTED)
    served = [await _is_served(plain, was_answered=True)]
    for each, was_answered in zip(flows, answered, strict=True):
        served.append(await _is_served(each, was_answered=was_answered))
    if not any(served):
        raise Unsupported("nobody is served by an application that accepts late")
    await peer.still_serves(service)


@case("AFT-11", needs=["echo", "listeners", "close"])
async def a_listener_that_closes_resets_what_waits(peer: Peer) -> None:
    """A listener closes while a fast open and a plain client wait to be accepted: what it
    acknowledged is answered, or reset."""
    cookie = await peer.cookie()
    service = replace(await peer.listen(_NEVER_ACCEPTS), app=peer.main.app)
    waiting = [peer.flow(service) for _ in range(2)]
    for flow, own in zip(waiting, (cookie, None), strict=True):
        flow.syn(cookie=own, data=flow.app.request() if own else b"")
        syn_ack = await flow.syn_ack()
        if own and not flow.acknowledged(syn_ack):
            flow.resend()
        flow.ack()
        flow.request()
    await waiting[-1].pause(_ANSWERS)
    await peer.hooks.close_listener(service.port)
    for flow in waiting:
        await flow.goes_on()

"""Meets the applications of a foreign target on plain connections, before its stack is judged.

What an application does otherwise than the one named does, the stack would be blamed for.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from scapy_tfo import seq
from scapy_tfo.errors import TargetError
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.segment import ACK, PSH, endpoint
from scapy_tfo.stacks.file import is_target_file
from scapy_tfo.stacks.standing import StandingHooks
from scapy_tfo.stacks.standing_apps import oddity
from scapy_tfo.suite.application import Http, make_app
from scapy_tfo.suite.context.context import Context
from scapy_tfo.suite.context.factors import BY_NAME
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import BROKEN, Cookieless, Ending, Failed, Missing, Skipped, WasReset
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.target import Service, Target

_TRIES, _CONNECTS = 3, 10
"""Connections that may be reset before they tell, and SYNs that may be lost: 0.36 ** 10 is below
one in ten thousand, where 20 % are lost each way."""

_RESENT = 4
"""Times that a request is sent again, where the path may have lost it."""

_THINKING = 5.0
"""Seconds that an application may take for its first answer."""

_AT_ONCE, _MARGIN = 0.3, 1.25
"""Seconds for an answer that hold nothing up, and by how much the next may take longer."""

AROUND = "the context of the case"
"""Who sends what a context asks for besides the case, as the capture names it."""

_REFUSALS = 2
"""Of a good cookie in one context that are no chance."""

_QUEUE = 8192
"""Pending fast opens of a listener that all cases share."""

_FULL_SEGMENTS = 3
"""In the request whose answer is timed."""

_BULK, _IN_FLIGHT = 100_000, 16_000
"""Bytes that a case transfers at most, and of them on the way at a time."""

_IDLE = 15.0
"""Seconds that a connection is left idle at most, to see whether the application ends it."""

_COPY = "plain TCP is broken there (docs/echo has servers to copy)"

_LOSES = (
    "on a plain connection all {} bytes were acknowledged and {} came back: your application loses "
    f"what its send buffer refuses, or {_COPY}"
)

_RESETS = (
    "a plain connection was reset when {} of {} bytes had come back: your application gives up on "
    f"so many, or {_COPY}"
)


async def meet_the_applications(peer: Peer, needs: Collection[str]) -> None:
    """Ask each listener for an answer; find out what the application does that is legal.

    needs: of the cases that will be run. Raises TargetError where a listener says nothing, or
    answers wrongly: another application runs there than the one named.
    """
    target = peer.target
    listeners = [
        (target.main, ""),
        (target.plain, "plain"),
        (target.second, "second"),
        (target.small, "small"),
    ]
    try:
        for service, role in listeners:
            if service is not None:
                await _meet(peer, service, _given_as(role, target.name))
        if isinstance(target.hooks, StandingHooks):
            await _meet_standing(peer, target.hooks.ports)
        if "bulk" in needs and target.main.app.name == "echo":
            target.loses_bulk = target.loses_bulk or await _loses_bulk(peer)
        if "listeners" in needs and target.meets("listeners", peer.family):
            target.keeps_syn_data = target.keeps_syn_data or await _keeps_syn_data(peer)
    finally:
        peer.hang_up()


async def think_time(peer: Peer) -> float:
    """Seconds to allow the application for an answer, going by one on a plain connection; 0.0
    where it takes no time that counts, or where none came.

    They count from the acknowledgement of the request, so that what is lost is no thought, to the
    first byte of the answer to a long one: full segments are not held back by a stack.
    """
    loop = asyncio.get_running_loop()
    try:
        flow = await peer.connect()
        flow.request(_FULL_SEGMENTS * flow.mss if flow.app.name == "echo" else 0)
        await flow.until("an acknowledgement", lambda: flow.their_rcv_nxt == flow.snd_nxt)
        began = loop.time()
        await flow.until("an answer", lambda: bool(flow.stream.data), within=_THINKING)
    except Ending:
        return 0.0
    finally:
        peer.hang_up()
    taken = loop.time() - began
    return _MARGIN * taken if taken > _AT_ONCE + flow.slack else 0.0


async def _keeps_syn_data(peer: Peer) -> bool:
    """Whether data is acknowledged in a SYN without any option; no where no SYN-ACK comes."""
    for _ in range(_TRIES):
        try:
            return await peer.takes_any_data()
        except Ending:
            continue
    return False


async def _meet(peer: Peer, service: Service, option: str) -> None:
    """The first answers of a listener."""
    if why := await _found(peer, service, _answers_twice):
        raise TargetError(
            f"{_where(peer, service, option)} does not answer a plain connection as --app "
            f"{service.app.name} would ({why}): check which application runs there, or give "
            "--app none"
        )


async def _meet_standing(peer: Peer, ports: Mapping[str, int]) -> None:
    """What the applications of --app-port answer, or do on accept."""
    for name, port in ports.items():
        option = f"--app-port {name}={port}"
        service = Service(
            port, make_app(name if name in ("echo", "http") else "none", str(peer.address))
        )
        if service.app.answers:
            await _meet(peer, service, option)
            continue
        if why := await _found(peer, service, functools.partial(oddity, app=name)):
            raise TargetError(
                f"{_where(peer, service, option)} does not do on a plain connection what '{name}' "
                f"does ({why}): check which application runs there (docs/hooks.md)"
            )


def _given_as(role: str, target: str) -> str:
    """How the user named the port of a role, "" for the main one."""
    if not role:
        return ""
    in_file = f", or '{role}' in {target}" if is_target_file(target) else ""
    return f"--{role}-port{in_file}"


def _where(peer: Peer, service: Service, option: str) -> str:
    return endpoint(peer.address, service.port) + (f" ({option})" if option else "")


async def _found(peer: Peer, service: Service, asked: Callable[[Flow], Awaitable[str]]) -> str:
    """What is wrong with a listener, as a question on a plain connection tells, "" for nothing."""
    why = ""
    for _ in range(_TRIES):
        try:
            flow = await _connected(peer, service)
        except Ending as ending:
            return ending.reason if await _has_room(peer) else ""
        why = await asked(flow)
        if not flow.was_reset:
            break
    return why


async def _answers_twice(flow: Flow) -> str:
    """What is wrong with the answers to two requests; HTTP may leave the second one out."""
    flow.request()
    if why := await _answers(flow):
        return why
    closes = await _closes_after_one(flow)
    if isinstance(flow.app, Http):
        flow.app.once = flow.app.once or closes
    elif closes:
        return f"your application closes after one answer, or {_COPY}"
    return ""


async def _connected(peer: Peer, service: Service) -> Flow:
    """A plain connection. Raises Ending where none can be had, loss being no explanation."""
    for left in reversed(range(_CONNECTS)):
        try:
            return await peer.connect(service)
        except WasReset:
            if left < _CONNECTS - _TRIES:
                raise
        except Missing:
            if not left:
                raise
    raise AssertionError("the last try returns or raises")


async def _has_room(peer: Peer) -> bool:
    """Whether the main listener takes connections, so that silence or RST is a port's own."""
    try:
        for _ in range(_TRIES):
            await peer.connect()
    except Ending:
        return False
    return True


async def _answers(flow: Flow) -> str:
    """What is wrong with the answer, "" where it is right, or where the path may have lost it."""
    for within in (*[None] * _RESENT, _THINKING):
        try:
            await flow.answered(within=within)
        except Missing as ending:
            if flow.was_reset:
                return ending.reason
            if flow.their_rcv_nxt != flow.snd_nxt:
                flow.resend()
        except Ending as ending:
            return ending.reason
        else:
            return ""
    taken = flow.their_rcv_nxt == flow.snd_nxt
    return "the request was acknowledged, and no answer came" if taken else ""


async def _closes_after_one(flow: Flow) -> bool:
    """Whether a server has closed, or closes, instead of answering once more."""
    flow.request()
    try:
        await flow.until(
            "an answer or the end", lambda: flow.stream.ended or _whole(flow), acking=True
        )
    except Skipped:
        return True
    except Ending:
        return flow.was_reset
    return not _whole(flow)


def _whole(flow: Flow) -> bool:
    return flow.app.judge(flow.sent, bytes(flow.stream.data)) is None


async def _loses_bulk(peer: Peer) -> str:
    """What an echo does wrong with as much as cases send, "" where nothing is known.

    Where our own bytes are not acknowledged, the path may have lost them, and cases tell more.
    """
    for _ in range(_TRIES):
        try:
            flow = await peer.connect()
        except Ending:
            return ""
        why = await _loses(flow)
        if not flow.was_reset:
            break
    return why


async def _loses(flow: Flow) -> str:
    """The same, on one connection."""
    try:
        data = flow.app.request(_BULK)
        flow.sent.append(data)
        piece = flow.mss - 40
        for at in range(0, len(data), piece):
            flow.send(ACK | PSH, data[at : at + piece])
            await flow.until(
                "an acknowledgement",
                lambda: seq.distance(flow.their_rcv_nxt, flow.snd_nxt) <= _IN_FLIGHT,
                acking=True,
            )
        await flow.answered()
    except Failed:
        pass
    except Ending:
        if flow.was_reset:
            return _RESETS.format(len(flow.stream.data), len(data))
        if flow.their_rcv_nxt != flow.snd_nxt:
            return ""
    else:
        return ""
    return _LOSES.format(len(data), len(flow.stream.data))


AGEING = "fast opens before the case"
"""Who sends them, as the capture names it."""


async def serve(target: Target, context: Context) -> None:
    """See to it that the application of a context listens.

    Without hooks it is the user who chose the application, and the context has no say.
    """
    application = context["application"]
    usual = BY_NAME["application"].usual
    if application in (usual, *target.by_application) or target.main.app.name != usual:
        return
    if target.hooks is not None and target.offers("listen"):
        port = await target.hooks.listen(ListenerOptions(application, _QUEUE))
        target.by_application[application] = Service(port, target.main.app)


async def grow_old(age: int, peer: Callable[[], Peer]) -> None:
    """Let the target take so many fast opens. peer: to reach it as a client that comes before."""
    for _ in range(age):
        client = peer()
        try:
            flow = await client.open()
            flow.ack()
            await flow.finish()
        except (Ending, *BROKEN):
            # The case itself tells what is wrong.
            return
        finally:
            client.hang_up()


async def explained(
    ending: Ending,
    seconds: float,
    flows: Sequence[Flow],
    context: Context,
    peer: Callable[..., Peer],
) -> Ending:
    """How a case ended, once what may explain it otherwise has been asked for.

    seconds: that the case took. flows: of the case. peer: as in `held_against`.
    """
    if isinstance(ending, Missing | Failed) and any(map(_was_left, flows)):
        return await _unless_idle_ones_end(ending, seconds, peer())
    return await held_against(ending, context, peer)


def _was_left(flow: Flow) -> bool:
    """Whether the application ended its side first, which an echo never does."""
    return flow.stream.ended and not flow.conduct.history.peer.fin


async def _unless_idle_ones_end(ending: Ending, seconds: float, peer: Peer) -> Ending:
    """`ending`, but where a plain connection that is idle ends within those seconds, too."""
    if peer.target.is_ours or not peer.target.main.app.answers:
        return ending
    began = (loop := asyncio.get_running_loop()).time()
    try:
        flow = await peer.connect()
        flow.request()
        if await _answers(flow):
            return ending
        await flow.until("a FIN", lambda: flow.stream.ended, within=min(seconds, _IDLE))
    except (Ending, *BROKEN):
        return ending
    finally:
        peer.hang_up()
    return Skipped(
        "needs an application that keeps an idle connection: yours also ended a plain one, after"
        f" {loop.time() - began:.1f} s"
    )


async def held_against(ending: Ending, context: Context, peer: Callable[..., Peer]) -> Ending:
    """How a case ended that got no cookie in a context: the target fails it if it grants cookies in
    the usual context, and there accepts one that it refuses in this.

    peer: to reach it, in the usual context or in that of the argument of this name.
    """
    if not (isinstance(ending, Cookieless) and context.values):
        return ending
    # A cookie is good for one address.
    clients = [peer(), peer(context=context.without(("source",)))]
    usual, inside = clients
    try:
        for _ in range(_REFUSALS):
            cookie = await usual.cookie()
            if await inside.accepts(cookie) or not await usual.accepts(cookie):
                return ending
    except (Ending, *BROKEN):
        return ending
    finally:
        for client in clients:
            client.hang_up()
    return Failed(
        "a valid cookie is refused in this context, and accepted in the usual one",
        expected="a SYN-ACK that acknowledges data in the SYN",
        actual="a SYN-ACK that acknowledges the SYN",
        packets=inside.flows[-1].cited,
        flow=inside.flows[-1].name,
    )

"""Plays one schedule at a client, and holds both ends to what TCP and fast open promise."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from scapy_tfo.client_laws.memory import DEFAULT_MSS
from scapy_tfo.client_laws.onset import must_be_plain_again
from scapy_tfo.client_laws.schedules.application import ServerApplication
from scapy_tfo.client_laws.schedules.host import Carried, Host
from scapy_tfo.client_laws.schedules.schedule import OFF, PLAIN, REFUSED, REQUEST, SERVERS, Schedule
from scapy_tfo.clients.server import Server
from scapy_tfo.suite.outcome import Broke, Failed, Skipped, judging

_WHOLE, _FAULT = 24.0, 12.0
"""Times the patience: for a conversation, for 40 segments may each wait for a late acknowledgement;
and for each fault, for timers of several seconds run out, one after another."""
_SHOULD = {"CLI-5", "CLI-8a"}


@dataclass(frozen=True, slots=True)
class Played:
    """order: of its packets, which the client sent."""

    order: tuple[bool, ...]


async def play(server: Server, schedule: Schedule) -> Played:
    """A connection that grants a cookie where the opening wants one, that of the schedule, and one
    more to the same server, where all goes well."""
    _need(server, schedule)
    usual = server.patience
    server.patience = usual * (_WHOLE + _FAULT * len(schedule.faults))
    host = Host(server, schedule)
    try:
        return await _played(server, host, schedule, usual)
    finally:
        server.patience = usual
        host.close()


def _need(server: Server, schedule: Schedule) -> None:
    dialogue = server.dialogue
    if dialogue.relay is not None:
        raise Skipped("needs a dialogue that is known: without --relay and --serve")
    if schedule.text != Schedule().text:
        server.need_chosen_text()
    if schedule.server == "silent" or schedule.server == "speaks-first":
        server.need_raw_text()


async def _played(server: Server, host: Host, schedule: Schedule, usual: float) -> Played:
    cookies: set[bytes] = set()
    if schedule.opening not in (PLAIN, REQUEST):
        host.answers(SERVERS[0])
        cookies |= await _granted(server, host, usual)
    if schedule.opening == REFUSED:
        host.gives_up_its_key()
    elif schedule.opening == OFF:
        host.switches_off()
    host.answers(schedule.server, schedule.faults)
    client = await _connected(server, schedule.text, usual, ask=schedule.opening != PLAIN)
    if schedule.opening == PLAIN:
        with judging("CLI-18"):
            client.must_be_plain("though the application did not ask for it")
    elif schedule.opening == REQUEST:
        with judging("CLI-1"):
            client.must_ask()
    else:
        client.opens_fast(next(iter(cookies)))
    forgiven: list[Failed] = []
    await _over(server, host, client, schedule)
    order = tuple(host.path.sent)
    with _going_on(forgiven):
        _must_repeat_plainly(client)
    host.answers(SERVERS[0])
    is_harmed = schedule.opening == OFF and not (schedule.faults or client.taken)
    cookies |= set(client.granted)
    then = await _afterwards(server, host, cookies, usual)
    if is_harmed:
        with _going_on(forgiven), judging("CLI-8a"):
            then.must_not_open_fast("after a fast open that was refused")
    await _over(server, host, then, Schedule(REQUEST))
    if forgiven:
        raise forgiven[0]
    for each in host.watch.breaches:
        raise Broke(f"the schedule's own server breaks {each.rule}: {each.actual}")
    return Played(order)


@contextlib.contextmanager
def _going_on(forgiven: list[Failed]) -> Iterator[None]:
    """A SHOULD that is not kept does not end the schedule: what follows is judged, too."""
    try:
        yield
    except Failed as ending:
        if not set(ending.requirements) <= _SHOULD:
            raise
        forgiven.append(ending)


async def _connected(server: Server, size: int, usual: float, *, ask: bool = True) -> Carried:
    """Start an application, which has the usual time for that."""
    patience, server.patience = server.patience, usual
    try:
        found = await server.connected(size, ask=ask)
    finally:
        server.patience = patience
    assert isinstance(found, Carried)
    return found


async def _granted(server: Server, host: Host, usual: float) -> set[bytes]:
    client = await _connected(server, Schedule().text, usual)
    client.must_ask()
    await _over(server, host, client, Schedule(REQUEST))
    return set(client.granted)


async def _over(server: Server, host: Host, client: Carried, schedule: Schedule) -> None:
    """The whole conversation, to its end at both ends."""
    if schedule.server == "aborts":
        await _aborted(server, host, client)
        return
    with judging("CLI-6a"):
        ended = await server.ended(client)
        application = await _of(host, client, server.patience)
        _must_be_text(client, application)
        body = application.body
        client.require(
            ended.status == 0 and ended.received == body,
            "the application did not get our answer whole",
            f"exit status 0 and {len(body)} bytes",
            f"status {ended.status}, {len(ended.received)} bytes {ended.said}".strip(),
        )
        client.require(
            application.answered,
            "the client's text did not come whole",
            f"{len(server.text)} bytes",
            f"{len(application.heard)} bytes",
        )


async def _of(host: Host, client: Carried, within: float) -> ServerApplication:
    """The server's application, once its connection is over."""
    loop = asyncio.get_running_loop()
    until = loop.time() + within
    while not (host.applications and host.applications[-1].done):
        if loop.time() > until:
            heard = len(host.applications[-1].heard) if host.applications else 0
            raise client.missing(
                f"the end of the connection at the server, which got {heard} bytes"
            )
        await asyncio.sleep(0.02)
    return host.applications[-1]


def _must_be_text(client: Carried, application: ServerApplication) -> None:
    client.require(
        not application.wrong, "the client's text is damaged", "each byte once", application.wrong
    )
    client.require(
        not application.broke,
        "the connection ends out of order",
        "an end of both directions",
        application.broke,
    )


async def _aborted(server: Server, host: Host, client: Carried) -> None:
    """A server that resets: the client's application is told, where a RST came to it."""
    loop = asyncio.get_running_loop()
    until = loop.time() + server.patience
    while not client.was_refused and loop.time() < until:
        await asyncio.sleep(0.02)
    if client.was_refused:
        with judging("CLI-22"):
            await server.must_be_told(client, "a RST behind the handshake")
    elif server.application is not None:
        server.application.kill()
    for each in host.applications[-1:]:
        _must_be_text(client, each)


def _must_repeat_plainly(client: Carried) -> None:
    for again in client.syns[1:]:
        must_be_plain_again(client, again)


async def _afterwards(server: Server, host: Host, cookies: set[bytes], usual: float) -> Carried:
    """One more connection: the client knows of this server what it can."""
    client = await _connected(server, Schedule().text, usual)
    option = client.option
    with judging("CLI-1"):
        client.require(
            option is None or not option.cookie or option.cookie in cookies,
            "a cookie that this server never granted is used",
            " or ".join(sorted(each.hex() for each in cookies)) or "none",
            str(client.first),
        )
    most = max(DEFAULT_MSS[server.family], host.settings.mtu - 40)
    with judging("CLI-4"):
        client.require(
            len(client.first.payload) <= most,
            "the SYN has more data than the server's MSS allows",
            f"at most {most} bytes",
            f"{len(client.first.payload)} bytes",
        )
    return client

"""QUIC between the loader and the server of pages, over the model of the link, by aioquic.

Requests and answers are the text of HTTP/1.1, each on a stream of its own: HTTP/3 would shorten
requests, and the pages would not be the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.gain.secure.certificate import NAME
from scapy_tfo.gain.virtual.network import Way
from scapy_tfo.lab.links.link_model import Shape

_HEADERS = 28
"""Bytes of IPv4 and UDP in front of each datagram; ours hold the connection's number."""

_ALPN = ["gain"]
_PEER = "peer", 1
"""Where each end believes the other to be: the link has no addresses."""


def import_quic() -> Any:
    """Aioquic's connections. Raises SetupError where it is missing."""
    try:
        from aioquic.quic import configuration, connection, events, logger, packet
    except ImportError:
        raise SetupError("QUIC needs aioquic: pip install 'scapy-tfo[quic]'") from None
    del logger
    return configuration, connection, events, packet


@dataclass
class Tickets:
    """tickets: by the client's place, and the server's by their name."""

    client: dict[str, Any] = field(default_factory=dict)
    server: dict[bytes, Any] = field(default_factory=dict)


class _End:
    """A connection of QUIC's at one end, which sends with the link's clock. heard: takes each
    event."""

    def __init__(
        self, quic: Any, number: int, put: Callable[[bytes], None], heard: Callable[[Any], None]
    ) -> None:
        self.quic = quic
        self._head = number.to_bytes(_HEADERS, "big")
        self._put = put
        self._heard = heard
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def receive(self, data: bytes) -> None:
        self.quic.receive_datagram(data, _PEER, now=self._loop.time())
        self.pump()

    def pump(self) -> None:
        """Hand out what happened, send what is to be sent, and set the timer."""
        while (event := self.quic.next_event()) is not None:
            self._heard(event)
        now = self._loop.time()
        for data, _ in self.quic.datagrams_to_send(now=now):
            self._put(self._head + data)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self.quic.get_timer()
        if due is not None:
            self._timer = self._loop.call_at(due, self._fired)

    def _fired(self) -> None:
        self._timer = None
        due = self.quic.get_timer()
        now = self._loop.time()
        self.quic.handle_timer(now=now if due is None else max(now, due))
        self.pump()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class QuicNetwork:
    """Clients and servers on both sides of a link. answer: of a request's head, the seconds to
    think and the answer. opens: connections so far."""

    def __init__(
        self,
        onward: Shape,
        homeward: Shape,
        files: tuple[Path, Path],
        tickets: Tickets,
        answer: Callable[[bytes], tuple[float, bytes]],
    ) -> None:
        self._configuration, self._connection, self._events, self._packet = import_quic()
        self._files, self._tickets, self._answer = files, tickets, answer
        self._there = Way(onward, 0, self._at_server)
        self._back = Way(homeward, 1, self._at_client)
        self._clients: list[_End] = []
        self._servers: dict[int, _End] = {}
        self._loop = asyncio.get_running_loop()
        self.opens = 0

    def connect(self, place: str, heard: Callable[[Any], None]) -> _End:
        """A client's connection, with early data where there is a ticket of the place."""
        wanted = self._configuration.QuicConfiguration(
            is_client=True, alpn_protocols=_ALPN, server_name=NAME
        )
        wanted.load_verify_locations(cafile=str(self._files[0]))
        wanted.session_ticket = self._tickets.client.get(place)

        def keep(ticket: Any) -> None:
            self._tickets.client[place] = ticket

        quic = self._connection.QuicConnection(configuration=wanted, session_ticket_handler=keep)
        end = _End(quic, self.opens, self._there.put, heard)
        self._clients.append(end)
        self.opens += 1
        quic.connect(_PEER, now=self._loop.time())
        return end

    def close(self) -> None:
        """Stop the timers."""
        for each in (*self._clients, *self._servers.values()):
            each.stop()

    def _at_client(self, packet: bytes) -> None:
        self._clients[int.from_bytes(packet[:_HEADERS], "big")].receive(packet[_HEADERS:])

    def _at_server(self, packet: bytes) -> None:
        number, data = int.from_bytes(packet[:_HEADERS], "big"), packet[_HEADERS:]
        if number not in self._servers:
            self._servers[number] = self._accept(number, data)
        self._servers[number].receive(data)

    def _accept(self, number: int, data: bytes) -> _End:
        wanted = self._configuration.QuicConfiguration(is_client=False, alpn_protocols=_ALPN)
        wanted.load_cert_chain(*map(str, self._files))
        head = self._packet.pull_quic_header(self._packet.Buffer(data=data), host_cid_length=8)

        def keep(ticket: Any) -> None:
            self._tickets.server[ticket.ticket] = ticket

        quic = self._connection.QuicConnection(
            configuration=wanted,
            original_destination_connection_id=head.destination_cid,
            session_ticket_fetcher=self._tickets.server.get,
            session_ticket_handler=keep,
        )
        asked: dict[int, bytes] = {}

        def heard(event: Any) -> None:
            if isinstance(event, self._events.StreamDataReceived):
                asked[event.stream_id] = asked.get(event.stream_id, b"") + event.data
                if event.end_stream:
                    wait, answer = self._answer(asked.pop(event.stream_id))
                    self._loop.call_later(wait, reply, event.stream_id, answer)

        def reply(stream: int, answer: bytes) -> None:
            quic.send_stream_data(stream, answer, end_stream=True)
            end.pump()

        end = _End(quic, number, self._back.put, heard)
        return end


class Host:
    """The client's connection to a place, that all requests share. early: the first goes before the
    handshake is over."""

    def __init__(self, network: QuicNetwork, place: str, *, early: bool) -> None:
        self._events = import_quic()[2]
        self._early = early
        self.ready: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.streams: dict[int, asyncio.Queue[bytes]] = {}
        self.end = network.connect(place, self._heard)
        self.end.pump()

    def _heard(self, event: Any) -> None:
        if isinstance(event, self._events.HandshakeCompleted) and not self.ready.done():
            self.ready.set_result(event.early_data_accepted)
        elif isinstance(event, self._events.StreamDataReceived):
            came = self.streams[event.stream_id]
            came.put_nowait(event.data)
            if event.end_stream and event.data:
                came.put_nowait(b"")
        elif isinstance(event, self._events.ConnectionTerminated):
            for came in self.streams.values():
                came.put_nowait(b"")

    def ask(self, request: bytes) -> asyncio.Queue[bytes]:
        """On a stream of its own; what comes is put there."""
        stream = self.end.quic.get_next_available_stream_id()
        came = self.streams[stream] = asyncio.Queue()
        self.end.quic.send_stream_data(stream, request, end_stream=True)
        self.end.pump()
        return came


class QuicWire:
    """A stream of the connection to a host; see loader.Connection. hosts: those that are connected,
    by their place."""

    def __init__(
        self, network: QuicNetwork, hosts: dict[str, Host], place: str, *, early: bool
    ) -> None:
        self._is_first = place not in hosts
        if self._is_first:
            hosts[place] = Host(network, place, early=early)
        self._host = hosts[place]
        self._came: asyncio.Queue[bytes] | None = None

    async def connect(self) -> None:
        await asyncio.shield(self._host.ready)

    async def fast_open(self, data: bytes) -> None:
        self._came = self._host.ask(data)

    async def send(self, data: bytes) -> None:
        self._came = self._host.ask(data)

    async def receive(self) -> bytes:
        assert self._came is not None
        return await self._came.get()

    @property
    def taken(self) -> bool:
        ready = self._host.ready
        return self._is_first and ready.done() and ready.result()

    def close(self) -> None:
        """The connection stays for others."""

"""A relay on the browser's side that opens the browser's connections: `python relay.py`.

It reads {"addresses": {LOOPBACK ADDRESS: SERVER'S}, "port": of both, "way": `tcp` or `tfo`,
"own": LOOPBACK ADDRESS, "start": HTML} as JSON from the standard input, and prints "{}" when it
listens. It relays a connection to a loopback address to the server: with `tcp` at once, as a
browser would open it itself, and with `tfo` when the first data arrives, which it sends in the SYN.
At its own address it serves the start page. It prints data posted there as a line of JSON, with the
bytes, the connections, and those of them whose SYN's data was acknowledged.
"""

import asyncio
import contextlib
import json
import socket
import sys
from typing import Any

_LARGEST = 1 << 18
_INFO, _OPTIONS, _SYN_DATA = 104, 5, 0x20
_BACKLOG = 512


class Relay:
    """work: as it was read."""

    def __init__(self, work: dict[str, Any]) -> None:
        self._work = work
        self._bytes = 0
        self._upstream: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            browser, _ = await loop.sock_accept(listener)
            task = loop.create_task(self._connection(browser))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _connection(self, browser: socket.socket) -> None:
        to = browser.getsockname()[0]
        browser.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with browser, contextlib.suppress(OSError):
            if to == self._work["own"]:
                await self._own(browser)
            elif to in self._work["addresses"]:
                await self._relay(browser, (self._work["addresses"][to], self._work["port"]))

    async def _relay(self, browser: socket.socket, at: tuple[str, int]) -> None:
        loop = asyncio.get_running_loop()
        # It stays open until the end: what it did is asked for then.
        upstream = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        upstream.setblocking(False)
        upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._work["way"] == "tfo":
            first = await loop.sock_recv(browser, _LARGEST)
            if not first:
                upstream.close()
                return
            sent = 0
            # Without a cookie the SYN asks for one, and the data follow.
            with contextlib.suppress(BlockingIOError):
                sent = upstream.sendto(first, socket.MSG_FASTOPEN, at)
            self._upstream.append(upstream)
            await loop.sock_sendall(upstream, first[sent:])
        else:
            self._upstream.append(upstream)
            await loop.sock_connect(upstream, at)
        there = loop.create_task(self._pump(browser, upstream))
        back = loop.create_task(self._pump(upstream, browser))
        try:
            await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
        finally:
            there.cancel()
            back.cancel()
            with contextlib.suppress(OSError):
                upstream.shutdown(socket.SHUT_WR)

    async def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            while piece := await loop.sock_recv(source, _LARGEST):
                if source in self._upstream:
                    self._bytes += len(piece)
                await loop.sock_sendall(sink, piece)

    async def _own(self, browser: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        text = b""
        while not text.endswith(b"}" if text.startswith(b"POST") else b"\r\n\r\n"):
            piece = await loop.sock_recv(browser, _LARGEST)
            if not piece:
                return
            text += piece
        if text.startswith(b"GET"):
            page = self._work["start"].encode()
            head = f"Content-Type: text/html\r\nContent-Length: {len(page)}\r\nConnection: close"
            await loop.sock_sendall(browser, f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + page)
            return
        told = json.loads(text.partition(b"\r\n\r\n")[2])
        early = sum(bool(self._options(each) & _SYN_DATA) for each in self._upstream)
        told.update(bytes=self._bytes, connections=len(self._upstream), early=early)
        print(json.dumps(told), flush=True)
        await loop.sock_sendall(browser, b"HTTP/1.1 204 No Content\r\n\r\n")

    def _options(self, sock: socket.socket) -> int:
        return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO)[_OPTIONS]


async def main() -> None:
    work = json.load(sys.stdin)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("0.0.0.0", work["port"]))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        print("{}", flush=True)
        await Relay(work).run(listener)


if __name__ == "__main__":
    asyncio.run(main())

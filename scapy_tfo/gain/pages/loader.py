"""A client that loads pages as a browser does: `python loader.py`, with the work on standard input.

The work is JSON: {"resources": [...], as in page.py, "addresses": {HOST: ADDRESS}, "port": N,
"request": bytes of each, "persistent": true, "parallel": connections a host, "ways": [...],
"times": N, "seed": of their order, "pause": seconds between loads}. WAY: `tcp`, `tfo` (sendto with
MSG_FASTOPEN) or `control` (tcp again). Blocks of a load each way follow one another, in a random
order within each. It prints a line of JSON for each load: way, seconds
until the last byte of the last resource, bytes, connections, those of them whose SYN's data was
acknowledged, and for the chain of resources that led to the last one: connections opened one after
another, seconds that they took to open, and seconds for which server and browser thought; and
segments that this side sent again.
"""

import asyncio
import json
import random
import socket
import sys
from collections import deque
from collections.abc import Coroutine
from contextlib import closing
from typing import Any, Protocol

_LARGEST = 1 << 18
_INFO, _OPTIONS, _SYN_DATA = 104, 5, 0x20


class Connection(Protocol):
    """What a page comes over. taken: whether the data of the SYN was acknowledged there. All but
    that raise OSError."""

    @property
    def taken(self) -> bool: ...

    async def connect(self) -> None:
        """With a handshake."""
        ...

    async def fast_open(self, data: bytes) -> None:
        """Send it in the SYN, where there is a cookie."""
        ...

    async def send(self, data: bytes) -> None:
        """All of it."""
        ...

    async def receive(self) -> bytes:
        """Some bytes; none at the end."""
        ...

    def close(self) -> None:
        """Harmless when called twice."""
        ...


class Wire:
    """A connection of this kernel's to a place; see Connection."""

    def __init__(self, at: tuple[str, int]) -> None:
        self._at = at
        self._loop = asyncio.get_running_loop()
        self._sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._sock.setblocking(False)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def connect(self) -> None:
        await self._loop.sock_connect(self._sock, self._at)

    async def fast_open(self, data: bytes) -> None:
        sent = 0
        try:
            sent = self._sock.sendto(data, socket.MSG_FASTOPEN, self._at)
        except BlockingIOError:
            # There was no cookie: the SYN asks for one.
            sent = 0
        await self.send(data[sent:])

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self._sock, data)

    async def receive(self) -> bytes:
        return await self._loop.sock_recv(self._sock, _LARGEST)

    @property
    def taken(self) -> bool:
        info = self._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO)
        return bool(info[_OPTIONS] & _SYN_DATA)

    def close(self) -> None:
        self._sock.close()


class Fetch:
    """One resource on its way. before: what it had to wait for; cold: it had its connection
    opened; opening: seconds that it waited for that; asked: when the browser wanted it. shares:
    events for parts of its body, by the number of bytes."""

    def __init__(self, resource: dict[str, Any]) -> None:
        self.resource = resource
        self.before: Fetch | None = None
        self.cold = False
        self.asked = self.opening = 0.0
        self.shares: list[tuple[int, asyncio.Event]] = []
        self.done = asyncio.Event()
        self.came = 0

    def arrived(self, size: int) -> None:
        self.came += size
        for wanted, event in self.shares:
            if self.came >= wanted:
                event.set()


class Host:
    """What is asked of one host, over so many connections at most."""

    def __init__(self, load: "Load", name: str) -> None:
        self.load = load
        self.at = (load.work["addresses"][name], load.work["port"])
        self.waiting: deque[Fetch] = deque()
        self.idle: deque[asyncio.Event] = deque()
        self.open = 0

    def ask(self, fetch: Fetch) -> None:
        fetch.asked = self.load.now()
        self.waiting.append(fetch)
        if self.idle:
            self.idle.popleft().set()
        elif self.open < self.load.work["parallel"]:
            self.open += 1
            self.load.start(self._connection(None))

    async def _connection(self, freed: Fetch | None) -> None:
        """A connection from its opening on, and what goes over it. freed: what was loaded over the
        one in whose place it stands."""
        load = self.load
        fetch = self._next(freed) if load.sends_first else None
        if load.sends_first and fetch is None:
            self.open -= 1
            return
        load.connections += 1
        with closing(load.wire(self.at)) as wire:
            opened = fetch
            if fetch is not None:
                await wire.fast_open(load.request(fetch))
            else:
                began = load.now()
                await wire.connect()
                fetch = self._next(freed)
                if fetch is not None:
                    fetch.opening = load.now() - max(began, fetch.asked)
            cold = True
            while True:
                if fetch is None:
                    ready = asyncio.Event()
                    self.idle.append(ready)
                    await ready.wait()
                    fetch = self._next(None)
                    continue
                fetch.cold, cold = cold, False
                if fetch is not opened:
                    await wire.send(load.request(fetch))
                await self._answer(wire, fetch)
                if fetch is opened:
                    load.early += wire.taken
                load.finished(fetch)
                if not load.work["persistent"]:
                    break
                fetch = self._next(fetch)
        if self.waiting:
            load.start(self._connection(fetch))
        else:
            self.open -= 1

    def _next(self, freed: Fetch | None) -> Fetch | None:
        if not self.waiting:
            return None
        fetch = self.waiting.popleft()
        if freed is not None:
            fetch.before = freed
        return fetch

    async def _answer(self, wire: Connection, fetch: Fetch) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = await wire.receive()
            if not piece:
                raise OSError(f"{fetch.resource['name']}: the connection ended early")
            head += piece
        head, _, body = head.partition(b"\r\n\r\n")
        status = head.split(b"\r\n")[0].decode()
        if " 200 " not in status:
            raise OSError(f"{fetch.resource['name']}: {status}")
        fetch.arrived(len(body))
        while fetch.came < fetch.resource["size"]:
            piece = await wire.receive()
            if not piece:
                raise OSError(f"{fetch.resource['name']}: only {fetch.came} bytes arrived")
            fetch.arrived(len(piece))


class Load:
    """One load of the page, one way."""

    def __init__(self, work: dict[str, Any], way: str) -> None:
        self.work, self.way = work, way
        self.connections = self.early = 0
        self._hosts: dict[str, Host] = {}
        self._last: Fetch | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._failed: asyncio.Future[None] = self._loop.create_future()
        self.fetches = {each["name"]: Fetch(each) for each in work["resources"]}

    def start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._failed.done():
            self._failed.set_exception(error)

    def request(self, fetch: Fetch) -> bytes:
        """Filled up to the length that the page's requests have."""
        resource = fetch.resource
        end = "" if self.work["persistent"] else "Connection: close\r\n"
        head = f"GET /{resource['name']} HTTP/1.1\r\nHost: {resource['host']}\r\n{end}"
        room = self.work["request"] - len(head) - len("Cookie: \r\n\r\n")
        cookie = f"Cookie: {'x' * room}\r\n" if room > 0 else ""
        return f"{head}{cookie}\r\n".encode()

    def finished(self, fetch: Fetch) -> None:
        self._last = fetch
        fetch.done.set()

    async def _resource(self, fetch: Fetch) -> None:
        resource = fetch.resource
        if resource["after"] is not None:
            fetch.before = parent = self.fetches[resource["after"]]
            if resource["at"] < 1:
                await self._share(parent, resource["at"])
            else:
                await parent.done.wait()
        if resource["delay"]:
            await asyncio.sleep(resource["delay"])
        name = resource["host"]
        if name not in self._hosts:
            self._hosts[name] = Host(self, name)
        self._hosts[name].ask(fetch)
        await fetch.done.wait()

    async def _share(self, parent: Fetch, part: float) -> None:
        wanted = max(1, round(part * parent.resource["size"]))
        if parent.came < wanted and not parent.done.is_set():
            event = asyncio.Event()
            parent.shares.append((wanted, event))
            await event.wait()

    @property
    def sends_first(self) -> bool:
        """Whether a connection is opened with a request, and not before one is at hand."""
        return self.way == "tfo"

    def wire(self, at: tuple[str, int]) -> Connection:
        """One that is not open yet."""
        return Wire(at)

    def now(self) -> float:
        """Seconds on the loop's clock."""
        return self._loop.time()

    def sent_again(self) -> int:
        """Segments, in this namespace so far (TCP-MIB's tcpRetransSegs)."""
        with open("/proc/net/snmp") as file:
            names, values = (line.split() for line in file if line.startswith("Tcp:"))
        return int(values[names.index("RetransSegs")])

    async def run(self) -> dict[str, Any]:
        again = self.sent_again()
        began = self.now()
        whole = asyncio.gather(*(self._resource(each) for each in self.fetches.values()))
        try:
            await asyncio.wait((whole, self._failed), return_when=asyncio.FIRST_COMPLETED)
            if self._failed.done():
                self._failed.result()
            took = self.now() - began
        finally:
            whole.cancel()
            for each in self._tasks:
                each.cancel()
            await asyncio.gather(whole, *self._tasks, return_exceptions=True)
        cold, opening, think = self._chain()
        return {
            "way": self.way,
            "seconds": took,
            "bytes": sum(each.came for each in self.fetches.values()),
            "connections": self.connections,
            "early": self.early,
            "cold": cold,
            "opening": opening,
            "think": think,
            "again": self.sent_again() - again,
        }

    def _chain(self) -> tuple[int, float, float]:
        cold, opening, think = 0, 0.0, 0.0
        at = self._last
        while at is not None:
            cold += at.cold
            opening += at.opening
            think += at.resource["wait"]
            parent = at.resource["after"]
            if at.before is None or at.before.resource["name"] == parent:
                think += at.resource["delay"]
            at = at.before
        return cold, opening, think


async def warm(work: dict[str, Any], make: type[Load] = Load) -> None:
    """One fast open to each host, so that its cookie is at hand."""
    first: dict[str, dict[str, Any]] = {}
    for each in work["resources"]:
        first.setdefault(each["host"], {**each, "after": None})
    for resource in first.values():
        small = {**work, "resources": [resource], "parallel": 1}
        await make(small, "tfo").run()


async def main() -> None:
    work = json.load(sys.stdin)
    ways = list(work["ways"])
    dice = random.Random(work["seed"])
    if "tfo" in ways:
        await warm(work)
    for _ in range(work["times"]):
        dice.shuffle(ways)
        for way in ways:
            await asyncio.sleep(work["pause"])
            told = await Load(work, way).run()
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except OSError as error:
        sys.exit(f"{error.strerror or error}")

"""The target's application, seen from outside: requests to send, and the answers it must give."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Protocol

from scapy_tfo.suite.context.context import USUAL, Context
from scapy_tfo.suite.context.texts import filling

_STATUS = b"HTTP/1."


class App(Protocol):
    """name: as given to --app. answers: False where nothing comes back. once: it answers one
    request on each connection."""

    name: str
    answers: bool
    once: bool

    def request(self, size: int = 0, *, last: bool = False) -> bytes:
        """A request of at least `size` bytes, unlike any other; `last` asks to close after it."""
        ...

    def judge(self, requests: Sequence[bytes], stream: bytes) -> str | None:
        """What is wrong with the answer so far: None if complete and right, "" if incomplete."""
        ...


class Echo:
    """Sends back what it is sent."""

    name = "echo"
    answers = True
    once = False

    def __init__(self, context: Context = USUAL) -> None:
        self._count = itertools.count(1)
        self._fill, self._least = filling(context["text"]), int(context["size"])
        # Where the bytes matter, they begin and end the text.
        self._in_the_middle = context["text"] != "letters"

    def request(
        self,
        size: int = 0,
        *,
        last: bool = False,  # noqa: ARG002 - an echo cannot tell which request is the last
    ) -> bytes:
        head = b"<%d>" % next(self._count)
        text = self._fill(max(size, self._least) - len(head))
        half = len(text) // 2 if self._in_the_middle else 0
        return text[:half] + head + text[half:]

    def judge(self, requests: Sequence[bytes], stream: bytes) -> str | None:
        sent = b"".join(requests)
        if stream == sent:
            return None
        if sent.startswith(stream):
            return ""
        at = next((i for i, (a, b) in enumerate(zip(sent, stream, strict=False)) if a != b), None)
        if at is None:
            return (
                f"{len(stream)} bytes came back for {len(sent)} sent: {_excerpt(stream, len(sent))}"
            )
        return f"the echo differs from byte {at} on: {_excerpt(stream, at)}"


class Http:
    """An HTTP/1.1 server: each request gets one response.

    once: it closes each connection after its first response, as it may (RFC 9112 section 9.6).
    """

    name = "http"
    answers = True
    once: bool

    def __init__(self, host: str) -> None:
        self.once = False
        self._host = host
        self._count = itertools.count(1)

    def request(self, size: int = 0, *, last: bool = False) -> bytes:
        closing = "Connection: close\r\n" if last else ""
        head = f"GET / HTTP/1.1\r\nHost: {self._host}\r\n{closing}X-Probe: {next(self._count)}"
        room = size - len(head) - 4
        return (head + "x" * max(room, 0) + "\r\n\r\n").encode()

    def judge(self, requests: Sequence[bytes], stream: bytes) -> str | None:
        responses, rest = _responses(stream)
        if not rest.startswith(_STATUS[: len(rest)]):
            return f"what came is not HTTP: {_excerpt(rest, 0)}"
        if responses > len(requests):
            return f"{responses} responses to {len(requests)} requests"
        return None if responses == len(requests) and not rest else ""


class NoApp(Echo):
    """Nothing is known of the application: only the handshake can be judged."""

    name = "none"
    answers = False

    def judge(
        self,
        requests: Sequence[bytes],  # noqa: ARG002 - whatever comes may be right
        stream: bytes,  # noqa: ARG002 - likewise
    ) -> str | None:
        return None


class Dressed:
    """Gives the applications that one case talks to the requests of a context."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._plain = not {"text", "size"} & set(context.names)
        self._made: dict[type[Echo], Echo] = {}

    def __call__(self, app: App) -> App:
        if self._plain or not isinstance(app, Echo):
            return app
        # One for all conversations, so that no two requests are alike.
        return self._made.setdefault(type(app), type(app)(self._context))


def make_app(name: str, host: str) -> App:
    """The application of that name; `host` is what an HTTP request asks for."""
    makers: dict[str, Callable[[], App]] = {
        "echo": Echo,
        "http": lambda: Http(host),
        "none": NoApp,
    }
    return makers[name]()


def _responses(stream: bytes) -> tuple[int, bytes]:
    """How many whole responses stand in the stream, and what is left after them."""
    count = 0
    while True:
        head, mark, body = stream.partition(b"\r\n\r\n")
        if not mark or not head.startswith(_STATUS):
            return count, stream
        length = re.search(rb"(?i)\r\ncontent-length:\s*(\d+)", head)
        if length is None and re.search(rb"(?i)\r\ntransfer-encoding:\s*chunked", head):
            end = body.find(b"0\r\n\r\n")
            size = end + 5 if end >= 0 else len(body) + 1
        else:
            size = int(length[1]) if length else 0
        if len(body) < size:
            return count, stream
        stream = body[size:]
        count += 1


def _excerpt(data: bytes, at: int) -> str:
    piece = data[max(at - 8, 0) : at + 24]
    return repr(piece)[1:]

"""The target's application, seen from outside: requests to send, and the answers it must give."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Protocol

from scapy_tfo.option import MAX_OPTIONS
from scapy_tfo.suite.context.context import USUAL, Context
from scapy_tfo.suite.context.texts import filling
from scapy_tfo.suite.outcome import Skipped

_CLOSES = "needs more answers on a connection than this server gives before it closes"

_STATUS, _OLD = b"HTTP/1.", b"HTTP/1.0"


class App(Protocol):
    """name: as given to --app. answers: False where nothing comes back."""

    name: str
    answers: bool

    def request(self, size: int = 0, *, last: bool = False) -> bytes:
        """A request of at least `size` bytes, unlike any other; `last` asks to close after it."""
        ...

    def judge(self, requests: Sequence[bytes], stream: bytes) -> str | None:
        """What is wrong with the answer so far: None if complete and right, "" if incomplete."""
        ...

    def must_go_on(self, requests: Sequence[bytes], stream: bytes) -> None:
        """Raises Skipped where it may leave some of the requests without an answer, and close."""
        ...


class Echo:
    """Sends back what it is sent."""

    name = "echo"
    answers = True

    def __init__(self, context: Context = USUAL, mss: int = 65535) -> None:
        """mss: of the link, in bytes; a request of the context fits into a SYN with options."""
        self._count = itertools.count(1)
        self._fill = filling(context["text"])
        self._least = min(int(context["size"]), mss - MAX_OPTIONS)
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

    def must_go_on(self, requests: Sequence[bytes], stream: bytes) -> None:
        """It answers all that it is sent."""


class Http:
    """An HTTP/1.1 server: each request gets one response, until one of them says that the server
    closes, as it may (RFC 9112 section 9.6).

    once: it closes each connection after its first response, whether it says so or not.
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
        heads, rest = _responses(stream)
        if not rest.startswith(_STATUS[: len(rest)]):
            return f"what came is not HTTP: {_excerpt(rest, 0)}"
        if len(heads) > len(requests):
            return f"{len(heads)} responses to {len(requests)} requests"
        return None if len(heads) == len(requests) and not rest else ""

    def must_go_on(self, requests: Sequence[bytes], stream: bytes) -> None:
        if len(requests) <= 1:
            return
        heads, _ = _responses(stream)
        if self.once or (len(heads) < len(requests) and any(map(_says_it_closes, heads))):
            raise Skipped(_CLOSES)


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
    """Gives the applications that one case talks to the requests of a context. mss: see `Echo`."""

    def __init__(self, context: Context, mss: int) -> None:
        self._context, self._mss = context, mss
        self._plain = not {"text", "size"} & set(context.names)
        self._made: dict[type[Echo], Echo] = {}

    def __call__(self, app: App) -> App:
        if self._plain or not isinstance(app, Echo):
            return app
        # One for all conversations, so that no two requests are alike.
        return self._made.setdefault(type(app), type(app)(self._context, self._mss))


def make_app(name: str, host: str) -> App:
    """The application of that name; `host` is what an HTTP request asks for."""
    makers: dict[str, Callable[[], App]] = {
        "echo": Echo,
        "http": lambda: Http(host),
        "none": NoApp,
    }
    return makers[name]()


def _responses(stream: bytes) -> tuple[list[bytes], bytes]:
    """The heads of the whole responses in the stream, and what is left after them."""
    heads: list[bytes] = []
    while True:
        head, mark, body = stream.partition(b"\r\n\r\n")
        if not mark or not head.startswith(_STATUS):
            return heads, stream
        length = re.search(rb"(?i)\r\ncontent-length:\s*(\d+)", head)
        if length is None and re.search(rb"(?i)\r\ntransfer-encoding:\s*chunked", head):
            end = body.find(b"0\r\n\r\n")
            size = end + 5 if end >= 0 else len(body) + 1
        else:
            size = int(length[1]) if length else 0
        if len(body) < size:
            return heads, stream
        stream = body[size:]
        heads.append(head)


def _says_it_closes(head: bytes) -> bool:
    """Whether the head of a response has the option `close` of RFC 9112 section 9.6, or is of
    HTTP/1.0 and does not keep the connection (section 9.3)."""
    said = b",".join(re.findall(rb"(?i)\r\nconnection:([^\r]*)", head)).lower().split(b",")
    options = {each.strip() for each in said}
    return b"close" in options or (head.startswith(_OLD) and b"keep-alive" not in options)


def _excerpt(data: bytes, at: int) -> str:
    piece = data[max(at - 8, 0) : at + 24]
    return repr(piece)[1:]

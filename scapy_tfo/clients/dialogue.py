"""The text that a client and our server exchange: raw bytes, or HTTP."""

from __future__ import annotations

from scapy_tfo.clients.application import Dialogue
from scapy_tfo.clients.relay.upstream import Upstream
from scapy_tfo.errors import SetupError

_END = b"\r\n\r\n"


class Raw:
    """The client sends a text that we choose, and reads until the server closes."""

    name = "raw"
    chosen = True
    relay: Upstream | None = None

    def is_complete(self, text: bytes, heard: bytes) -> bool:
        return heard == text

    def wrong(self, text: bytes, heard: bytes) -> str:
        if text.startswith(heard):
            return ""
        if len(heard) > len(text) and heard.startswith(text):
            return f"{len(heard) - len(text)} bytes more than the {len(text)} it had to send"
        pairs = enumerate(zip(text, heard, strict=False))
        at = next((i for i, (mine, theirs) in pairs if mine != theirs), 0)
        return f"other bytes than it had to send, from byte {at} on: {heard[at : at + 24]!r}"

    def answer(self, body: bytes) -> bytes:
        return body


class Http:
    """The client makes a request of its own, without a body."""

    name = "http"
    chosen = False
    relay: Upstream | None = None

    def is_complete(self, text: bytes, heard: bytes) -> bool:  # noqa: ARG002 - its own request
        return heard.endswith(_END)

    def wrong(self, text: bytes, heard: bytes) -> str:  # noqa: ARG002 - likewise
        if not any(each.startswith(heard[: len(each)]) for each in (b"GET /", b"HEAD /")):
            return f"no HTTP request, or not from its beginning: {heard[:24]!r}"
        head, end, behind = heard.partition(_END)
        if end and behind:
            return f"{len(behind)} bytes behind the request: {behind[:24]!r}"
        if head.count(b"HTTP/1.") > 1:
            return "a request within the request: text came twice"
        return ""

    def answer(self, body: bytes) -> bytes:
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        return head.encode() + body


class Post(Http):
    """The client makes a request of its own, with a body that we choose."""

    name = "post"
    chosen = True

    def is_complete(self, text: bytes, heard: bytes) -> bool:
        return heard.partition(_END)[2] == text

    def wrong(self, text: bytes, heard: bytes) -> str:
        if not b"POST /".startswith(heard[: len(b"POST /")]):
            return f"no POST request, or not from its beginning: {heard[:24]!r}"
        return Raw().wrong(text, heard.partition(_END)[2])


DIALOGUES: dict[str, type[Raw | Http]] = {each.name: each for each in (Raw, Http, Post)}


def make_dialogue(name: str) -> Dialogue:
    """The dialogue of that name. Raises SetupError where there is none."""
    if name not in DIALOGUES:
        raise SetupError(f"no such dialogue: '{name}'; there are {', '.join(DIALOGUES)}")
    return DIALOGUES[name]()

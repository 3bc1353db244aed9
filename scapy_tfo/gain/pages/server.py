"""A server for all hosts of a page: `python server.py PORT`, in their namespace.

It reads {"HOST/PATH": [seconds to think, media type, body]} as JSON from the standard input; the
body is text, or a number of bytes, which is then an image. When it listens, it prints a line with
the congestion control that it got; it ends at the end of the input. It speaks HTTP/1.1, keeps
connections unless the client wants otherwise, and has fast open on.
"""

import asyncio
import contextlib
import json
import socket
import sys

_QUEUE, _BACKLOG = 256, 1024
_PATIENCE = 60.0
_LONGEST_HEAD = 1 << 16
_CONTROL = b"cubic"
_GIF = (
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0"
    b"\x02\x02D\x01\0;"
)
"""One transparent pixel; any bytes after it are ignored."""


class Server:
    """answers: by host and path."""

    def __init__(self, answers: dict[str, tuple[float, str, str | int]]) -> None:
        self._answers: dict[str, tuple[float, bytes]] = {}
        for key, (wait, kind, body) in answers.items():
            content = body.encode() if isinstance(body, str) else _GIF.ljust(body, b"\0")[:body]
            self._answers[key] = wait, _head(200, kind, len(content)) + content

    def answer(self, head: str) -> tuple[float, bytes]:
        """Of a request with this head: seconds to think, and the answer. Raises IndexError where it
        is none."""
        lines = head.split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        key = fields.get("host", "") + lines[0].split(" ")[1]
        return self._answers.get(key, (0.0, _head(404, "text/plain", 0)))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while True:
                async with asyncio.timeout(_PATIENCE):
                    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                    wait, answer = self.answer(head)
                    if wait:
                        await asyncio.sleep(wait)
                    writer.write(answer)
                    await writer.drain()
                if "\r\nconnection: close\r\n" in head.lower():
                    return
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError, IndexError):
            return
        finally:
            writer.close()


def _head(status: int, kind: str, size: int) -> bytes:
    name = "OK" if status == 200 else "Not Found"
    return (
        f"HTTP/1.1 {status} {name}\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n"
        "Cache-Control: no-store\r\nAccess-Control-Allow-Origin: *\r\n\r\n"
    ).encode()


def _listener(port: int) -> tuple[socket.socket, str]:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Not every host lets a namespace choose; it is told which one there is.
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _CONTROL)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, _QUEUE)
    sock.bind(("0.0.0.0", port))
    sock.setblocking(False)
    got = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return sock, got.split(b"\0")[0].decode()


async def main() -> None:
    server = Server(json.loads(sys.stdin.readline()))
    sock, control = _listener(int(sys.argv[1]))
    listening = await asyncio.start_server(
        server.serve, sock=sock, backlog=_BACKLOG, limit=_LONGEST_HEAD
    )
    print(control, flush=True)
    async with listening:
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())

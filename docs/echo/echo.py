"""An echo server to judge a TCP stack with: echo.py PORT [QUEUE]

QUEUE is the limit of pending fast opens (RFC 7413 section 5.1); 0, the default, leaves fast open
off. It reads no more from a connection until what it has read is on its way (back pressure), and
closes when the client has closed and has everything back (half close). Python 3.8 or later.
"""

import asyncio
import socket
import sys

SIZE = 16384


def listening(port: int, queue: int) -> socket.socket:
    family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listener.bind(("", port))
    if queue:
        # Before listen(), since some kernels read it there.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, queue)
    listener.listen(4096)
    return listener


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(SIZE):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def main(port: int, queue: int) -> None:
    listener = listening(port, queue)
    # It listens once more, with a backlog of its own.
    server = await asyncio.start_server(serve, sock=listener, limit=SIZE, backlog=4096)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("usage: echo.py PORT [QUEUE]")
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))

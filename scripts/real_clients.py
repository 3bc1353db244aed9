"""Judges real clients of this machine, and writes the table of them into docs/clients.md.

`python scripts/real_clients.py [--write] [NAME ...]`, as root or where user namespaces are allowed:
all clients, or those whose names begin so. A client whose program is missing gets a row that says
so. Programs and versions are this machine's.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import shutil
import socketserver
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo import spec
from scapy_tfo.clients.command import Command, CommandClient, commands, ready_made
from scapy_tfo.clients.environment import Namespace
from scapy_tfo.clients.judge import PATIENCE, Options, judge
from scapy_tfo.clients.registry import all_cases
from scapy_tfo.clients.relay.upstream import Endpoint
from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.suite.result import Run, Verdict

PAGE = Path(__file__).resolve().parents[1] / "docs" / "clients.md"
BEGIN, END = "<!-- real clients: begin -->\n", "<!-- real clients: end -->\n"
HTTP = "http://{host}:{port}/"
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/go/bin", "/usr/sbin"])
"""Go is where its own installer puts it."""
CURL = ("curl", "-q", "-sS", "-g", "--noproxy", "*")
NON_BLOCKING = """
import select, socket, sys
end = socket.socket()
end.setblocking(False)
text = open(sys.argv[3], "rb").read()
try:
    done = end.sendto(text, socket.MSG_FASTOPEN, (sys.argv[1], int(sys.argv[2])))
except BlockingIOError:
    done = 0
select.select([], [end], [])
end.setblocking(True)
end.sendall(text[done:])
while piece := end.recv(65536):
    sys.stdout.buffer.write(piece)
"""
RUBY = """
require "socket"
end_ = Socket.new(:INET, :STREAM)
end_.sendmsg(File.binread(ARGV[2]), Socket::MSG_FASTOPEN, Addrinfo.tcp(ARGV[0], ARGV[1].to_i))
print end_.read
"""
GO = """\
package main

import (
	"io"
	"log"
	"net"
	"os"
	"syscall"
)

const fastOpenConnect = 30 // TCP_FASTOPEN_CONNECT, which package syscall does not name

func ask(_, _ string, end syscall.RawConn) error {
	var failed error
	if err := end.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, fastOpenConnect, 1)
	}); err != nil {
		return err
	}
	return failed
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	text, err := os.ReadFile(os.Args[3])
	check(err)
	dialer := net.Dialer{Control: ask}
	end, err := dialer.Dial("tcp", net.JoinHostPort(os.Args[1], os.Args[2]))
	check(err)
	_, err = end.Write(text)
	check(err)
	_, err = io.Copy(os.Stdout, end)
	check(err)
}
"""


@dataclass(frozen=True, slots=True)
class Client:
    """name: of the row. words: the command, () for none. version: words that print it. relay: who
    answers, "tls", "dns" or "socks"; "" for the suite. ready: of the suite's ready-made clients.
    go: source of a program to build, which stands before the words. needs: a program besides the
    command. why_not: no command does it, and why."""

    name: str
    words: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    relay: str = ""
    ready: str = ""
    go: str = ""
    needs: str = ""
    why_not: str = ""


_PYTHON = (sys.executable, "-V")
WEB = 17413
"""Port on loopback of what a proxy's server leads to."""
DRIVER = str(Path(__file__).resolve().with_name("daemon_client.py"))


def _daemon(name: str, kind: str, version: tuple[str, ...], *, relay: str = "") -> Client:
    """A daemon, which is started anew for each connection."""
    words: tuple[str, ...] = (sys.executable, "-I", "-S", DRIVER, kind, "{host}", "{port}")
    words += (str(WEB),) if relay == "socks" else ()
    return Client(name, words, version, relay=relay, needs=kind)


CLIENTS = (
    Client("curl, HTTP", (*CURL, "--tcp-fastopen", HTTP), ("curl", "-V")),
    Client(
        "curl, HTTPS",
        (*CURL, "-k", "--tcp-fastopen", "https://{host}:{port}/"),
        ("curl", "-V"),
        relay="tls",
    ),
    Client(
        "wget2", ("wget2", "--tries=1", "--tcp-fastopen", "-q", "-O", "-", HTTP), ("wget2", "-V")
    ),
    Client(
        "kdig",
        (
            "kdig",
            "+tcp",
            "+fastopen",
            "+retry=0",
            "+time=5",
            "@{host}",
            "-p",
            "{port}",
            "example.net",
        ),
        ("kdig", "-V"),
        relay="dns",
    ),
    Client("Python, `MSG_FASTOPEN`", ready="python-msg", version=_PYTHON),
    Client("Python, `TCP_FASTOPEN_CONNECT`", ready="python-connect", version=_PYTHON),
    Client(
        "Python, `MSG_FASTOPEN` without blocking",
        (sys.executable, "-I", "-S", "-c", NON_BLOCKING, "{host}", "{port}", "{file}"),
        _PYTHON,
    ),
    Client(
        "Ruby, `sendmsg(MSG_FASTOPEN)`",
        ("ruby", "-e", RUBY, "{host}", "{port}", "{file}"),
        ("ruby", "-v"),
    ),
    Client(
        "Go, `TCP_FASTOPEN_CONNECT` by net.Dialer.Control",
        ("{host}", "{port}", "{file}"),
        ("go", "version"),
        go=GO,
    ),
    Client("nginx, outgoing", why_not="it has no fast open towards its upstreams"),
    _daemon("haproxy, outgoing", "haproxy", ("haproxy", "-v")),
    _daemon("unbound", "unbound", ("unbound", "-V"), relay="dns"),
    _daemon("dnsdist", "dnsdist", ("dnsdist", "--version"), relay="dns"),
    _daemon("shadowsocks-libev", "ss-local", ("ss-local", "-h"), relay="socks"),
    Client("shadowsocks-rust", why_not="Debian has no package of it"),
    Client(
        "systemd-resolved",
        why_not="it starts only as a user of its own, `systemd-resolve`, of a whole system",
    ),
    Client("Chromium", why_not="its program (156.0) has no switch that names fast open"),
)


class _Tls(socketserver.StreamRequestHandler):
    context: ssl.SSLContext

    def handle(self) -> None:
        with (
            contextlib.suppress(OSError),
            self.context.wrap_socket(self.request, server_side=True) as end,
        ):
            request = b"-"
            while request and b"\r\n\r\n" not in request:
                request = end.recv(65536)
            end.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nserved\n"
            )


class _Dns(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        size = self.rfile.read(2)
        if len(size) == 2:
            asked = self.rfile.read(struct.unpack("!H", size)[0])
            question = asked[12 : asked.index(b"\0", 12) + 5]
            head = asked[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0)
            answer = b"\xc0\x0c" + struct.pack("!HHIH4B", 1, 1, 60, 4, 192, 0, 2, 1)
            whole = head + question + answer
            self.wfile.write(struct.pack("!H", len(whole)) + whole)
            self.rfile.read()


class _Http(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        line = b"-"
        while line.strip():
            line = self.rfile.readline()
        self.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nserved\n"
        )


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


@contextlib.contextmanager
def _behind_socks() -> Iterator[Endpoint]:
    """The far end of shadowsocks, and a web server behind it."""
    with socketserver.TCPServer(("127.0.0.1", 0), _Http) as free:
        port = free.server_address[1]
    words = f"ss-server -s 127.0.0.1 -p {port} -k password -m aes-128-gcm -t 15"
    with _Server(("127.0.0.1", WEB), _Http) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        far = subprocess.Popen(words.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(1.0)
            yield Endpoint("127.0.0.1", port)
        finally:
            far.kill()
            far.wait()
            web.shutdown()


@contextlib.contextmanager
def serving(kind: str) -> Iterator[Endpoint | None]:
    """A real server of that kind on loopback; None for ""."""
    if not kind:
        yield None
        return
    if kind == "socks":
        with _behind_socks() as found:
            yield found
        return
    with tempfile.TemporaryDirectory() as directory:
        handler: type[socketserver.StreamRequestHandler] = _Dns
        if kind == "tls":
            key, certificate = f"{directory}/key.pem", f"{directory}/certificate.pem"
            words = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=x -keyout {key} -out"
            subprocess.run(
                ["openssl", *words.split(), certificate], check=True, capture_output=True
            )
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            handler = type("_TlsHere", (_Tls,), {"context": context})
        with _Server(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield Endpoint(str(server.server_address[0]), server.server_address[1])
            server.shutdown()


@contextlib.contextmanager
def built(source: str) -> Iterator[tuple[str, ...]]:
    """The program of a Go source, built; nothing for ""."""
    if not source:
        yield ()
        return
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "main.go").write_text(source, "utf-8")
        words = ("go", "build", "-o", f"{directory}/client", f"{directory}/main.go")
        subprocess.run(words, check=True, env=os.environ | {"PATH": PATH, "CGO_ENABLED": "0"})
        yield (f"{directory}/client",)


def judged(command: Command, patience: float) -> Run:
    client = CommandClient(command, Namespace())
    options = Options(
        families=(4,), capture=False, stops_early=True, require_fast_open=True, patience=patience
    )
    try:
        return asyncio.run(judge(client, all_cases(), spec.load(), options))
    finally:
        client.close()


def row(client: Client) -> str:
    """The client's row of the table."""
    if client.why_not:
        return f"| {client.name} | | | skipped: {client.why_not} |"
    needed = "go" if client.go else client.words[0] if client.words else sys.executable
    for each in filter(None, (needed, client.needs)):
        if shutil.which(each, path=PATH) is None:
            return f"| {client.name} | | | skipped: `{each}` is not installed |"
    said = subprocess.run(
        client.version, capture_output=True, text=True, check=False, env=os.environ | {"PATH": PATH}
    ).stdout.strip()
    version = " ".join(said.split("\n")[0].partition(" libcurl")[0].split()[:5])
    if client.needs and (number := re.search(r"\d+\.\d[\w.+~-]*", said)):
        version = number[0]
    try:
        with serving(client.relay) as relay, built(client.go) as program:
            words = (*program, *client.words)
            command = ready_made(client.ready) if client.ready else commands(words, relay=relay)
            run = judged(command, 4.0 if client.needs else PATIENCE)
    except (SetupError, TargetError, subprocess.CalledProcessError) as error:
        # A program of several lines, which its name is, would break the table.
        why = str(error).partition(" cannot be judged ")[2] or str(error)
        return f"| {client.name} | {version} | | not judged {why.split(';')[0]} |"
    failed = [each for each in run.results if each.verdict is Verdict.FAIL]
    opens = "no" if any("opens-fast-at-all" in each.case for each in failed) else "yes"
    failed = [each for each in failed if "opens-fast-at-all" not in each.case]
    counts = Counter(each.verdict.name.lower() for each in run.results)
    hard = sorted({each.case for each in failed if each.level.name != "SHOULD"})
    passed = f"{counts['pass']} pass, {len(hard)} fail, {len(failed) - len(hard)} warnings"
    passed += f", {counts['inconclusive']} inconclusive" if counts["inconclusive"] else ""
    return f"| {client.name} | {version} | {opens} | {'; '.join([passed, *hard])} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="begin of a row's name")
    parser.add_argument(
        "--write", action="store_true", help="write these rows into docs/clients.md"
    )
    chosen = parser.parse_args()
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    before, _, rest = rest.partition(END)
    known = {line.split(" | ")[0].removeprefix("| "): line for line in before.splitlines()}
    rows = ["| client | version | fast open | verdicts |", "|---|---|---|---|"]
    for client in CLIENTS:
        if chosen.names and not client.name.startswith(tuple(chosen.names)):
            rows += [known[client.name]] if client.name in known else []
            continue
        rows.append(row(client))
        print(rows[-1], flush=True)
    if chosen.write:
        PAGE.write_text(head + BEGIN + "\n".join(["", *rows, "", ""]) + END + rest)
    return 0


if __name__ == "__main__":
    sys.exit(main())

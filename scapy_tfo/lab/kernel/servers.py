"""Real servers with fast open enabled, as targets in a namespace of their own."""

from __future__ import annotations

import os
import shutil
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.apps import pattern
from scapy_tfo.lab.kernel.target import Counters, NamespaceLab, host_families, start_agent
from scapy_tfo.lab.process.control import Agent
from scapy_tfo.lab.process.times import processor_seconds

HTTP_PORT = 80
BIG = 100_000
"""Size in bytes of the bigger file, `/bytes/100000` as in the lab's own HTTP application."""

_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"

_NGINX = """
user root root;
daemon off;
master_process off;
pid /tmp/nginx.pid;
error_log stderr;
events { worker_connections 4096; }
http {
    access_log off;
    default_type application/octet-stream;
    client_body_temp_path /tmp/body;
    proxy_temp_path /tmp/proxy;
    fastcgi_temp_path /tmp/fastcgi;
    uwsgi_temp_path /tmp/uwsgi;
    scgi_temp_path /tmp/scgi;
    server {
        listen 80 fastopen=256;
        listen [::]:80 fastopen=256 ipv6only=on;
        root /tmp/www;
    }
}
"""

_HAPROXY = f"""
global
    maxconn 4096
    nbthread 1
    tune.bufsize 131072
defaults
    mode http
    timeout client 60s
    timeout server 60s
    timeout connect 5s
frontend lab
    bind 0.0.0.0:80 tfo
    bind [::]:80 v6only tfo
    http-request return status 200 content-type application/octet-stream \
file /tmp/www/bytes/{BIG} if {{ path /bytes/{BIG} }}
    http-request return status 200 content-type text/plain file /tmp/www/index.html
"""


@dataclass(frozen=True, slots=True)
class Server:
    """How a server is run: its program's arguments, its configuration, the package it is in."""

    arguments: tuple[str, ...]
    config: str
    package: str


SERVERS = {
    "nginx": Server(("-e", "stderr", "-c", "/tmp/config"), _NGINX, "nginx-light"),
    "haproxy": Server(("-db", "-f", "/tmp/config"), _HAPROXY, "haproxy"),
}
"""The servers there are, by the name of their program."""


class RealServerLab(NamespaceLab):
    """A real server on the running kernel; `ports` has one listener, "http". pid: the server's."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent)
        self.hooks = Counters(agent)
        self.ports = {"http": HTTP_PORT}
        self.pid = 0

    @classmethod
    async def start(
        cls,
        name: str,
        *,
        sysctls: Mapping[str, str] | None = None,
        sizes: Sequence[int] = (BIG,),
    ) -> RealServerLab:
        """Start the server of that name, answering `/` and `/bytes/N` for each of the sizes.

        haproxy has the usual size only. Raises SetupError where it is not installed or does not
        start, and as `LinuxLab.start`.
        """
        server = SERVERS.get(name)
        if server is None:
            raise SetupError(f"no server {name!r}; there are {', '.join(SERVERS)}")
        program = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_SBIN}")
        if program is None:
            raise SetupError(f"{name} is not installed: apt-get install {server.package}")
        config = server.config
        if 6 not in host_families():
            config = "\n".join(line for line in config.splitlines() if "[::]" not in line)
        files = {
            "config": config.encode() + b"\n",
            "www/index.html": b"scapy-tfo lab\n",
            **{f"www/bytes/{size}": pattern(size) for size in sizes},
        }
        lab = cls(await start_agent(sysctls))
        try:
            # What has a pattern is short then, however big it is.
            packed = {
                path: b64encode(zlib.compress(content)).decode() for path, content in files.items()
            }
            words = [program, *server.arguments]
            lab.pid = await lab._agent.ask("serve", words, packed, HTTP_PORT)
        except BaseException as error:
            lab.close()
            if isinstance(error, ValueError):
                raise SetupError(str(error)) from None
            raise
        return lab

    def cpu(self) -> float:
        """Seconds of processor time that the server has taken so far. Raises SetupError."""
        return processor_seconds(self.pid)

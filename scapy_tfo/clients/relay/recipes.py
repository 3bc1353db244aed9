"""Servers that are ready to be started, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PORT, DIRECTORY = "{port}", "{directory}"

_NGINX = """
daemon off;
master_process off;
pid {directory}/pid;
error_log stderr;
events { worker_connections 1024; }
http {
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    server {
        listen 127.0.0.1:{port}%s;
        default_type text/plain;
        return 200 "served\\n";
    }
}
"""
_TLS = """ ssl;
        ssl_certificate {directory}/certificate.pem;
        ssl_certificate_key {directory}/key.pem"""
_RUNS_NGINX = ("nginx", "-e", "stderr", "-p", DIRECTORY, "-c", f"{DIRECTORY}/nginx.conf")


@dataclass(frozen=True, slots=True)
class Recipe:
    """speaks: for the help. words: the command, which stays in the foreground. files: what it
    finds in its directory, by name; like the words, with {port} and {directory}. secure: it needs
    key.pem and certificate.pem there. one_at_a_time: a process serves one connection, and prints
    the port of it on a line that begins with "ACCEPT"."""

    speaks: str
    words: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    secure: bool = False
    one_at_a_time: bool = False


RECIPES: Mapping[str, Recipe] = {
    "nginx": Recipe("HTTP", _RUNS_NGINX, {"nginx.conf": _NGINX % ""}),
    "nginx-tls": Recipe("HTTPS", _RUNS_NGINX, {"nginx.conf": _NGINX % _TLS}, secure=True),
    "openssl": Recipe(
        "HTTPS",
        (
            *("openssl", "s_server", "-www", "-accept", "127.0.0.1:0", "-naccept", "1"),
            *("-cert", f"{DIRECTORY}/certificate.pem", "-key", f"{DIRECTORY}/key.pem"),
        ),
        secure=True,
        one_at_a_time=True,
    ),
    "dnsmasq": Recipe(
        "DNS; example.net is 192.0.2.1",
        (
            *("dnsmasq", "-k", "-C", "/dev/null", "-h", "-R", "-p", PORT, "-x", ""),
            *("-a", "127.0.0.1", "--bind-interfaces", "-u", "root"),
            "--address=/example.net/192.0.2.1",
        ),
    ),
}
"""Those that a run can start, by name."""

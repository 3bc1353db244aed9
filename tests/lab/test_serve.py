"""`scapy-tfo lab serve`, used by other programs, in a namespace of their own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.memory.device import parse_place

V4, V6 = "198.51.100.2", "fd00:7413:1::2"
PATIENCE = 60
SCAPY_TFO = (sys.executable, "-m", "scapy_tfo.cli")

HOLD = """
import sys
from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel import interface
from scapy_tfo.lab.process import namespace

try:
    namespace.enter_namespace()
    interface.bring_up("lo")
except SetupError as error:
    print(error, flush=True)
else:
    print("ready", flush=True)
    sys.stdin.read()
"""


class Host:
    """A network namespace, held by a process, in which programs are run."""

    def __init__(self) -> None:
        if shutil.which("nsenter") is None:
            pytest.skip("nsenter is not installed: apt-get install util-linux")
        self._holder = subprocess.Popen(
            [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        said = self._holder.stdout.readline().strip()
        user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
        self._enter = ("nsenter", "--target", str(self._holder.pid), "--net", *user)
        self._servers: list[subprocess.Popen[str]] = []
        if said != "ready":
            self.close()
            pytest.skip(said)

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._enter, *argv], capture_output=True, text=True, timeout=PATIENCE
        )

    def interfaces(self) -> str:
        return self.run("cat", "/proc/net/dev").stdout

    def serve(self, *options: str) -> Server:
        """A server that is ready; skips where the host lets nobody make a TUN device."""
        server = subprocess.Popen(
            [*self._enter, *SCAPY_TFO, "lab", "serve", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._servers.append(server)
        told = server.stdout.readline()
        if not told:
            said = server.communicate()[1]
            assert "tun" in said.lower(), said
            pytest.skip(said.strip())
        return Server(server, told)

    def close(self) -> None:
        for server in self._servers:
            server.kill()
            server.communicate()
        self._holder.communicate("")


class Server:
    """A running `lab serve`. device: its interface."""

    def __init__(self, process: subprocess.Popen[str], told: str) -> None:
        self._process = process
        self.device = told.split(" answers on ")[1].split()[0]

    def end(self, number: signal.Signals) -> tuple[int, list[str], str]:
        """End it by a signal: its status, the counters that it printed, and its complaints."""
        self._process.send_signal(number)
        said, complaints = self._process.communicate(timeout=PATIENCE)
        counters = [line for line in said.splitlines() if line.startswith("TCP")]
        return self._process.returncode, counters, complaints


@pytest.fixture
def host():
    made = Host()
    yield made
    made.close()


@pytest.mark.parametrize("target", [V4, f"[{V6}]"])
def test_the_suite_finds_no_fault_through_raw_sockets(host, tmp_path, target):
    server = host.serve(
        *("--app", "echo", "--port", "7", "--second-port", "8", "--plain-port", "9")
    )
    sources = ["198.51.100.1", "198.51.100.3"]
    if target != V4:
        sources = ["fd00:7413:1::1", "fd00:7413:1::3"]
    results = tmp_path / "results.json"
    done = host.run(
        *(*SCAPY_TFO, "test", f"{target}:7", "--app", "echo", "--quiet"),
        *("--second-port", "8", "--plain-port", "9", "--source", *sources),
        *("--json", str(results), "--out", str(tmp_path / "out")),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = [each["verdict"] for each in json.loads(results.read_text())["results"]]
    assert "fail" not in verdicts
    assert verdicts.count("pass") > 100

    status, counters, complaints = server.end(signal.SIGTERM)
    assert (status, complaints) == (0, "")
    assert any(each.startswith("TCPFastOpenPassive ") for each in counters)


def test_a_mutant_is_found_out_through_raw_sockets(host, tmp_path):
    server = host.serve("--mutant", "accepts-any-cookie", "--app", "echo", "--port", "7")
    done = host.run(
        *(*SCAPY_TFO, "test", f"{V4}:7", "--app", "echo", "--only", "ACC-3,ACC-2"),
        *("--quiet", "--out", str(tmp_path / "out")),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "ACC-3.a-wrong-cookie-stays-wrong [ipv4]  FAIL" in done.stdout
    assert "ACC-2.syn-data-is-acknowledged [ipv4]  FAIL" not in done.stdout
    server.end(signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_it_ends_with_a_signal_and_leaves_nothing(host, number):
    before = host.interfaces().count(":")
    server = host.serve()
    assert server.device in host.interfaces()
    status, _, complaints = server.end(number)
    assert complaints == ""
    assert status == (-9 if number is signal.SIGKILL else 0)
    assert host.interfaces().count(":") == before


def test_curl_gets_its_page_and_fast_open_on_its_second_visit(host):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed: apt-get install curl")
    server = host.serve()
    for url in [f"http://{V4}/", f"http://[{V6}]/"] * 2:
        done = host.run("curl", "-gsS", "--noproxy", "*", "--tcp-fastopen", url)
        assert (done.stdout, done.stderr) == ("scapy-tfo lab\n", "")
    _, counters, _ = server.end(signal.SIGTERM)
    assert counters == ["TCPFastOpenPassive 2", "TCPFastOpenCookieReqd 2"]


def test_a_network_that_is_in_use_is_refused(host):
    host.serve()
    done = host.run(*SCAPY_TFO, "lab", "serve", "--address", "198.51.100.130/25")
    assert done.returncode == 2
    (complaint,) = done.stderr.splitlines()
    assert "198.51.100.128/25 is in use on this host" in complaint
    assert "--address" in complaint


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--address", "nonsense"], "'nonsense' is not an address"),
        (["--address", "127.0.0.9"], "not the address of a host on a link"),
        (["--address", "ff02::1"], "not the address of a host on a link"),
        (["--address", "198.51.100.0/24"], "not the address of one host"),
        (["--address", "198.51.100.2/31"], "has no room"),
        (["--address", V4, "--address", "203.0.113.2"], "more than one --address of a family"),
        (["--app", "gopher"], "no application 'gopher'"),
        (["--plain-port", "80"], "must differ"),
        (["--small-port", "80"], "must differ"),
        (["--port", "0"], "'0' is not a port"),
        (["--queue", "-1"], "'-1' is not valid"),
        (["--mutant", "gopher"], "no such stack: 'gopher'"),
    ],
)
def test_a_mistake_is_a_complaint_and_status_2(options, says):
    done = subprocess.run(
        [*SCAPY_TFO, "lab", "serve", *options], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "place"),
    [(V4, f"{V4}/24"), (V6, f"{V6}/64"), ("10.9.8.7/16", "10.9.8.7/16")],
)
def test_an_address_without_a_prefix_is_in_the_usual_network(text, place):
    assert str(parse_place(text)) == place


def test_an_address_of_no_sort_is_a_setup_error():
    with pytest.raises(SetupError):
        parse_place("198.51.100.2/240")


def test_the_command_line_says_what_it_serves_by_default():
    from scapy_tfo.commands.lab import ADDRESSES, PORT, QUEUE

    done = subprocess.run(
        [*SCAPY_TFO, "lab", "serve", "--help"], capture_output=True, text=True, timeout=PATIENCE
    )
    told = " ".join(done.stdout.split())
    for default in (*ADDRESSES, f"default: {PORT}", f"default: {QUEUE}"):
        assert default in told

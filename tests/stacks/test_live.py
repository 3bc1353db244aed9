"""Stacks of target files: this kernel in a namespace, and the reference server, by their hooks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scapy_tfo.suite.registry import all_conversations

ROOT = Path(__file__).resolve().parents[2]
AGENTS = ROOT / "docs" / "hooks"
SCAPY_TFO = (sys.executable, "-m", "scapy_tfo.cli")
LIMIT = 600
PATIENCE = 120.0
CASES = len(all_conversations())

# Two namespaces and a pair of interfaces between them; all of it ends with the last process.
NETWORK = """
set -e
unshare --net sleep 3000 & far=$!
trap 'kill $far' EXIT
while [ "$(readlink /proc/$far/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
ip link set lo up
ip link add near type veth peer name far netns $far
in="nsenter --target $far --net"
for at in 192.0.2.1/24 192.0.2.9/24 "fd00:9::1/64 nodad" "fd00:9::9/64 nodad"; do
    ip address add $at dev near
done
for at in 192.0.2.2/24 "fd00:9::2/64 nodad"; do $in ip address add $at dev far; done
ip link set near up
$in ip link set far up
$in ip link set lo up
# Two CPUs that send on one connection let packets overtake each other, unless one takes them all.
one_cpu='mount -t sysfs none /sys && echo 1 > /sys/class/net/$0/queues/rx-0/rps_cpus'
unshare --mount sh -c "$one_cpu" near
$in unshare --mount sh -c "$one_cpu" far
$in sysctl -qw net.ipv4.tcp_fastopen=3 net.core.somaxconn=16384 \\
    net.ipv4.tcp_max_syn_backlog=16384 net.ipv4.tcp_synack_retries=3
export FAR=$far
"$@"
"""

# What `nsenter` needs is known only once the namespace is there.
ENTER = 'exec nsenter --target "$FAR" --net "$@"'

FILE = """
name = "Linux"
version = "in a namespace"
address = ["192.0.2.2", "fd00:9::2"]
sources = ["192.0.2.1", "192.0.2.9", "fd00:9::1", "fd00:9::9"]
intrusive = true
direct = true
"""


@pytest.fixture
def network():
    """Runs a command in the nearer namespace."""
    if os.geteuid():
        pytest.skip("needs root: two network namespaces")
    for program in ("unshare", "nsenter", "ip", "sysctl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: apt-get install util-linux iproute2 procps")

    def run(*argv):
        return subprocess.run(
            ["unshare", "--net", "sh", "-c", NETWORK, "sh", *argv],
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )

    return run


def far(*argv):
    """A command of a target file, run in the farther namespace."""
    return f"command = {json.dumps(['sh', '-c', ENTER, 'sh', *map(str, argv)])}\n"


def judged(network, path, text, *options):
    """Results by case and family, the run's output, and its exit status."""
    done = reported(network, path, text, *options)
    out = path.parent / "results.json"
    results = json.loads(out.read_text())["results"] if out.exists() else []
    said = done.stdout + done.stderr
    return {(each["case"], each["family"]): each for each in results}, said, done.returncode


def reported(network, path, text, *options):
    """The process of a run, which has written results.json beside the target file."""
    path.write_text(text)
    out = path.parent / "results.json"
    return network(*SCAPY_TFO, "test", str(path), "--out", str(path.parent / "out"), "--quiet",
                   "--json", str(out), *options)  # fmt: skip


def verdicts(results, verdict):
    return {case: each["reason"] for case, each in results.items() if each["verdict"] == verdict}


def test_all_cases_run_on_linux_with_the_agent_in_python(network, tmp_path):
    hooks = f"[hooks]\n{far(sys.executable, AGENTS / 'agent.py')}"
    results, said, status = judged(network, tmp_path / "linux.toml", FILE + hooks, "-4")
    assert (verdicts(results, "fail"), status) == ({}, 0), said
    assert len(results) == CASES
    # No machine is so busy that the slow cases would run all the same.
    unknown = "needs what the hooks do not offer: 'listen': application "
    assert set(verdicts(results, "skipped").values()) == {
        "waits for long timers: give --slow",
        f"{unknown}close-unread:500",
        f"{unknown}late-accept:200",
        f"{unknown}late-accept:60000",
        f"{unknown}reno:900000",
        f"{unknown}signed:16",
    }
    assert CASES - len(verdicts(results, "skipped")) >= 337
    joined = verdicts(results, "inconclusive")
    assert all(case.startswith("AFT-7b.") for case, _ in joined), joined


@pytest.mark.parametrize("direct", [True, False])
def test_a_direct_way_lets_all_rules_count(network, tmp_path, direct):
    text = FILE if direct else FILE.replace("direct = true", "")
    hooks = f"[hooks]\n{far(sys.executable, AGENTS / 'agent.py')}"
    done = reported(network, tmp_path / "linux.toml", text + hooks, "--only", "TCP-RST-6,TCP-FIN-1")
    assert done.returncode == 0, done.stdout + done.stderr
    watched = json.loads((tmp_path / "results.json").read_text())["watched"]
    assert "ack-of-nothing" in watched
    assert ("fin-ack-late" in watched) is direct


SOME = "LIM-1,LIM-3,LIM-6,SRV-4,SRV-6,AFT-2,AFT-3,AFT-9,ACC-7,ACC-12a,DUP-3"


def test_the_agent_in_c_does_the_same(network, tmp_path, agent_in_c):
    hooks = f"[hooks]\n{far(agent_in_c)}"
    only = f"{SOME},TCP-WIN-*,TCP-FIN-8,TCP-RST-10"
    results, said, status = judged(network, tmp_path / "c.toml", FILE + hooks, "--only", only)
    assert (verdicts(results, "fail"), status) == ({}, 0), said
    assert set(verdicts(results, "skipped").values()) == {"waits for long timers: give --slow"}
    assert not verdicts(results, "inconclusive")


@pytest.mark.parametrize("language", ["python", "c"])
def test_a_stack_that_is_started_and_has_a_socket(network, tmp_path, request, language):
    ctl = tmp_path / "ctl"
    agent = [sys.executable, AGENTS / "agent.py", "--socket"]
    if language == "c":
        agent = [request.getfixturevalue("agent_in_c")]
    start = f'[start]\n{far(*agent, ctl)}ready = "ready"\n[hooks]\nsocket = "ctl"\n'
    results, said, status = judged(
        network, tmp_path / "a.toml", FILE + start, "--only", "LIM-4,SRV-4"
    )
    assert (verdicts(results, "fail"), status) == ({}, 0), said
    assert len(verdicts(results, "pass")) == len(results) > 8


def test_a_skip_names_the_verb_that_is_missing(network, tmp_path):
    few = tmp_path / "few.py"
    few.write_text(
        f"import sys; sys.path.insert(0, {str(AGENTS)!r})\n"
        "import agent; agent.VERBS[:] = ['listen']; agent.main()\n"
    )
    hooks = f"[hooks]\n{far(sys.executable, few)}"
    only = ("-4", "--only", "SRV-4.a-new-key-ends-old-cookies,ACC-12a,AFT-9,LIM-4")
    results, said, status = judged(network, tmp_path / "few.toml", FILE + hooks, *only)
    assert status == 0, said
    reasons = " ".join(verdicts(results, "skipped").values())
    for verb in ("'keys'", "'close'", "'sessions'"):
        assert f"the hooks of {tmp_path / 'few.toml'} lack {verb}" in reasons
    assert ("LIM-4.plain-connections-are-served-over-the-limit", 4) in verdicts(results, "pass")


def test_listeners_that_stand_there_open_cases_too(network, tmp_path, agent_in_c):
    words = (
        "listen echo 8192 16384 7",
        "listen echo 4 16384 9",
        "listen send-close:5000 8192 16384 31",
    )
    stand = f'(printf "%s\\n" "$@"; exec sleep 3000) | {agent_in_c}'
    start = ["sh", "-c", f"{ENTER}", "sh", "sh", "-c", f"{stand} & exec sleep 3000", "sh", *words]
    text = (
        f"{FILE}[ports]\nmain = 7\nsmall = 9\n"
        f'[start]\ncommand = {json.dumps(start)}\nready = "ok 31"\n'
    )
    only = ("-4", "--only", "LIM-1,LIM-4,AFT-3", "--app-port", "send-close:5000=31")
    results, said, status = judged(network, tmp_path / "ports.toml", text, *only)
    assert (verdicts(results, "fail"), status) == ({}, 0), said
    passed = {case for case, _ in verdicts(results, "pass")}
    assert "LIM-1.every-new-request-falls-back" in passed
    assert "LIM-4.plain-connections-are-served-over-the-limit" in passed
    assert "AFT-3.answer-and-close-before-the-ack" in passed
    assert any("give --app-port close=N" in each for each in verdicts(results, "skipped").values())


HOSTILE = """
import sys
for number, line in enumerate(sys.stdin):
    if number == 0:
        print("ok 1 listen close sessions", flush=True)
    elif number < 4:
        print("ok", 10000 + number, flush=True)
    else:
        print("\\x1b[2J" + "x" * 100000, flush=True)
"""


def test_an_agent_that_goes_mad_ends_the_run_with_3_and_a_reason(network, tmp_path, agent_in_c):
    mad = tmp_path / "mad.py"
    mad.write_text(HOSTILE)
    words = [f"listen echo 8192 16384 {port}" for port in (10001, 10002, 10003)]
    stand = f'(printf "%s\\n" "$@"; exec sleep 3000) | {agent_in_c} & exec sleep 3000'
    start = ["sh", "-c", ENTER, "sh", "sh", "-c", stand, "sh", *words]
    text = (
        f'{FILE}[start]\ncommand = {json.dumps(start)}\nready = "ok 10003"\n'
        f"[hooks]\n{far(sys.executable, mad)}"
    )
    only = ("-4", "--only", "OPT-1,LIM-4")
    results, said, status = judged(network, tmp_path / "mad.toml", text, *only)
    assert status == 3, said
    assert "Traceback" not in said
    assert "\x1b" not in said
    assert verdicts(results, "fail") == {}
    reasons = verdicts(results, "inconclusive").values()
    assert reasons
    assert all("the hooks failed, not the stack" in each for each in reasons)
    assert len(verdicts(results, "pass")) >= 2


def test_the_reference_server_offers_the_same(network, tmp_path):
    serve = [*SCAPY_TFO, "lab", "serve", "--app", "echo", "--port", "7", "--hooks", "ctl"]
    text = (
        'name = "the reference server"\naddress = ["198.51.100.2", "fd00:7413:1::2"]\n'
        f'iface = "tfo0"\n[start]\ncommand = {json.dumps(serve)}\nready = "answers on"\n'
        'within = "60s"\n[hooks]\nsocket = "ctl"\n'
    )
    only = f"{SOME},AFT-7b"
    results, said, status = judged(network, tmp_path / "reference.toml", text, "--only", only)
    assert (verdicts(results, "fail"), status) == ({}, 0), said
    # Through a TUN device segments are seen as they were sent.
    assert not verdicts(results, "inconclusive")
    assert len([case for case, _ in verdicts(results, "pass") if case.startswith("AFT-7b.")]) == 6


def test_a_campaign_takes_a_target_file(network, tmp_path):
    path = tmp_path / "linux.toml"
    path.write_text(f"{FILE}[hooks]\n{far(sys.executable, AGENTS / 'agent.py')}")
    only = ("--programs", "40", "--out", str(tmp_path / "out"), "--quiet")
    done = network(*SCAPY_TFO, "fuzz", str(path), *only)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert f"{path}: " in done.stdout


def test_pytest_takes_a_target_file(network, tmp_path):
    path = tmp_path / "linux.toml"
    path.write_text(f"{FILE}[hooks]\n{far(sys.executable, AGENTS / 'agent.py')}")
    pytest_here = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    options = ("--tfo-target", str(path), "--tfo-only", "LIM-4")
    done = network(*pytest_here, *options, str(ROOT / "tests" / "conformance"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout


def test_a_killed_run_takes_its_stack_along(tmp_path):
    mark = f"mark-{os.getpid()}-{time.monotonic()}"
    path = tmp_path / "stack.toml"
    path.write_text(
        'address = "127.0.0.1"\nports.main = 7\n[start]\n'
        f'command = ["sh", "-c", "sleep 600 & echo $$ > pid; sleep 600", "{mark}"]\n'
        'ready = "never"\nwithin = "10m"\n'
    )
    argv = [*SCAPY_TFO, "test", str(path)]
    run = subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        assert _until(lambda: (tmp_path / "pid").exists())
        assert _marked(mark)
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert _until(lambda: not _marked(mark))


def _until(happens):
    """Whether it happens in time, however busy the machine is."""
    end = time.monotonic() + PATIENCE
    while not happens() and time.monotonic() < end:
        time.sleep(0.02)
    return happens()


def _marked(mark):
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words and b"sh" in words[0]:
            found.append(each.parent.name)
    return found

"""The same with this kernel: over a small MTU, and behind its own SYN proxy."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Awaitable, Callable

import pytest

from scapy_tfo import spec
from scapy_tfo.errors import SetupError
from scapy_tfo.lab.kernel.target import LinuxLab
from scapy_tfo.runner.runner import Options, judge
from scapy_tfo.segment import Segment
from scapy_tfo.suite.application import Echo
from scapy_tfo.suite.registry import all_cases, select
from scapy_tfo.suite.result import Run, Verdict
from scapy_tfo.suite.target import Service, Target

PROXY = """
table ip proxied {
  chain before {
    type filter hook prerouting priority -300;
    tcp flags syn notrack
  }
  chain arriving {
    type filter hook input priority 0;
    meta l4proto tcp ct state { invalid, untracked } synproxy mss 1460 wscale 7 timestamp sack-perm
    meta l4proto tcp ct state invalid drop
  }
}
"""


def judged(only: list[str], ready: Callable[[LinuxLab], Awaitable[None]] | None = None) -> Run:
    """Judge this kernel from outside, without its hooks."""

    async def whole() -> Run:
        try:
            lab = await LinuxLab.start()
        except SetupError as error:
            pytest.skip(str(error))
        async with lab:
            if ready is not None:
                await ready(lab)
            target = Target(
                name="test",
                link=lab.link,
                addresses={4: lab.addresses[4]},
                main=Service(lab.ports["echo"], Echo()),
                plain=Service(lab.ports["plain"], Echo()),
                second=Service(lab.ports["second"], Echo()),
            )
            return await judge(target, select(all_cases(), only), spec.load(), Options())

    return asyncio.run(whole())


def verdicts(run: Run) -> dict[str, Verdict]:
    return {each.case: each.verdict for each in run.results}


def test_sizes_follow_an_mtu_of_576(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scapy_tfo.lab.kernel.target.MTU", 576)
    # IPv6 takes no such link.
    monkeypatch.setattr("scapy_tfo.lab.kernel.target.host_families", lambda: (4,))
    run = judged(["ACC-3", "ACC-9", "ACC-10", "AFT-1", "AFT-7", "AFT-11", "SRV-8"])
    assert set(verdicts(run).values()) <= {Verdict.PASS, Verdict.SKIPPED, Verdict.UNSUPPORTED}
    assert max(len(each.data) for each in run.packets if each.outbound) == 576


async def proxied(lab: LinuxLab) -> None:
    """Put the kernel's SYN proxy before the lab's listeners."""
    if shutil.which("nft") is None:
        pytest.skip("needs nft: install nftables")
    inside = ["nsenter", f"--net=/proc/{lab._agent._process.pid}/ns/net"]
    strict = "/proc/sys/net/netfilter/nf_conntrack_tcp_loose"
    rules = f"nft -f - && echo 0 > {strict}"
    done = subprocess.run(
        [*inside, "sh", "-c", rules], input=PROXY, text=True, capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"this kernel has no SYN proxy for nftables: {done.stderr.splitlines()[0]}")


def test_a_kernel_behind_a_syn_proxy_is_not_blamed() -> None:
    run = judged(["ACC-4", "AFT-1", "OPT-3", "OPT-4"], proxied)
    found = verdicts(run)
    heard = [Segment.read_back(each.data) for each in run.packets if not each.outbound]
    assert {each.window for each in heard if each.is_syn_ack} == {0}
    assert Verdict.FAIL not in found.values()
    assert found["OPT-4.on-data"] is Verdict.PASS
    assert found["ACC-4.data-without-an-option-is-delivered-once-with-more"] is Verdict.PASS

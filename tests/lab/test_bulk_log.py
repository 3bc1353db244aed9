"""The kernel's log: only new lines that report a fault are returned."""

from __future__ import annotations

import os

from scapy_tfo.lab.bulk.log import KernelLog

BEFORE = b"4,1,1000,-;WARNING: CPU: 0 PID: 1 at net/old.c:1\n"
QUIET = b"6,2,2000,-;tfo0: entered promiscuous mode\n"
FAULT = b"4,3,3000,-;WARNING: CPU: 0 PID: 7 at net/ipv4/tcp_input.c:4711\n"


def test_new_faults_are_told_once(tmp_path):
    path = tmp_path / "kmsg"
    path.write_bytes(BEFORE)
    log = KernelLog(str(path))
    assert log.alarms() == []
    with path.open("ab") as file:
        file.write(QUIET + FAULT)
    assert log.alarms() == ["WARNING: CPU: 0 PID: 7 at net/ipv4/tcp_input.c:4711"]
    assert log.alarms() == []
    log.close()
    log.close()


def test_a_log_that_may_not_be_read_is_silent(tmp_path):
    log = KernelLog(str(tmp_path / "nothing"))
    assert not log.is_readable
    assert log.alarms() == []
    log.close()


def may_be_read(path: str) -> bool:
    """By trying: kernel.dmesg_restrict refuses users whom the mode of /dev/kmsg allows it."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def test_this_kernels_log():
    log = KernelLog()
    assert log.is_readable == may_be_read("/dev/kmsg")
    log.alarms()
    log.close()

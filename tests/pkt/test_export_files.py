"""`scapy-tfo pkt export`: captures of any program, captures of runs, and choices among them."""

from __future__ import annotations

import json
import struct
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.capture.writer import write_pcapng
from scapy_tfo.cli import main
from scapy_tfo.segment import ACK, PSH, SYN
from tests.pkt.captures import CLIENT, SERVER, Sent, Talk, events, exported, fast_opens, saved

CASE = "ACC-2.answer-comes-before-our-ack"


def test_each_link_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from scapy.layers import inet, inet6, l2
    from scapy.utils import wrpcap, wrpcapng

    # With addresses of its own, or Scapy asks the network for them.
    ether = l2.Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    for version, (client, server) in {
        4: (CLIENT, SERVER),
        6: (ip_address("2001:db8::1"), ip_address("2001:db8::7")),
    }.items():
        talk = Talk(client=client, server=server)
        talk.shake_hands()
        ip = inet.IP if version == 4 else inet6.IPv6
        packets = [ip(each.data) for each in talk.packets]
        kind = 0x0800 if version == 4 else 0x86DD
        links: dict[str, list[Any]] = {
            "raw": packets,
            "ethernet": [ether / each for each in packets],
            "vlan": [ether / l2.Dot1Q(vlan=5) / each for each in packets],
            "sll": [l2.CookedLinux(proto=kind) / each for each in packets],
            "sll2": [l2.CookedLinuxV2(proto=kind) / each for each in packets],
            "null": [l2.Loopback() / each for each in packets],
        }
        found = set()
        for name, frames in links.items():
            path = tmp_path / f"{name}{version}"
            for frame in frames:
                frame.time = 1
            write = wrpcapng if name == "ethernet" else wrpcap
            write(str(path), frames)
            text = exported(path, capsys)
            found.add(tuple(events(text)))
            assert ("--ip_version=ipv6\n" in text) == (version == 6)
        assert len(found) == 1


def test_packets_that_were_cut_are_filled_up_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Talk()
    talk.shake_hands()
    talk.out(ACK | PSH, 1, 1, payload=bytes(100))

    def capture(snap: int) -> Path:
        head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snap, 101)
        records = [
            struct.pack("<4I", 0, 0, len(each.data[:snap]), len(each.data)) + each.data[:snap]
            for each in talk.packets
        ]
        (tmp_path / "cut.pcap").write_bytes(head + b"".join(records))
        return tmp_path / "cut.pcap"

    text = exported(capture(60), capsys)
    assert events(text)[-1] == "< P. 1:101(100) ack 1 win 65535"
    assert "checksums assumed to be right: frames 4." in text
    assert main(["pkt", "export", str(capture(42))]) == 2
    assert "frame 1: the TCP header was not captured whole" in capsys.readouterr().err


def test_several_connections_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = saved(tmp_path, *fast_opens())
    assert main(["pkt", "export", str(capture)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "  --flow '192.0.2.1:5000>192.0.2.7:80'  (3 packets)\n" in err
    assert "holds 2 connections: choose one as listed above" in err
    folder = tmp_path / "scripts"
    folder.mkdir()
    told = tmp_path / "told.json"
    assert main(["pkt", "export", str(capture), "--output", str(folder), "--json", str(told)]) == 0
    assert sorted(each.name for each in folder.iterdir()) == [
        "connection-1.pkt",
        "connection-2.pkt",
    ]
    scripts = json.loads(told.read_text())["scripts"]
    assert scripts[1] == {
        "case": None,
        "flows": ["192.0.2.1:5001>192.0.2.7:80"],
        "file": str(folder / "connection-2.pkt"),
        "problem": None,
    }
    assert main(["pkt", "check", *map(str, folder.iterdir())]) == 0


def wrong_captures(folder: Path) -> dict[str, Path]:
    write_pcapng(folder / "none.pcapng", [Sent(0, True, bytes.fromhex("45") + bytes(27))])
    silent = Talk()
    silent.out(SYN)
    other = saved(folder, silent)
    return {
        "holds no TCP: capture while the connection is made": folder / "none.pcapng",
        "nothing was sent to the client": other,
        "cannot read": folder / "absent",
        "is no capture": Path(__file__),
    }


@pytest.mark.parametrize("message", ["holds no TCP", "nothing was sent", "cannot read", "is no"])
def test_what_cannot_be_replayed(
    message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = next(path for text, path in wrong_captures(tmp_path).items() if text.startswith(message))
    assert main(["pkt", "export", str(path), "--side", "client"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_choices_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(saved(tmp_path, *fast_opens()))
    for choice, message in [
        (["--flow", "192.0.2.1:1>192.0.2.7:80"], "no connection 192.0.2.1:1>192.0.2.7:80 in"),
        (["--case", "ACC-99.none"], "holds no packets of the case ACC-99.none"),
        (["-6"], "holds no connection over that IP version"),
    ]:
        assert main(["pkt", "export", capture, *choice]) == 2
        assert message in capsys.readouterr().err


@pytest.fixture(scope="module")
def run_of_cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    only = "ACC-2.*,OPT-7.*,DUP-3.*,AFT-8.*,ACC-11.*"
    assert main(["test", "sim:reference", "--only", only, "--quiet", "--out", str(folder)]) == 0
    return folder / "capture.pcapng"


def test_all_connections_of_a_case(run_of_cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = exported(run_of_cases, capsys, "--case", CASE, "-4")
    assert text.startswith("// ACC-2\n// ")
    assert f"// From capture.pcapng: case {CASE} over IPv4.\n" in text
    assert "clearing up" not in text
    assert "FO *=$C" in text
    assert "FO $C" in text
    assert main(["pkt", "export", str(run_of_cases), "--case", CASE]) == 2
    assert f"--case {CASE} -6" in capsys.readouterr().err


@pytest.mark.parametrize("connections", [1, 2])
def test_a_slash_at_the_end_means_a_directory(tmp_path: Path, connections: int) -> None:
    capture = saved(tmp_path, *fast_opens()[:connections])
    new = tmp_path / "new" / "scripts"
    assert main(["pkt", "export", str(capture), "--output", f"{new}/"]) == 0
    assert len(list(new.glob("*.pkt"))) == connections


def test_a_file_is_no_directory_for_its_slash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    capture = saved(tmp_path, *fast_opens())
    assert main(["pkt", "export", str(capture), "--output", f"{taken}/"]) == 2
    assert f"cannot write {taken}/" in capsys.readouterr().err
    assert taken.read_text() == "mine"


def test_every_case_of_a_run(
    run_of_cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pkt", "export", str(run_of_cases), "--output", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    scripts = [str(path) for path in sorted(tmp_path.iterdir())]
    assert f"{len(scripts)} scripts in {tmp_path}, {err.count('choose with --flow')} could" in out
    assert len(scripts) > 40
    assert main(["pkt", "check", *scripts]) == 0
    assert main(["pkt", "fmt", "--check", *scripts]) == 0

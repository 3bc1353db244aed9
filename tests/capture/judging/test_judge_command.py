"""`scapy-tfo capture judge`: what it prints and writes, and its exit status."""

from __future__ import annotations

import json
import shlex
import struct
from pathlib import Path

import pytest

from scapy_tfo.capture.judging.judge import Judge, Word, judge_file
from scapy_tfo.capture.reader import Contents, Frame, read_frames
from scapy_tfo.capture.writer import pcapng
from scapy_tfo.cli import main
from tests.capture.judging.laws import write
from tests.capture.judging.world import Captures, hold
from tests.capture.test_writer import Packet as Written

WRONG = "acks-one-byte-too-many"


@pytest.fixture(scope="module")
def right() -> Captures:
    return hold("reference", "reference", [[100, 2000], [50], [50]])


@pytest.fixture(scope="module")
def wrong() -> Captures:
    return hold("reference", WRONG, [[100], [50], [50], [50]])


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_a_right_stack(right: Captures, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "c.pcap", right.at["client"])
    assert main(["capture", "judge", str(path), "--complete", "--no-offloads"]) == 0
    assert "3 connections; rules are broken in 0" in told(capsys)


def test_a_wrong_stack_with_its_frames(
    wrong: Captures, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a capture.pcap", wrong.at["client"])
    assert main(["capture", "judge", str(path), "--complete"]) == 1
    out = told(capsys)
    assert "server breaks TCP-ACK-1 (robust, RFC 9293 section 3.10.7.4)" in out
    assert "by this end, or by something between it and the capture" in out
    line = next(each for each in out.splitlines() if "ack-of-nothing" in each and "tshark" in each)
    words = shlex.split(line.split(": ", 1)[1])
    assert words[:3] == ["tshark", "-r", str(path)]
    number = int(words[4].split(" || ")[0].removeprefix("frame.number=="))
    frames = read_frames(path)
    assert frames[number - 1].data == wrong.at["client"][number - 1].data


def test_one_connection_alone(
    wrong: Captures, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "c.pcap", wrong.at["client"])
    every = judge_file(path, Word(complete=True)).connections
    ends = [str(each.end) for each in every[0].ends]
    arguments = [str(path), "--complete", "--all", "--between"]
    for order in (ends, ends[::-1]):
        main(["capture", "judge", *arguments, *order])
        assert ", 1 connection; " in told(capsys)
    main(["capture", "judge", *arguments, "192.0.2.9:1", "[2001:db8::9]:2"])
    assert ", 0 connections; " in told(capsys)


@pytest.mark.parametrize("end", ["192.0.2.9", "host:80", "192.0.2.9:70000", "[::1]"])
def test_what_is_no_end(end: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["capture", "judge", "c.pcap", "--between", end, "192.0.2.9:1"])
    assert exit_.value.code == 2
    assert "is no " in capsys.readouterr().err


def test_the_same_where_packets_may_be_lacking(
    wrong: Captures, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "c.pcap", wrong.at["client"])
    assert main(["capture", "judge", str(path)]) == 0
    out = told(capsys)
    assert "rules are broken unless the capture lacks packets" in out
    assert "TCP-ACK-1 ack-of-nothing" in out


def test_the_json(wrong: Captures, right: Captures, tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{number}.pcap", world.at["server"])
        for number, world in enumerate((wrong, right))
    ]
    out = tmp_path / "out.json"
    words = ["capture", "judge", *map(str, paths), "--json", str(out)]
    assert main([*words, "--complete", "--at", "192.0.2.80", "--at", "2001:db8::80"]) == 1
    found = json.loads(out.read_text())
    assert found["schema"] == 1
    first, second = found["captures"]
    assert (first["capture"], first["count"]) == (str(paths[0]), 4)
    assert (second["broken"], second["doubts"]["joined"]) == (0, 6)
    server = first["connections"][0]["server"]
    assert {"TCP-ACK-1", "TCP-SYN-2"} <= {each["rule"] for each in server["broken"]}
    assert server["held"]["ack-of-nothing"] >= 1
    assert "place" not in server["unjudged"]
    assert "place" in second["connections"][0]["client"]["unjudged"]


def test_a_file_that_proves_to_be_whole(wrong: Captures, tmp_path: Path) -> None:
    packets = [
        Written(each.when / 1e9, each.upward, each.data, f"{verb} ACC-2.x [ipv4]")
        for each in wrong.at["client"]
        if each.data[0] >> 4 == 4
        for verb in ("sent by" if each.upward else "for",)
    ]
    path = tmp_path / "c.pcapng"
    for is_whole, count in ((True, 1), (False, 0)):
        path.write_bytes(pcapng(packets, is_whole=is_whole))
        assert main(["capture", "judge", str(path)]) == count
    # Of a copy that lacks a packet, the statistics do not hold.
    head, rest = pcapng(packets, is_whole=True), pcapng(packets[:-1], is_whole=True)
    statistics = head[-struct.unpack("<I", head[-4:])[0] :]
    own = struct.unpack("<I", rest[-4:])[0]
    path.write_bytes(rest[:-own] + statistics)
    assert main(["capture", "judge", str(path)]) == 0


def test_a_file_that_is_cut_off(
    right: Captures, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "c.pcap", right.at["client"])
    path.write_bytes(path.read_bytes()[:-7])
    assert main(["capture", "judge", str(path), "--all"]) == 0
    assert "judged as far as it goes" in told(capsys)


@pytest.mark.parametrize("content", [b"", b"nothing of the kind"])
def test_no_capture(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.pcap"
    path.write_bytes(content)
    assert main(["capture", "judge", str(path)]) == 2
    why = "is not a capture" if content else "is empty"
    assert f"{why}: give a pcap or pcapng file" in capsys.readouterr().err


def test_memory_is_bounded_and_what_is_set_aside_is_not_blamed(right: Captures) -> None:
    frames = [
        Frame(number=number, when=each.when, link=101, data=each.data)
        for number, each in enumerate(right.at["middle"], 1)
    ]
    judge = Judge(Word(complete=True), Contents(), memory=1)
    for frame in frames:
        judge.take(frame)
    assert judge.close().broken == 0


def test_help_and_wrong_words(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["capture", "judge", "--help"])
    assert "exit status: 0 no rule was broken, 1 a rule was broken" in " ".join(
        told(capsys).split()
    )
    with pytest.raises(SystemExit):
        main(["capture", "judge", "x", "--at", "nowhere"])
    assert "'nowhere' is no IP address" in capsys.readouterr().err


def test_a_capture_of_the_suite_that_begins_with_a_syn_with_ack(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The suite is the client whatever flags it begins with, and breaks rules on purpose."""
    wanted = ("--only", "ACC-12", "--out", str(tmp_path))
    assert main(["test", "sim:reference", *wanted]) == 0
    capsys.readouterr()
    assert main(["capture", "judge", str(tmp_path / "capture.pcapng")]) == 0
    lines = told(capsys).splitlines()
    blamed = [each for each in lines if "TCP-HDR-7 flags-together" in each]
    assert blamed
    assert all("client" in each and "this suite, on purpose" in each for each in blamed)
    assert not any(each.startswith("  server breaks") for each in lines)


def test_what_the_target_breaks_is_not_the_suites_whatever_the_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = ("--only", "TCP-ACK-10.acknowledgements-alone", "--slow", "-4", "--out", str(tmp_path))
    assert main(["test", "sim:acks-acks", *wanted]) == 1
    capsys.readouterr()
    assert main(["capture", "judge", "--at", "192.0.2.1", str(tmp_path / "capture.pcapng")]) == 1
    lines = told(capsys).splitlines()
    blamed = [each for each in lines if "TCP-ACK-10 ack-of-an-ack" in each]
    assert blamed
    assert all("server" in each and "on purpose" not in each for each in blamed)


def test_a_capture_without_a_connection_says_that_nothing_was_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = tmp_path / "header.pcap"
    header.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    assert main(["capture", "judge", str(header)]) == 0
    assert "note: nothing was judged: no connection of TCP" in told(capsys)
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(b"")
    assert main(["capture", "judge", str(empty)]) == 2
    assert "is empty" in capsys.readouterr().err

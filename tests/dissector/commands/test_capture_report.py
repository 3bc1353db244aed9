"""`scapy-tfo capture report`: reading tshark's output, and reporting it."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from told import SEVERAL, connection, reading, text_of

from scapy_tfo.capture.writer import write_pcapng
from scapy_tfo.cli import main
from scapy_tfo.dissector import check, files
from scapy_tfo.dissector.connections import Connection, Problem
from scapy_tfo.dissector.reading import Reading
from scapy_tfo.dissector.reading import read as read_source
from scapy_tfo.dissector.source import Source
from scapy_tfo.errors import SetupError
from scapy_tfo.report.capture.html import html_page
from scapy_tfo.report.capture.summary import MOST_CONNECTIONS
from scapy_tfo.segment import SYN, Segment

SAMPLE = files.sample()

HOSTILE = '\x1b[31m\u202e<script>alert("1")</script>\ud800'

STUB = """
local tfo = Proto("tfo", "Fast Open, a stub")
function tfo.dissector() end
register_postdissector(tfo)
register_stat_cmd_arg("tfo,records", function()
  local tap = Listener.new("frame")
  function tap.packet() end
  function tap.reset() end
  function tap.draw() %s end
end)
"""


def fast_opens() -> dict[int, str]:
    """The sample's outcomes by the client's port."""
    return {port: outcome for port, outcome in check.expected_outcomes().items() if outcome}


def read(capture: Path, *, display_filter: str = "") -> tuple[list[Connection], Reading]:
    found: list[Connection] = []
    source = Source(str(capture), path=capture)
    return found, read_source(source, found.append, display_filter=display_filter)


class Page(HTMLParser):
    """Which tags and texts a page has, and whether they are closed in order."""

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.open: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.tags[tag] += 1
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


class TestText:
    def test_outcomes_servers_problems_and_what_is_worth_a_look(self) -> None:
        text = text_of(reading(*SEVERAL))
        rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.split()}
        assert rows["accepted"] == ["2", "40", "40", "0", "+2", "30.00", "21.00"]
        assert rows["all"] == ["4", "60", "40", "20", "+2", "20.00", "21.00"]
        assert rows["192.0.2.7:80"] == ["3", "2", ".", "1", ".", ".", ".", "20.00"]
        assert rows["[2001:db8::7]:80"] == ["1", ".", ".", ".", ".", ".", "1"]
        assert rows["warning"] == ["OPT-1:", "the", "length", "is", "odd", "1", "12"]
        assert "4 connections with fast open: 2 with data accepted, 1 refused, 1 unknown" in text
        assert "WORTH A LOOK (2)" in text
        assert "  unknown                 192.0.2.1:40000 > [2001:db8::7]:80\n" in text
        assert "    capture begins after the SYN\n" in text
        assert "    a new cookie came (packets 9, 10)\n" in text
        judge = "scapy-tfo capture judge a.pcapng --between 192.0.2.1:40000"
        assert f"    {judge} 192.0.2.7:80\n" in text
        assert f"    {judge} '[2001:db8::7]:80'\n" in text
        assert judge not in text_of(reading(*SEVERAL, is_file=False))

    def test_what_looks_like_markup_is_none(self) -> None:
        text = text_of(reading(connection(0, "unknown", why="[red]why[/red]")))
        assert "[red]why[/red]" in text

    def test_long_tables_are_cut_and_say_so(self) -> None:
        text = text_of(reading(*(connection(n, "refused-cookie") for n in range(50))))
        assert "WORTH A LOOK (the first 20 of 50; --json and --csv have them all)" in text

    def test_nothing_to_tell(self) -> None:
        told = "no connection with a fast open option or data in its SYN"
        assert f"{told} in 1,234 packets, 5 of TCP" in text_of(reading(packets=1234, tcp=5))
        assert f"{told}: none of 1 packet is TCP" in text_of(reading(packets=1, tcp=0))

    def test_hostile_strings_do_nothing(self) -> None:
        text = text_of(reading(connection(0, "unknown", why=HOSTILE, client=HOSTILE)), 400)
        assert "\x1b" not in text
        assert "\u202e" not in text


class TestPage:
    def test_it_is_well_formed_and_needs_nothing_else(self) -> None:
        page = html_page(reading(*SEVERAL, warnings=("cut short",)))
        tags = Page(page).tags
        assert tags["table"] == 7
        assert tags["input"] == 4
        assert not re.search(r"<script|<link|https?:|url\(", page)

    def test_hostile_strings_are_escaped(self) -> None:
        broken = (Problem(1, HOSTILE, HOSTILE),)
        page = html_page(
            reading(connection(0, why=HOSTILE, client=HOSTILE, problems=broken), tool=HOSTILE)
        )
        assert "script" not in Page(page).tags
        assert "\x1b" not in page
        page.encode()

    def test_of_too_many_the_noteworthy_stay(self) -> None:
        many = [connection(n) for n in range(MOST_CONNECTIONS)]
        page = html_page(reading(*many, connection(MOST_CONNECTIONS, "replayed")))
        assert f"{MOST_CONNECTIONS:,} of them" in page
        assert 'class="fail o-replayed"' in page


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that stands in for the plugin; what its tap prints is up to the test."""
    path = tmp_path / "tfo.lua"
    path.write_text(STUB % "print('tfo-records-begin') print('tfo-records-end\t1\t0\t0')")
    monkeypatch.setattr(files, "own_plugin", lambda: path)
    return path


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command says where it cannot do its work: one line."""
    assert main(["capture", "report", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.usefixtures("tshark")
class TestReading:
    def test_the_sample_comes_to_what_is_known_of_it(self) -> None:
        found, told = read(SAMPLE)
        outcomes = {each.client_port: each.outcome for each in found}
        assert outcomes == fast_opens()
        assert told.warnings == ()
        assert told.count == len(found)
        first = next(each for each in found if each.outcome == "accepted")
        assert (first.sent, first.acknowledged, first.resent) == (18, 18, 0)
        assert first.round_trips == 1
        assert first.rtt is not None
        assert 0.03 < first.rtt < 0.3
        assert len(first.cookie) == 16
        assert first.frames

    def test_a_filter_leaves_the_rest_out(self) -> None:
        found, _ = read(SAMPLE, display_filter="ipv6")
        assert {len(each.client.split(":")) > 2 for each in found} == {True}

    def test_a_wrong_filter_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        line = complaint(capsys, str(SAMPLE), "--filter", "no such thing")
        assert "'no such thing' is not a display filter: " in line

    def test_a_file_cut_short_is_told_as_far_as_it_goes(self, tmp_path: Path) -> None:
        part = tmp_path / "part.pcapng"
        whole = SAMPLE.read_bytes()
        part.write_bytes(whole[: len(whole) // 2 + 1])
        found, told = read(part)
        assert 0 < len(found) < len(fast_opens())
        (warning,) = told.warnings
        assert warning == f"{part} appears to have been cut short in the middle of a packet."

    def test_syns_cut_short_are_told(self, tmp_path: Path) -> None:
        """Whether they ask for a cookie is in the options, which the snap length leaves out."""
        capture = tmp_path / "short.pcap"
        ip = b"\x45\0\0\x3c" + bytes(4) + b"\x40\x06" + bytes(10)
        tcp = b"\0\1\0\2" + bytes(8) + b"\xa0\2" + bytes(6)
        head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 40, 101)
        capture.write_bytes(head + struct.pack("<IIII", 1, 0, 40, 60) + ip + tcp)
        found, told = read(capture)
        assert found == []
        (warning,) = told.warnings
        assert warning.startswith("the options of 1 SYN without data were not captured: ")

    def test_nothing_else_of_the_users_is_loaded(self, home: Path) -> None:
        plugins = home / ".local/lib/wireshark/plugins"
        plugins.mkdir(parents=True)
        (plugins / "other.lua").write_text("local x = = 1")
        assert read(SAMPLE)[0]


@pytest.mark.usefixtures("tshark")
class TestErrors:
    def test_no_such_file(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        assert complaint(capsys, "absent.pcapng").endswith("there is no file absent.pcapng")
        assert "there is no file" in complaint(capsys, str(tmp_path))

    @pytest.mark.usefixtures("stub")
    def test_a_file_that_is_no_capture(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        path = tmp_path / "damaged.pcapng"
        path.write_bytes(SAMPLE.read_bytes()[:4] + b"\xff" * 60)
        assert "tshark cannot read" in complaint(capsys, str(path))

    def test_an_empty_capture(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        path = tmp_path / "empty.pcapng"
        write_pcapng(path, [])
        assert complaint(capsys, str(path)) == f"scapy-tfo: {path} contains no packets"

    @pytest.mark.usefixtures("stub")
    def test_a_capture_without_fast_open_is_no_error(
        self, capsys: pytest.CaptureFixture[str], plain: Path
    ) -> None:
        assert main(["capture", "report", str(plain)]) == 0
        assert "in 1 packet, 1 of TCP" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("script", "says"),
        [
            ("local x = = 1", "unexpected symbol"),
            (STUB % "error('it broke')", "the plugin failed"),
            (STUB % "print('tfo-records-begin')", "the plugin failed"),
            (
                STUB % "print('tfo-records-begin') print('{') print('tfo-records-end\t1\t0\t0')",
                "answer on .* is damaged",
            ),
        ],
        ids=["syntax", "raises", "no end", "no JSON"],
    )
    def test_a_plugin_that_fails(
        self,
        script: str,
        says: str,
        stub: Path,
        plain: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        stub.write_text(script)
        assert re.search(says, complaint(capsys, str(plain)))

    def test_a_plugin_that_fails_on_a_packet_is_not_trusted(self, stub: Path, plain: Path) -> None:
        text = stub.read_text().replace("dissector() end", "dissector() error('it broke') end")
        stub.write_text(text.replace("\t0", "\t1", 1))
        (warning,) = read(plain)[1].warnings
        assert warning.startswith("the plugin failed on 1 packet, first on 1: ")
        assert "it broke" in warning

    def test_reports_that_cannot_be_written_are_told_first(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        line = complaint(capsys, "absent.pcapng", "--json", "absent/r.json")
        assert "there is no directory absent" in line

    def test_no_tshark(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", "/nonexistent")
        assert "there is no tshark on PATH" in complaint(capsys, str(SAMPLE))

    def test_a_tshark_without_lua(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program = tmp_path / "tshark"
        program.write_text("#!/bin/sh\necho 'TShark (Wireshark) 4.4.2.'\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        with pytest.raises(SetupError, match="was built without Lua"):
            read(SAMPLE)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A capture of one SYN without any option."""

    class Packet:
        when, outbound, comment = 0.0, True, ""
        data = Segment(
            src=IPv4Address("192.0.2.1"),
            dst=IPv4Address("192.0.2.7"),
            sport=40000,
            dport=80,
            flags=SYN,
        ).to_bytes()

    path = tmp_path / "plain.pcapng"
    write_pcapng(path, [Packet()])
    return path


@pytest.mark.usefixtures("tshark")
def test_the_command_writes_all_four(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, document, table = (tmp_path / f"r.{kind}" for kind in ("html", "json", "csv"))
    arguments = [str(SAMPLE), "--html", str(page), "--json", str(document), "--csv", str(table)]
    assert main(["capture", "report", *arguments]) == 0
    assert "OUTCOMES" in capsys.readouterr().out
    counts = Counter(fast_opens().values())
    found = json.loads(document.read_text())
    assert {name: row["connections"] for name, row in found["outcomes"].items()} == counts
    assert Page(page.read_text()).tags["table"] >= 4
    assert len(table.read_text().splitlines()) == 1 + counts.total()


@pytest.mark.usefixtures("tshark")
def test_several_files_are_summed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "r.json"
    other = shutil.copy(SAMPLE, tmp_path / "other.pcapng")
    assert main(["capture", "report", str(SAMPLE), str(other), "--json", str(document)]) == 0
    assert "other.pcapng" in capsys.readouterr().out
    found = json.loads(document.read_text())
    assert found["total"]["connections"] == 2 * len(fast_opens())
    assert {each["capture"] for each in found["connections"]} == {str(SAMPLE), str(other)}


@pytest.mark.usefixtures("tshark")
def test_standard_input_is_read() -> None:
    command = [sys.executable, "-m", "scapy_tfo", "capture", "report", "-"]
    with SAMPLE.open("rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, check=True)
    assert f"{len(fast_opens())} connections with fast open" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a capture"),
        (["a.pcap", "--interface", "lo"], "not both"),
        (["a.pcap", "--for", "3s"], "give --interface"),
        (["-", "-"], "once only"),
    ],
)
def test_where_packets_are_to_come_from_is_told(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in complaint(capsys, *arguments)


@pytest.mark.usefixtures("tshark")
def test_an_interface_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    line = complaint(capsys, "--interface", "nosuch0", "--for", "1s")
    assert "nosuch0" in line
    assert "tshark cannot read" not in line

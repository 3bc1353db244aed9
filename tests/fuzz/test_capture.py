"""Captures of fuzzed packets, and their dissection by tshark."""

from __future__ import annotations

import stat
from collections import Counter
from pathlib import Path

import pytest

from scapy_tfo.capture.reader import read_frames
from scapy_tfo.cli import main
from scapy_tfo.dissector.files import own_plugin
from scapy_tfo.dissector.trial import dissect
from scapy_tfo.dissector.tshark import has_tshark
from scapy_tfo.fuzz.captures import fuzzed, write_capture

needs_tshark = pytest.mark.skipif(
    not has_tshark(), reason="tshark is not installed: apt-get install tshark"
)

BROKEN_PLUGIN = """
local tfo = Proto("brokentfo", "Fast Open, broken")
function tfo.dissector(buffer, pinfo, tree)
  if pinfo.number % 10 == 3 then error("it broke") end
  tree:add(tfo, buffer(0, 1))
end
register_postdissector(tfo)
"""


class TestCaptures:
    def test_a_seed_always_gives_the_same_packets(self) -> None:
        assert list(fuzzed(200, 7)) == list(fuzzed(200, 7))
        assert list(fuzzed(200, 7)) != list(fuzzed(200, 8))

    def test_they_are_of_both_sides_both_families_sound_and_damaged(self) -> None:
        packets = list(fuzzed(500))
        assert len(packets) == 500
        assert {each.outbound for each in packets} == {True, False}
        assert {each.data[0] >> 4 for each in packets} >= {4, 6}
        damaged = Counter(each.comment.partition("damaged: ")[2] for each in packets)
        assert set(damaged) == {"", "flip", "cut", "garble", "stretch"}
        assert damaged[""] > 300

    def test_their_times_do_not_go_back(self) -> None:
        times = [each.when for each in fuzzed(300)]
        assert times == sorted(times)

    def test_the_file_holds_them(self, tmp_path: Path) -> None:
        path = tmp_path / "fuzzed.pcapng"
        write_capture(path, 50, seed=3)
        frames = list(read_frames(path))
        assert [each.data for each in frames] == [each.data for each in fuzzed(50, 3)]


@needs_tshark
class TestDissection:
    def test_tshark_survives_fuzzed_packets(self, tmp_path: Path) -> None:
        """With the plugin of this checkout, where there is one."""
        path = tmp_path / "fuzzed.pcapng"
        write_capture(path, 4000)
        assert dissect(path, own_plugin()).problems == ()

    def test_errors_of_a_plugin_are_told_once_each(self, tmp_path: Path) -> None:
        plugin = tmp_path / "broken.lua"
        plugin.write_text(BROKEN_PLUGIN)
        path = tmp_path / "fuzzed.pcapng"
        write_capture(path, 100)
        (problem,) = dissect(path, plugin).problems
        assert "it broke" in problem
        assert problem.endswith("(in 10: packet 3, 13, 23, 33, 43, ...)")

    def test_a_plugin_that_is_no_lua_is_told(self, tmp_path: Path) -> None:
        plugin = tmp_path / "broken.lua"
        plugin.write_text("local x = = 1")
        path = tmp_path / "fuzzed.pcapng"
        write_capture(path, 5)
        (problem,) = dissect(path, plugin).problems
        assert "syntax error" in problem

    def test_the_command_fails_for_a_broken_plugin(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plugin = tmp_path / "broken.lua"
        plugin.write_text(BROKEN_PLUGIN)
        out = str(tmp_path / "fuzzed.pcapng")
        assert main(["fuzz", "capture", "50", "--out", out, "--plugin", str(plugin)]) == 1
        assert "it broke" in capsys.readouterr().out


class TestOtherTsharks:
    """What a tshark does that ours does not do here."""

    def stand_in(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
        program = tmp_path / "tshark"
        program.write_text(f"#!/bin/sh\n[ $1 = --version ] && exec echo TShark 4.0.0\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        capture = tmp_path / "fuzzed.pcapng"
        write_capture(capture, 5)
        return capture

    def test_one_that_crashes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        capture = self.stand_in(tmp_path, monkeypatch, "kill -KILL $$")
        assert dissect(capture, None).problems == ("tshark was killed by signal 9",)

    def test_one_that_does_not_end(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        capture = self.stand_in(tmp_path, monkeypatch, "exec sleep 60")
        (problem,) = dissect(capture, None, patience=0.2).problems
        assert "did not end" in problem

    def test_one_that_complains(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        capture = self.stand_in(tmp_path, monkeypatch, "echo 'tshark: no' >&2; exit 2")
        assert dissect(capture, None).problems == ("no",)


class TestTheCommand:
    def test_it_only_writes_where_that_is_asked(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = tmp_path / "some.pcapng"
        assert main(["fuzz", "capture", "7", "--out", str(out), "--no-dissect"]) == 0
        assert len(list(read_frames(out))) == 7
        assert capsys.readouterr().out == f"{out}: 7 packets of seed 0\n"

    def test_without_tshark_it_says_so(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        out = str(tmp_path / "some.pcapng")
        assert main(["fuzz", "capture", "7", "--out", out]) == 0
        assert "no tshark" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            (["--plugin", "nowhere.lua"], "cannot read the plugin"),
            (["--out", "nowhere/some.pcapng"], "cannot write"),
        ],
    )
    def test_what_it_cannot_do_is_told(
        self,
        given: list[str],
        told: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert main(["fuzz", "capture", "7", *given]) == 2
        assert told in capsys.readouterr().err

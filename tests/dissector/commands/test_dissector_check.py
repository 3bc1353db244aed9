"""`scapy-tfo dissector check`: the plugin reads a known capture right, or the reason is given."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from scapy_tfo.capture.reader import read_frames
from scapy_tfo.cli import main
from scapy_tfo.dissector import check, files, tshark
from scapy_tfo.dissector.connections import OUTCOMES
from scapy_tfo.dissector.folders import Folders

STRANGE = """
local tfo = Proto("tfo", "scapy-tfo, of another opinion")
local outcome = ProtoField.string("tfo.outcome", "Outcome")
tfo.fields = { outcome }
function tfo.dissector(buffer, pinfo, tree)
  tree:add(tfo, buffer(0, 0)):add(outcome, "accepted")
end
register_postdissector(tfo)
"""

pytestmark = pytest.mark.usefixtures("home", "tshark")


def skip_if_root_is_refused() -> None:
    """Root's own plugins are loaded up to 4.0 only."""
    if os.geteuid() == 0 and tshark.find().version >= (4, 4):
        pytest.skip("this tshark passes over root's plugins")


def checked(capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """The status, and the lines said."""
    capsys.readouterr()
    status = main(["dissector", "check"])
    return status, capsys.readouterr().out.splitlines()


def test_the_sample_has_every_outcome_but_unknown() -> None:
    outcomes = check.expected_outcomes()
    assert set(outcomes.values()) == {"", *OUTCOMES} - {"unknown"}
    assert len(list(read_frames(files.sample()))) < 500


def test_not_installed_it_works_when_named_and_is_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, (version, works, by_itself) = checked(capsys)
    assert status == 1
    assert version.startswith("ok  TShark (Wireshark) ")
    assert works.startswith("ok  ")
    assert re.fullmatch(
        r"NO  tshark does not load the plugin: it is not installed; "
        r"'scapy-tfo dissector install( --system)?' installs it",
        by_itself,
    )


def test_installed_it_works_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    skip_if_root_is_refused()
    main(["dissector", "install"])
    status, lines = checked(capsys)
    assert (status, lines[-1]) == (0, "ok  Wireshark and tshark load the installed plugin")


def test_a_copy_of_another_version_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skip_if_root_is_refused()
    main(["dissector", "install"])
    copy = home / ".local/lib/wireshark/plugins/tfo.lua"
    copy.write_text(copy.read_text() + "\n-- scapy-tfo of yesterday\n")
    status, lines = checked(capsys)
    assert status == 1
    assert any(str(copy) in line and "of another version" in line for line in lines)


def test_one_that_tells_something_else_is_found_out(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skip_if_root_is_refused()
    plugins = home / ".local/lib/wireshark/plugins"
    plugins.mkdir(parents=True)
    (plugins / "tfo.lua").write_text(STRANGE)
    status, lines = checked(capsys)
    assert status == 1
    assert "is of another version; 'scapy-tfo dissector install' replaces it" in lines[-1]


def test_a_plugin_that_does_not_work_is_told_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "dissector"
    shutil.copytree(files.plugin().parent, here)
    (here / "tfo.lua").write_text("local x = = 1")
    monkeypatch.setattr(files, "own_plugin", lambda: here / "tfo.lua")
    status, lines = checked(capsys)
    assert status == 1
    assert "does not work: for port 20000 it says nothing instead of" in lines[-1]
    assert "unexpected symbol" in lines[-1]


class TestRoot:
    FOLDERS = Folders(Path("/home/plugins"), Path("/home/config"), Path("/lib/plugins"))

    @staticmethod
    def version(major: int, minor: int) -> tshark.Tshark:
        return tshark.Tshark("tshark", "TShark", (major, minor), "5.4.6")

    def test_since_4_4_it_is_told_what_to_do(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        advice = check.root_advice(self.version(4, 4), self.FOLDERS)
        assert "scapy-tfo dissector install --system" in advice
        assert "run_user_scripts_when_superuser = true" in advice
        assert "/lib/plugins/init.lua" in advice
        assert check.root_advice(self.version(4, 0), self.FOLDERS) == ""

    def test_nobody_else_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        assert check.root_advice(self.version(4, 4), self.FOLDERS) == ""


def test_what_is_only_for_nobody_is_run_as_nobody(tmp_path: Path) -> None:
    """Else a tshark of 4.4 or later would pass over the plugin."""
    if os.geteuid() != 0:
        pytest.skip("needs root, whom tshark treats apart")
    program = tmp_path / "tshark"
    program.write_text("#!/bin/sh\nid -u; id -g; cat >/dev/null; echo $HOME; ls $HOME\n")
    for place in (program, *program.parents):
        if Path(tempfile.gettempdir()) in place.parents:
            place.chmod(0o755)
    fake = tshark.Tshark(str(program), "TShark", (4, 4), "5.4.6")
    user, group, home, *content = tshark.run_alone(
        fake, [], capture=files.sample()
    ).output.splitlines()
    assert (user, group) == ("65534", "65534")
    assert home != os.environ["HOME"]
    assert content == []
    assert not Path(home).exists()


def test_without_tshark_it_is_said_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert main(["dissector", "check"]) == 2
    assert "there is no tshark on PATH: install it" in capsys.readouterr().err


def test_the_wheel_has_all_of_it(tmp_path: Path) -> None:
    """In an installed wheel `dissector/` lies in the package, beside the code that looks for it."""
    source = Path(files.__file__).parents[1]
    package = tmp_path / "scapy_tfo"
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(files.plugin().parent, package / "dissector", dirs_exist_ok=True)
    code = "from scapy_tfo.dissector import files as f; print(f.plugin(), f.profile(), f.sample())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    here = package / "dissector"
    assert done.stdout.split() == [
        str(here / name) for name in ("tfo.lua", "profile", "sample.pcapng")
    ]


def test_named_and_installed_it_is_loaded_once() -> None:
    """Else everybody who has installed it would see an error with our commands."""
    skip_if_root_is_refused()
    main(["dissector", "install"])
    where = f"lua_script:{files.plugin()}"
    command = ["tshark", "-r", str(files.sample()), "-X", where, "-q", "-z", "tfo,outcome"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Lua" not in done.stderr

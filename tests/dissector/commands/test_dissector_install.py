"""Plugin and profile are installed and removed, and no other file is touched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.dissector import files
from scapy_tfo.dissector.install import Places, install, is_foreign, remove

PROFILE = ["colorfilters", "dfilter_buttons", "preferences"]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "plugins", tmp_path / "profiles")


def told(changes: list[object]) -> list[str]:
    return [each.what for each in changes]  # type: ignore[attr-defined]


def names(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


class TestInstall:
    def test_everything_gets_to_its_place(self, places: Places) -> None:
        assert told(install(places)) == ["installed"] * 4
        assert places.plugin.read_bytes() == files.plugin().read_bytes()
        assert names(places.plugins) == ["tfo.lua"]
        assert places.profiles is not None
        assert names(places.profiles / "fast-open") == PROFILE

    def test_the_profile_only_where_it_is_wanted(self, tmp_path: Path) -> None:
        assert told(install(Places(tmp_path / "plugins"))) == ["installed"]
        assert names(tmp_path) == ["plugins"]

    def test_a_second_time_there_is_nothing_to_do(self, places: Places) -> None:
        install(places)
        assert told(install(places)) == ["up to date"] * 4

    def test_an_older_one_of_ours_is_updated(self, places: Places) -> None:
        install(places)
        places.plugin.write_text("-- scapy-tfo, of old\n")
        assert "updated" in told(install(places))
        assert places.plugin.read_bytes() == files.plugin().read_bytes()

    def test_another_file_of_that_name_stays_unless_forced(self, places: Places) -> None:
        places.plugins.mkdir()
        places.plugin.write_text("-- somebody's own\n")
        with pytest.raises(Exception, match=r"tfo.lua is not ours, or was changed.*--force"):
            install(places)
        assert places.plugin.read_text() == "-- somebody's own\n"
        assert places.profiles is not None
        assert not places.profiles.exists()
        assert told(install(places, force=True))[0] == "replaced, though it was not ours:"

    def test_a_link_is_replaced_and_not_followed(self, places: Places, tmp_path: Path) -> None:
        aim = tmp_path / "aim.lua"
        aim.write_text("-- scapy-tfo\n")
        places.plugins.mkdir()
        places.plugin.symlink_to(aim)
        assert told(install(places))[0] == "updated"
        assert not places.plugin.is_symlink()
        assert aim.read_text() == "-- scapy-tfo\n"

    def test_a_link_to_ours_is_up_to_date(self, places: Places) -> None:
        places.plugins.mkdir()
        places.plugin.symlink_to(files.plugin())
        assert told(install(places))[0] == "up to date"
        assert places.plugin.is_symlink()

    def test_what_cannot_be_written_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(Exception, match=r"cannot change .*tfo.lua"):
            install(Places(tmp_path / "file" / "plugins"))


class TestRemove:
    def test_what_was_installed_goes(self, places: Places) -> None:
        install(places)
        assert set(told(remove(places))) == {"removed"}
        assert names(places.plugins) == []
        assert places.profiles is not None
        assert names(places.profiles) == []
        assert remove(places) == []

    def test_what_is_not_ours_stays_unless_forced(self, places: Places) -> None:
        install(places)
        assert places.profiles is not None
        profile = places.profiles / "fast-open"
        (profile / "recent").touch()
        (profile / "colorfilters").write_text("# made by Wireshark\n")
        places.plugin.write_text("-- somebody's own\n")
        changes = [f"{each.what} {each.path.name}" for each in remove(places)]
        assert changes[0].startswith("kept, because it is not ours")
        assert changes[-1] == (
            "kept, with colorfilters, recent in it (--force removes it): fast-open"
        )
        remove(places, force=True)
        assert not profile.exists()
        assert not places.plugin.exists()


def test_each_of_our_files_says_that_it_is_ours(tmp_path: Path) -> None:
    for path in (files.plugin(), *files.profile().iterdir()):
        assert not is_foreign(path)
    assert not is_foreign(tmp_path / "absent")
    assert is_foreign(tmp_path)


class TestCommand:
    def test_tshark_then_loads_it_by_itself(
        self, home: Path, tshark: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        command = [tshark, "-r", str(files.sample()), "-Y", "tfo", "-c", "100"]
        before = subprocess.run(command, capture_output=True, text=True, check=False)
        if "tfo" not in before.stderr:
            pytest.skip("the plugin is installed for all users here")
        assert main(["dissector", "install"]) == 0
        said = capsys.readouterr().out
        assert f"installed {home}/.local/lib/wireshark/plugins/tfo.lua" in said
        after = subprocess.run(command, capture_output=True, text=True, check=False)
        if not after.stdout and "root's own plugins" in said:
            pytest.skip("this tshark passes over root's plugins")
        assert after.stdout
        assert main(["dissector", "install", "--remove"]) == 0
        assert names(home / ".local/lib/wireshark/plugins") == []

    def test_the_profile_goes_where_the_configuration_is(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
        assert main(["dissector", "install", "--profile"]) == 0
        assert names(home / "xdg/wireshark/profiles/fast-open") == PROFILE
        assert "wireshark -C fast-open" in capsys.readouterr().out

    def test_another_folder(
        self, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["dissector", "install", "--into", str(tmp_path / "lua")]) == 0
        assert names(tmp_path / "lua") == ["tfo.lua"]
        assert f"installed {tmp_path / 'lua' / 'tfo.lua'}" in capsys.readouterr().out
        assert names(home) == []

    def test_without_tshark_it_goes_by_wiresharks_rules(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("PATH", "/nonexistent")
        assert main(["dissector", "install"]) == 0
        assert "there is no tshark to try it with" in capsys.readouterr().out
        assert names(home / ".local/lib/wireshark/plugins") == ["tfo.lua"]
        assert main(["dissector", "install", "--system"]) == 2
        assert "give --into DIR" in capsys.readouterr().err

    def test_path_is_what_tshark_can_be_given(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["dissector", "path"]) == 0
        assert capsys.readouterr().out == f"{files.plugin()}\n"
        assert main(["dissector", "path", "--all"]) == 0
        assert "installed               nowhere" in capsys.readouterr().out
        main(["dissector", "install"])
        main(["dissector", "path", "--all"])
        assert f"installed               {home}/.local" in capsys.readouterr().out


@pytest.mark.usefixtures("home")
def test_tshark_takes_the_profile_without_complaint(tshark: str) -> None:
    """It reads the colours and the buttons of a profile, and says what it cannot make sense of."""
    assert main(["dissector", "install", "--profile"]) == 0
    command = [tshark, "-n", "-r", str(files.sample()), "-C", "fast-open", "--color", "-c", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    errors = [line for line in done.stderr.splitlines() if not line.startswith("Running as user")]
    if any("Could not compile" in line for line in errors):
        pytest.skip("this tshark passes over root's plugins")
    assert errors == []
    assert "requested" in done.stdout

"""Wireshark's folders, by its rules for each platform and as tshark names them."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from scapy_tfo.dissector.folders import expected, folders

LUA = ".local/lib/wireshark/plugins"


@pytest.mark.parametrize("platform", ["linux", "darwin"])
class TestUnix:
    def test_below_the_home_directory(self, platform: str) -> None:
        found = expected(platform, {}, PurePosixPath("/home/ann"))
        assert found.plugins == PurePosixPath("/home/ann", LUA)
        assert found.configuration == PurePosixPath("/home/ann/.config/wireshark")

    def test_the_configuration_goes_where_the_environment_says(self, platform: str) -> None:
        environment = {"XDG_CONFIG_HOME": "/etc/ann"}
        found = expected(platform, environment, PurePosixPath("/home/ann"))
        assert found.plugins == PurePosixPath("/home/ann", LUA)
        assert found.configuration == PurePosixPath("/etc/ann/wireshark")
        environment["WIRESHARK_CONFIG_DIR"] = "/srv/ws"
        found = expected(platform, environment, PurePosixPath("/home/ann"))
        assert found.plugins == PurePosixPath("/home/ann", LUA)
        assert found.configuration == PurePosixPath("/srv/ws")

    def test_an_old_directory_counts_where_the_new_one_is_absent(
        self, platform: str, home: Path
    ) -> None:
        (home / ".wireshark").mkdir()
        place = PurePosixPath(home)
        assert expected(platform, {}, place).configuration == place / ".wireshark"
        (home / ".config/wireshark").mkdir(parents=True)
        assert expected(platform, {}, place).configuration == place / ".config/wireshark"


class TestWindows:
    def test_below_the_roaming_folder(self) -> None:
        found = expected("win32", {}, PureWindowsPath(r"C:\Users\Ann"))
        assert found.configuration == PureWindowsPath(r"C:\Users\Ann\AppData\Roaming\Wireshark")
        assert found.plugins == found.configuration / "plugins"

    def test_where_the_environment_says(self) -> None:
        home = PureWindowsPath(r"C:\Users\Ann")
        found = expected("win32", {"APPDATA": r"D:\Data"}, home)
        assert found.plugins == PureWindowsPath(r"D:\Data\Wireshark\plugins")
        found = expected("win32", {"WIRESHARK_CONFIG_DIR": r"E:\ws"}, home)
        assert found.plugins == PureWindowsPath(r"E:\ws\plugins")


@pytest.mark.parametrize(
    "environment",
    [{}, {"XDG_CONFIG_HOME": "elsewhere"}, {"WIRESHARK_CONFIG_DIR": "own"}],
    ids=["home", "xdg", "own"],
)
def test_tshark_says_the_same(
    environment: dict[str, str], home: Path, tshark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, place in environment.items():
        (home / place).mkdir()
        monkeypatch.setenv(name, str(home / place))
    told, guessed = folders(tshark), folders(None)
    assert (told.plugins, told.configuration) == (guessed.plugins, guessed.configuration)
    assert told.system_plugins is not None
    assert guessed.system_plugins is None

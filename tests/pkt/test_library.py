"""Scripts in files and directories, and their symbols."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.language.settings import VERSIONS, Settings
from scapy_tfo.pkt.library import chosen_versions, find_scripts, read_script, task_of


def put(place: Path, text: str = "") -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


def test_files_are_taken_as_they_are_and_directories_with_all_below(tmp_path: Path) -> None:
    named = put(tmp_path / "a.txt")
    put(tmp_path / "all/b.pkt")
    put(tmp_path / "all/deep/a.pkt")
    put(tmp_path / "all/not.txt")
    found = find_scripts([str(named), str(tmp_path / "all")])
    assert [str(each.path.relative_to(tmp_path)) for each in found] == [
        "a.txt",
        "all/b.pkt",
        "all/deep/a.pkt",
    ]


def test_places_without_a_script_are_said(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no script in"):
        find_scripts([str(tmp_path)])
    with pytest.raises(SetupError, match=r"cannot read .*nowhere\.pkt: No such file"):
        find_scripts([str(tmp_path / "nowhere.pkt")])


def test_a_script_that_is_not_utf_8_is_read_as_latin_1(tmp_path: Path) -> None:
    script = tmp_path / "latin.pkt"
    script.write_bytes(b"// \xe9\r\n")
    assert [each.text for each in find_scripts([str(script)])] == ["// \u00e9\n"]


@pytest.mark.parametrize(
    ("first", "ids"),
    [
        ("// ACC-2", ("ACC-2",)),
        ("// ACC-2, LIM-10a", ("ACC-2", "LIM-10a")),
        ("// ACC-2 LIM-1", ("ACC-2", "LIM-1")),
        ("// See ACC-2.", ()),
        ("--mtu=1400", ()),
        ("", ()),
    ],
)
def test_the_first_line_names_what_a_script_checks(
    tmp_path: Path, first: str, ids: tuple[str, ...]
) -> None:
    assert read_script(put(tmp_path / "a.pkt", f"{first}\n// LIM-9\n")).requirements == ids


@pytest.mark.parametrize(
    ("name", "text", "versions"),
    [
        ("a.pkt", "", VERSIONS),
        ("a-v6.pkt", "", ("ipv6",)),
        ("a-v4.pkt", "", ("ipv4", "ipv4-mapped-ipv6")),
        ("a.pkt", "--ip_version=ipv6\n", ("ipv6",)),
        ("a-v4.pkt", "// A\n--ip_version=ipv4-mapped-ipv6\n", ("ipv4-mapped-ipv6",)),
        ("a.pkt", "--remote_ip=192.0.2.9\n", ("ipv4", "ipv4-mapped-ipv6")),
        ("a.pkt", "--ip_version=nonsense\n", VERSIONS),
    ],
)
def test_ip_versions_that_a_script_is_for(
    tmp_path: Path, name: str, text: str, versions: tuple[str, ...]
) -> None:
    script = read_script(put(tmp_path / name, text))
    assert script.versions == versions
    assert chosen_versions(("ipv6", "ipv4"), script) == tuple(
        each for each in ("ipv6", "ipv4") if each in versions
    )


def test_symbols_stand_beside_a_script_or_above_it(tmp_path: Path) -> None:
    put(tmp_path / "symbols.toml", '[ipv4]\nA = "1"\nB = "2"\n[ipv6]\nA = "6"\n')
    script = read_script(put(tmp_path / "deep/a.pkt"))
    assert task_of(script, "ipv4", Settings(), {"B": "9"}).settings.symbols == {"A": "1", "B": "9"}
    assert task_of(script, "ipv6", Settings(), {}).settings.symbols == {"A": "6"}
    assert task_of(script, "ipv4-mapped-ipv6", Settings(), {}).settings.symbols == {}
    put(tmp_path / "deep/symbols.toml", "")
    assert task_of(script, "ipv4", Settings(), {}).settings.symbols == {}


RUNNER = """
('--ip_version=ipv4 --local_ip=192.168.0.1 '
 '-D TFO_COOKIE=3021b9d889017eeb '
 '-D CODE=host_unreachable ')
('--ip_version=ipv6 --mtu=1520 '
 '-D TFO_COOKIE=c1d1e9742a47a9bc ')
('--ip_version=ipv4-mapped-ipv6 '
 '-D CODE=net_unreachable')
"""


@pytest.mark.parametrize("place", ["net/packetdrill/run_all.py", "net/tcp/ksft_runner.sh"])
def test_symbols_of_a_published_runner_are_found(tmp_path: Path, place: str) -> None:
    put(tmp_path / place, RUNNER)
    script = read_script(put(tmp_path / "net/tcp/fastopen/server/opt34/a.pkt", "0 `true`\n"))
    found = {
        version: task_of(script, version, Settings(), {}).settings.symbols for version in VERSIONS
    }
    assert found == {
        "ipv4": {"TFO_COOKIE": "3021b9d889017eeb", "CODE": "host_unreachable"},
        "ipv6": {"TFO_COOKIE": "c1d1e9742a47a9bc"},
        "ipv4-mapped-ipv6": {"CODE": "net_unreachable"},
    }
    own = task_of(script, "ipv4", Settings(), {"CODE": "1"}).settings.symbols
    assert own == {"TFO_COOKIE": "3021b9d889017eeb", "CODE": "1"}
    put(tmp_path / "net/tcp/fastopen/symbols.toml", '[ipv4]\nA = "1"\n')
    assert task_of(script, "ipv4", Settings(), {}).settings.symbols == {"A": "1"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[ipv4", "cannot read the symbols"),
        ("ipv4 = 5", r"\[ipv4\] must be a table"),
        ("[ipv4]\nA = 5", r"\[ipv4\] must be a table"),
    ],
)
def test_a_damaged_file_of_symbols_is_said(tmp_path: Path, text: str, problem: str) -> None:
    put(tmp_path / "symbols.toml", text)
    script = read_script(put(tmp_path / "a.pkt"))
    with pytest.raises(SetupError, match=problem):
        task_of(script, "ipv4", Settings(), {})


def test_segments_of_both_ip_versions_are_of_one_size(tmp_path: Path) -> None:
    script = read_script(put(tmp_path / "a.pkt"))
    assert task_of(script, "ipv4", Settings(), {}).settings.mtu is None
    assert task_of(script, "ipv6", Settings(), {}).settings.mtu == 1520
    assert task_of(script, "ipv6", Settings(mtu=1400), {}).settings.mtu == 1400
    own = read_script(put(tmp_path / "a-v6.pkt"))
    assert task_of(own, "ipv6", Settings(), {}).settings.mtu is None


def test_commands_run_where_the_script_is(tmp_path: Path) -> None:
    task = task_of(read_script(put(tmp_path / "deep/a.pkt")), "ipv4", Settings(), {})
    assert task.directory == (tmp_path / "deep").resolve()
    assert task.settings.version == "ipv4"

"""The loader of specs/: the data that it finds, the places it looks, and its errors."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scapy_tfo import spec
from scapy_tfo.errors import SetupError
from scapy_tfo.suite import result

SPECS = Path(__file__).resolve().parent.parent / "specs"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A directory of requirements to damage."""
    return Path(shutil.copytree(SPECS, tmp_path / "specs"))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty package directory that the loader takes for its own."""
    monkeypatch.delenv(spec.ENVIRONMENT, raising=False)
    package = tmp_path / "site" / "scapy_tfo"
    package.mkdir(parents=True)
    monkeypatch.setattr(spec, "__file__", str(package / "spec.py"))
    return package


def complaint(directory: Path) -> str:
    with pytest.raises(SetupError) as caught:
        spec.load(directory)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_requirements_come_in_the_order_of_the_groups() -> None:
    catalogue = spec.load()
    groups = list(dict.fromkeys(requirement.group for requirement in catalogue.values()))
    assert groups == list(spec.GROUPS)
    assert list(catalogue)[:2] == ["OPT-1", "OPT-2"]


def test_a_requirement_is_found_by_its_id() -> None:
    requirement = spec.load()["ACC-1"]
    assert requirement.id == "ACC-1"
    assert requirement.level is spec.Level.MUST
    assert requirement.role == "server"
    assert "RFC 7413 section 4.2" in requirement.source
    assert requirement.observed == ("wire",)
    assert requirement.statement.endswith(".")


def test_a_long_statement_is_one_line() -> None:
    for requirement in spec.load().values():
        for text in (requirement.statement, requirement.how, requirement.note):
            assert "\n" not in text
            assert "  " not in text


def test_a_group_is_listed_with_its_title() -> None:
    catalogue = spec.load()
    assert [r.id for r in catalogue.group("REL")] == ["REL-1", "REL-2"]
    assert catalogue.title("CLI") == "Client"


def test_an_unknown_group_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        spec.load().group("XYZ")


def test_results_use_the_same_levels() -> None:
    assert result.Level is spec.Level


@pytest.mark.parametrize(
    ("level", "fails_run", "can_fail"),
    [
        ("MUST", True, True),
        ("step", True, True),
        ("robust", True, True),
        ("SHOULD", False, True),
        ("MAY", False, False),
        ("design", False, False),
    ],
)
def test_levels_say_what_a_failure_does(level: str, fails_run: bool, can_fail: bool) -> None:
    assert spec.Level(level).fails_run is fails_run
    assert spec.Level(level).can_fail is can_fail


# Where it looks.


def test_the_environment_variable_comes_first(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = copy / "rel.toml"
    file.write_text(file.read_text().replace('title = "', 'title = "Other: '))
    monkeypatch.setenv(spec.ENVIRONMENT, str(copy))
    assert spec.load().title("REL").startswith("Other: ")


def test_an_environment_variable_that_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(spec.ENVIRONMENT, str(tmp_path / "nothing"))
    with pytest.raises(SetupError, match=f"{spec.ENVIRONMENT}=.*nothing is not a directory"):
        spec.load()


def test_a_checkout_has_the_data_beside_the_package(package: Path) -> None:
    (package.parent / "pyproject.toml").touch()
    (package.parent / "specs").mkdir()
    (package / "specs").mkdir()
    assert spec.directory() == package.parent / "specs"


def test_a_wheel_has_the_data_inside_the_package(package: Path) -> None:
    (package.parent / "specs").mkdir()
    (package / "specs").mkdir()
    assert spec.directory() == package / "specs"


def test_a_package_without_data_says_so(package: Path) -> None:
    with pytest.raises(SetupError, match=f"no requirements found.*{spec.ENVIRONMENT}"):
        spec.load()
    assert package.is_dir()


# Damage. Each row: what is done to this file, and what the message must name.

SOUND = """\
title = "Duplicate SYNs"
role = "server"

[[requirement]]
id = "DUP-1"
source = ["RFC 9293 section 3.10.7.4"]
section = "Duplicate SYN"
level = "robust"
statement = "Its data is delivered once."
observed = ["wire", "application"]
how = "Repeat the SYN."

[[requirement]]
id = "DUP-2"
source = ["RFC 9293 section 3.10.7.4"]
section = "Duplicate SYN"
level = "robust"
statement = "No second connection opens."
observed = ["wire", "application"]
how = "Repeat the SYN."
"""

DAMAGE = [
    ("level = ", "level ", ["not valid TOML", "line 8"]),
    ('level = "robust"', 'level = "WOULD"', ["line 4", "level", "'WOULD'", "MUST, step, robust"]),
    ('level = "robust"', "", ["line 4", "field level: missing"]),
    ('level = "robust"', "level = 3", ["line 4", "field level: must be a string"]),
    ('observed = ["wire", ', 'observed = ["moon", ', ["line 4", "observed", "'moon'", "wire"]),
    ('observed = ["wire", ', 'observed = [3, "wire", ', ["line 4", "array of strings"]),
    ("source = [", 'source = "RFC 7413" # [', ["line 4", "field source: must be an array"]),
    ("source = [", "source = [] # [", ["line 4", "field source: empty"]),
    ('section = "', 'section = " " # "', ["line 4", "field section: empty"]),
    ('section = "', 'colour = "red"\nsection = "', ["line 4", "field colour: unknown"]),
    ('id = "DUP-1"', 'id = "ACC-1"', ["line 4", "field id", "'ACC-1'", "DUP-1"]),
    ('id = "DUP-1"', 'id = "DUP-one"', ["line 4", "field id", "'DUP-one'"]),
    ('id = "DUP-2"', 'id = "DUP-1"', ["line 13", "DUP-1 is used twice"]),
    ('role = "server"', 'role = "cook"', ["dup.toml: field role", "'cook'", "server"]),
    ('title = "', 'headline = "', ["dup.toml: field title: missing"]),
    ('title = "', 'requirement = ["DUP-1"]\ntitle = "', ["not valid TOML"]),
]


def test_the_file_to_damage_is_sound(copy: Path) -> None:
    (copy / "dup.toml").write_text(SOUND)
    assert [r.id for r in spec.load(copy).group("DUP")] == ["DUP-1", "DUP-2"]


@pytest.mark.parametrize(("old", "new", "named"), DAMAGE, ids=[row[1] or "gone" for row in DAMAGE])
def test_damage_is_named(copy: Path, old: str, new: str, named: list[str]) -> None:
    assert old in SOUND
    (copy / "dup.toml").write_text(SOUND.replace(old, new, 1))
    message = complaint(copy)
    assert str(copy / "dup.toml") in message
    for words in named:
        assert words in message


def test_a_missing_file_is_named(copy: Path) -> None:
    (copy / "lim.toml").unlink()
    message = complaint(copy)
    assert str(copy / "lim.toml") in message
    assert "No such file" in message


def test_a_file_that_is_not_text_is_named(copy: Path) -> None:
    (copy / "lim.toml").write_bytes(b"\xff\xfe")
    assert "lim.toml: not valid TOML" in complaint(copy)


def test_requirements_that_are_not_tables_are_named(copy: Path) -> None:
    (copy / "lim.toml").write_text('title = "t"\nrole = "server"\nrequirement = ["LIM-1"]\n')
    assert "lim.toml: field requirement: write each one as" in complaint(copy)


def test_an_entry_written_inline_is_still_named(copy: Path) -> None:
    (copy / "lim.toml").write_text('title = "t"\nrole = "server"\nrequirement = [{id = "LIM-1"}]\n')
    assert "lim.toml: field source: missing" in complaint(copy)

"""Which targets may come from a file, which may have come from anybody."""

from __future__ import annotations

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.targets.benches import open_bench
from scapy_tfo.targets.kept import kept_target


@pytest.mark.parametrize(
    "name",
    [
        "sim:reference",
        "lab:linux",
        "127.0.0.1:7",
        "127.9.9.9",
        "[::1]:7",
        "::1",
        "localhost:7",
        "127.0.0.1:7 through lo from 127.0.0.1,127.0.0.2 plain 8",
        "sim:reference against 127.0.0.1:7",
    ],
)
def test_targets_on_this_machine_are_taken(name: str) -> None:
    assert kept_target(name, "f.json", "--target") == name


@pytest.mark.parametrize(
    "name",
    [
        "192.0.2.1:7",
        "192.0.2.1",
        "[2001:db8::1]:7",
        "example.com:7",
        "localhost.example.com:7",
        "0.0.0.0:7",
        "::ffff:192.0.2.1",
        "127.0.0.1:7 through eth0",
        "127.0.0.1:7 from 192.0.2.9",
        "127.0.0.1:7 and more words",
        "sim:reference against 192.0.2.1:7",
        "192.0.2.1:7 against sim:reference",
        "",
        "127.0.0.1:0",
        "stack.toml",
        "./stack.toml",
        "/tmp/Stack.TOML",
        "127.0.0.1/../stack.toml",
        "localhost.toml",
        "127.0.0.1:7 plain 8.toml",
        "sim:reference against stack.toml",
        "stack.toml against sim:reference",
        None,
        7,
        ["sim:reference"],
    ],
)
def test_others_must_be_named_by_the_user(name: object) -> None:
    with pytest.raises(SetupError, match=r"f\.json names .*--target"):
        kept_target(name, "f.json", "--target")


def test_the_error_says_what_to_add_to_the_command() -> None:
    with pytest.raises(SetupError, match=r"if you trust it, .*: --target 'stack\.toml'$"):
        kept_target("stack.toml", "f.json", "--target")


def test_a_file_is_never_meant_by_a_name_that_may_be_kept() -> None:
    """What begins as our own targets do is taken from a file: it must not open one."""
    for name in ("sim:stack.toml", "lab:stack.toml", "lab:linux.toml"):
        assert kept_target(name, "f.json", "--target") == name
        with pytest.raises(SetupError, match=r"no such|not a target|no mutant"):
            open_bench(name)

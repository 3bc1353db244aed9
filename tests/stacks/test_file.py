"""Target files: what they say is read, and what is wrong is told by its key."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.stacks.file import is_target_file, load

FULL = """
name = "FreeBSD"
version = "13.0"
address = ["10.77.0.2", "fd77::2"]
app = "echo"
iface = "tap0"
sources = ["10.77.0.100", "10.77.0.101"]
intrusive = false
direct = true

[ports]
main = 7
second = 8
small = 9
plain = 10
"send-close:5000" = 31
mute = 32

[start]
command = ["./tap.sh", "ns", "build/target"]
directory = "build"
environment = { TGT_CTL = "ctl" }
ready = "TGT READY"
within = "20s"

[hooks]
socket = "ctl"
within = 2
first_port = 20000
"""


def written(tmp_path, text):
    path = tmp_path / "stack.toml"
    path.write_text(text)
    return path


def test_everything_that_a_file_can_say(tmp_path):
    file = load(written(tmp_path, FULL))
    assert file.title == "FreeBSD 13.0"
    assert file.addresses == ("10.77.0.2", "fd77::2")
    assert (file.app, file.iface, file.intrusive, file.direct) == ("echo", "tap0", False, True)
    assert file.sources == (ip_address("10.77.0.100"), ip_address("10.77.0.101"))
    assert file.ports == {"main": 7, "second": 8, "small": 9, "plain": 10}
    assert file.standing == {"send-close:5000": 31, "mute": 32}
    assert file.start.argv == ("./tap.sh", "ns", "build/target")
    assert file.start.directory == tmp_path / "build"
    assert file.start.environment == {"TGT_CTL": "ctl"}
    assert (file.start.ready, file.start.within) == ("TGT READY", 20.0)
    assert file.hooks.socket == tmp_path / "ctl"
    assert (file.hooks.argv, file.hooks.within, file.hooks.first_port) == ((), 2.0, 20000)


def test_the_least_that_a_file_must_say(tmp_path):
    file = load(written(tmp_path, 'address = "192.0.2.1"\nports.main = 7\n'))
    assert (file.title, file.app, file.intrusive, file.direct) == ("stack", "echo", False, False)
    assert (file.start, file.hooks, file.sources) == (None, None, ())


def test_a_stack_that_is_started_here_may_be_filled(tmp_path):
    start = '[start]\ncommand = ["x"]\nready = "y"\n'
    assert load(written(tmp_path, f'address = "::1"\nports.main = 7\n{start}')).intrusive


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('address = ["10.77.0.2", "fd77::2"]', "", "'address' is missing: write an IP address"),
        ('address = ["10.77.0.2", "fd77::2"]', "address = 7", "'address' is a number: write"),
        ('address = ["10.77.0.2", "fd77::2"]', "address = []", "'address' is empty: write"),
        ('app = "echo"', 'app = "ecko"', "'app' is 'ecko': write echo or http or none; did"),
        ("main = 7", "main = 0", "'ports.main' is 0: write a port, 1 to 65535"),
        ("main = 7", "main = true", "'ports.main' is true or false: write a port"),
        ("main = 7", 'main = "7"', "'ports.main' is a text: write a port"),
        ("mute = 32", "mut = 32", "'ports.mut' is unknown: write one of main"),
        ("mute = 32", '"send:" = 32', "'ports.send:' is unknown: write one of main"),
        (
            'sources = ["10.77.0.100",',
            'sources = ["tap",',
            "'sources' is 'tap': write a list of IP",
        ),
        ("intrusive = false", "intrusive = 1", "'intrusive' is a number: write true or false"),
        (
            '["./tap.sh", "ns", "build/target"]',
            '"./tap.sh ns"',
            "'start.command' is a text, and no",
        ),
        ('["./tap.sh", "ns", "build/target"]', "[]", "'start.command' is empty: write a list"),
        ('["./tap.sh", "ns", "build/target"]', '["\\u0000"]', "'start.command' is not usable"),
        ('ready = "TGT READY"', "", "'start.ready' is missing: write a text"),
        ('ready = "TGT READY"', 'ready = ""', "'start.ready' is empty: write text of the line"),
        ('within = "20s"', 'within = "soon"', "'start.within' is 'soon': write a time: 250ms"),
        ('within = "20s"', "within = -1", "'start.within' is a number: write a time"),
        ('within = "20s"', "within = inf", "'start.within' is a number: write a time"),
        (
            'TGT_CTL = "ctl"',
            "TGT_CTL = 7",
            "'start.environment' is a table: write a table of texts",
        ),
        ('socket = "ctl"', "", "'hooks.socket' is missing, and so is hooks.command: write"),
        ('socket = "ctl"', 'socket = "c"\ncommand = ["x"]', "'hooks.socket' is given beside"),
        (
            "first_port = 20000",
            "first-port = 2",
            "'hooks.first-port' is unknown; did you mean 'fir",
        ),
        ("[hooks]", "[hook]", "'hook' is unknown; did you mean 'hooks'?: write one of"),
        ("[hooks]", "[[hooks]]", "'hooks' is a list: write a table [hooks]"),
        ("[ports]", "[ports", "it is not TOML"),
    ],
)
def test_what_is_wrong_is_told_by_its_key(tmp_path, old, new, told):
    assert old in FULL
    path = written(tmp_path, FULL.replace(old, new))
    with pytest.raises(SetupError) as caught:
        load(path)
    assert told in str(caught.value)
    assert str(caught.value).startswith((f"{path}: ", "cannot read the target file"))


def test_a_file_without_hooks_needs_a_port(tmp_path):
    with pytest.raises(SetupError, match=r"'ports\.main' is missing: write the port"):
        load(written(tmp_path, 'address = "::1"\n'))


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a = " + b"[" * 100_000, b"\x00"])
def test_what_is_no_text_is_told_in_a_sentence(tmp_path, content):
    path = tmp_path / "stack.toml"
    path.write_bytes(content)
    with pytest.raises(SetupError, match="cannot read the target file"):
        load(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SetupError, match="No such file"):
        load(tmp_path / "none.toml")


@pytest.mark.parametrize("name", ["stack.toml", "/a b/Stack.TOML", "./x.toml"])
def test_a_name_of_a_target_file(name):
    assert is_target_file(name)


@pytest.mark.parametrize("name", ["192.0.2.1:7", "lab:linux", "sim:x.toml", "lab:x.toml", "toml"])
def test_a_name_of_another_target(name):
    assert not is_target_file(name)

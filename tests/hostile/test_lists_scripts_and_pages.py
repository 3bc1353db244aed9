"""Lists of what is known, scripts, recorded pages and names, as an enemy would make them, under the
laws of conftest.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.errors import SetupError
from scapy_tfo.gain.pages.har import read_har
from tests.hostile.outside import DEEP, LONG, NASTY, acts, quick

Lawful = Callable[..., int]


@pytest.mark.parametrize("text", NASTY[::3])
def test_lists_of_what_is_known(text: str, lawful: Lawful) -> None:
    quoted = json.dumps(text.encode(errors="replace").decode())
    for content in (
        text,
        f"known = {quoted}",
        f'[[known]]\ncase = {quoted}\nreason = "x"',
        f'[[known]]\ncase = "ACC-2.syn-data-is-acknowledged"\nreason = {quoted}',
        f"[[known]]\nrequirement = {quoted}\nstate = {quoted}\nreply = {quoted}\nrule = {quoted}\n"
        f"reason = {quoted}\nprogram = {quoted}",
    ):
        Path("k.toml").write_bytes(content.encode(errors="replace"))
        only = ("--only", "ACC-2.syn-data-is-acknowledged", "-4", "--quiet", "--out", "out")
        lawful("test", "sim:reference", *only, "--known", "k.toml")
        assert lawful("fuzz", "sim:reference", "--programs", "1", "--known", "k.toml") == 2


@pytest.mark.parametrize(
    "content", [f"x = {DEEP}", "x = " + "{a=" * 50_000, "\x00", "[[known]]\n" * 9]
)
def test_lists_that_are_none(content: str, lawful: Lawful) -> None:
    Path("k.toml").write_text(content)
    assert lawful("test", "sim:reference", "--only", "ACC-2", "--known", "k.toml") == 2
    assert lawful("fuzz", "sim:reference", "--programs", "1", "--known", "k.toml") == 2


@pytest.mark.parametrize("text", NASTY)
def test_scripts(text: str, lawful: Lawful) -> None:
    data = text.encode(errors="replace")
    for form in (
        b"%s",
        b"// %s\n",
        b"`%s`\n",
        b"0 `%s`\n",
        b"0 %%{ %s }%%\n",
        b"--%s\n",
        b'0 a("%s") = 0\n',
    ):
        Path("s.pkt").write_bytes(form % data)
        lawful("pkt", "check", "s.pkt")
        lawful("pkt", "fmt", "--check", "s.pkt")


@pytest.mark.parametrize("form", ["%s", "// %s"])
def test_a_long_line_of_a_script(form: str, lawful: Lawful) -> None:
    Path("s.pkt").write_text(form % LONG)
    assert lawful("pkt", "check", "s.pkt") in (0, 1)


@quick
@given(content=st.binary())
def test_scripts_of_any_bytes(content: bytes, lawful: Lawful) -> None:
    Path("out/s.pkt").write_bytes(content)
    lawful("pkt", "check", "out/s.pkt")


def har(**changes: Any) -> dict[str, Any]:
    """An archive of one request."""
    entry = {
        "startedDateTime": "2026-01-01T00:00:00Z",
        "time": 10,
        "request": {"url": "http://example.org/", "headersSize": 100},
        "response": {"status": 200, "content": {"size": 10, "mimeType": "text/html"}},
        "timings": {"wait": 5, "receive": 1, "connect": 2},
    }
    return {"log": {"entries": [entry | changes]}}


@pytest.mark.parametrize("text", [*NASTY, LONG, DEEP])
def test_har_files(text: str, tmp_path: Path) -> None:
    file = tmp_path / "p.har"
    shown = text.encode(errors="replace").decode()
    for content in (
        shown,
        json.dumps(har(request={"url": f"http://{shown}/{shown}"})),
        json.dumps(har(startedDateTime=shown)),
        json.dumps(har(response={"status": 200, "content": {"mimeType": f"text/{shown}"}})),
    ):
        file.write_text(content)
        with suppress(SetupError):
            page = read_har(file)
            said = [f"{each.host}{each.type}{each.name}" for each in page.resources]
            assert not acts("".join(said))


def test_a_har_file_at_the_command(lawful: Lawful) -> None:
    Path("p.har").write_text(json.dumps(har(startedDateTime="".join(NASTY[:5]))))
    assert lawful("gain", "pages", "--har", "p.har", "--times", "1", "--rtt", "1ms") == 2


@pytest.mark.parametrize("text", [each for each in NASTY[::2] if "\x00" not in each])
def test_names(text: str, lawful: Lawful) -> None:
    """None that a resolver would be asked for."""
    for words in (
        ("test", f"127.0.0.1:{text}"),
        ("test", "sim:reference", "--only", text),
        ("test", f"lab:{text}"),
        ("client", f"sim:{text}"),
        ("pkt", "check", text),
        ("pkt", "export", text),
        ("fuzz", "list", "--store", text),
        ("fuzz", f"sim:{text}"),
        (text,),
    ):
        assert lawful(*words) != 0

"""No text from outside acts on a terminal, and none of it is markup."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from scapy_tfo.cli import main
from scapy_tfo.commands.output import fitted
from scapy_tfo.commands.terminal import make_console, progress
from scapy_tfo.spec import Level
from scapy_tfo.suite.result import Result, Verdict
from tests.hostile.outside import NASTY, acts, campaign_store

ESCAPE = NASTY[0]


def console_into(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, color: str) -> Console:
    monkeypatch.setattr(sys, "stdout", stream)
    return make_console(color)


@given(st.text() | st.sampled_from(NASTY))
def test_what_is_printed_has_no_control_characters(text: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)

        @fitted
        def say() -> None:
            print(text)
            print(text, file=sys.stderr)
            make_console("never").print(text, soft_wrap=True)

        say()
        assert sys.stdout is out
    for said in (out.getvalue(), err.getvalue()):
        assert not acts(said)
        said.encode()


def test_an_encoding_that_lacks_characters_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "ascii"))
    fitted(lambda: print("\u00e4\U0001f600\udc80"))()
    sys.stdout.flush()
    assert raw.getvalue() == b"\\xe4\\U0001f600\\udc80\n"


@given(st.text(min_size=1) | st.sampled_from(NASTY))
def test_no_text_is_markup(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        out = io.StringIO()
        console = console_into(out, patch, "never")
        table = Table(title=text)
        table.add_column(text)
        table.add_row(text)
        console.print(table)
        console.rule(text)
        console.print(f"[ipv4] [red]{text}[/x]", soft_wrap=True)
    assert not acts(out.getvalue())
    assert "[ipv4] [red]" in out.getvalue()
    assert "[/x]" in out.getvalue()


@pytest.mark.parametrize("color", ["always", "never"])
@pytest.mark.parametrize("reason", ["an echo of [/x]", "a [red]word[/red]", ESCAPE])
def test_a_failure_is_shown_as_it_is(
    reason: str, color: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO()
    result = Result(
        case="ACC-2.valid",
        title="",
        family=4,
        requirements=("ACC-2",),
        level=Level.MUST,
        verdict=Verdict.FAIL,
        reason=reason,
    )

    kept: list[Result] = []

    @fitted
    def show() -> None:
        with progress(make_console(color), kept.append, quiet=False) as (_, tell):
            tell(result)

    monkeypatch.setattr(sys, "stdout", out)
    show()
    said = " ".join(out.getvalue().split())
    assert "ACC-2.valid [ipv4]" in said
    if reason is not ESCAPE:
        assert reason in said
    assert "\x1b]0" not in said
    assert "\x9b" not in said


@pytest.mark.parametrize("markdown", [False, True])
def test_what_a_store_says_is_shown_without_escapes(
    markdown: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "s.sqlite"
    kept = campaign_store(store, requirement=ESCAPE, expected=ESCAPE, actual=ESCAPE, target=ESCAPE)
    for command in (
        ["list", "--store", str(store), *(["--markdown"] if markdown else [])],
        ["show", kept.id, "--store", str(store)],
        ["merge", str(tmp_path / f"{markdown}.sqlite"), str(store)],
    ):
        assert main(["fuzz", *command]) in (0, 1)
        out, err = capsys.readouterr()
        assert "\\x1b" in out
        assert not acts(out + err)


@pytest.mark.parametrize(
    "says",
    ["printf '\\033]0;owned\\007\\033[31m[/x]\\302\\233' >&2; exit 1", "yes $(seq 999) >&2", "yes"],
)
def test_what_a_client_says_is_shown_without_escapes_and_kept_in_part(
    says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["client", "--only", "CLI-2", "-4", "--patience", "0.3", "--out", str(tmp_path)]
    status = main([*words, "--", "sh", "-c", says, "{host}", "{port}"])
    out, err = capsys.readouterr()
    if status == 2 and "namespace" in err:
        pytest.skip(err)
    assert status == 3
    assert not acts(out + err)
    assert len(err) < 2000
    assert err.startswith("scapy-tfo: ")


def test_words_that_are_no_command_are_shown_without_escapes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["test", ESCAPE]) == 2
    for words in ([ESCAPE], ["test", "sim:reference", ESCAPE]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
    assert not acts("".join(capsys.readouterr()))


def test_a_script_on_standard_output_is_whole_or_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for said, status in (("// tab\there\n", 0), ("// escape \x1b[2J\n", 2)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said.encode())))
        assert main(["pkt", "fmt", "-"]) == status
        out, err = capsys.readouterr()
        assert out == ("" if status else said)
        assert not acts(err)

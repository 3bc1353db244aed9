"""Completion in shells, and the man page: both are made from the parsers of the command line."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scapy_tfo.cli import main, parser_of_all

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "scapy-tfo.1"

COMPLETE = """
source "$1"
COMP_WORDS=({words}) COMP_CWORD={at}
COMP_LINE="${{COMP_WORDS[*]}}" COMP_POINT=${{#COMP_LINE}}
$(complete -p scapy-tfo | sed 's/.*-F \\([^ ]*\\).*/\\1/')
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script for bash, printed by a process of its own, as users do."""
    pytest.importorskip("shtab", reason="needs shtab")
    command = [sys.executable, "-m", "scapy_tfo", "completion", "bash"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    path = tmp_path_factory.mktemp("completion") / "scapy-tfo"
    path.write_text(done.stdout)
    return path


def completed(script: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in ("scapy-tfo", *words))
    text = COMPLETE.format(words=line, at=len(words))
    done = subprocess.run(
        ["bash", "-c", text, "bash", str(script)], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_bash_completes_commands(script: Path) -> None:
    assert completed(script, "te") == ["test"]
    assert set(completed(script, "pkt", "")) >= {"check", "fmt", "run", "export"}


def test_bash_completes_options_and_choices(script: Path) -> None:
    assert completed(script, "test", "--stri") == ["--strict"]
    assert completed(script, "test", "--app", "ec") == ["echo"]
    assert completed(script, "fuzz", "run", "--prog") == ["--programs"]


def test_bash_completes_cases(script: Path) -> None:
    assert completed(script, "test", "--only", "ACC-3.a-wrong-cookie-st") == [
        "ACC-3.a-wrong-cookie-stays-wrong"
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_each_shell_has_its_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab", reason="needs shtab")
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "scapy-tfo" in text
    program = shutil.which(shell)
    if program is not None and shell in ("bash", "zsh", "fish"):
        subprocess.run([program, "-n"], input=text, text=True, check=True)


def test_without_shtab_it_says_how_to_install_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert "pip install 'scapy-tfo[completion]'" in capsys.readouterr().err


def test_it_imports_no_scapy() -> None:
    """shtab may not be combined with it under every licence; and it would cost a second."""
    code = (
        "import sys; from scapy_tfo.cli import main; main(['completion', 'bash']);"
        "sys.exit('scapy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)


def options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """All commands and long options, of the commands below, too."""
    for action in parser._actions:
        names = (each for each in action.option_strings if each.startswith("--"))
        yield from (each for each in names if each != "--help")
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield below.prog
                yield from options_of(below)


def test_the_man_page_has_every_command_and_option() -> None:
    page = PAGE.read_text().replace("\\-", "-")
    assert [each for each in options_of(parser_of_all()) if each not in page] == []


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="argparse lays options out otherwise")
def test_the_man_page_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("argparse_manpage", reason="needs argparse-manpage")
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    monkeypatch.setenv("COLUMNS", "72")
    import build_manpage

    assert build_manpage.page() == PAGE.read_text(), "make man"


def test_the_man_page_can_be_read() -> None:
    if shutil.which("man") is None:
        pytest.skip("needs man")
    done = subprocess.run(
        ["man", "--warnings", "-l", str(PAGE)], capture_output=True, text=True, check=True
    )
    assert not re.search("warning|not allowed|unknown", done.stderr)

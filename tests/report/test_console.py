"""What a command prints is text: no part of it is markup, and no part of it moves a cursor."""

from __future__ import annotations

import ast
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.progress import Progress
from rich.table import Table

import scapy_tfo
from scapy_tfo.commands.console import PlainColumn, PlainConsole, make_console
from scapy_tfo.commands.terminal import progress
from scapy_tfo.suite.result import Result, Verdict
from tests.report.sample import result

PACKAGE = Path(scapy_tfo.__file__).parent
HOSTILE = "[/x] [red]o[/red] [link=file:///etc/passwd]a[/link] :smile: \x1b[2J\x07 [ipv4]"
SHOWN = "[/x] [red]o[/red] [link=file:///etc/passwd]a[/link] :smile: \\x1b[2J\\x07 [ipv4]"


def terminal() -> PlainConsole:
    """A terminal whose output is kept."""
    return PlainConsole(file=io.StringIO(), force_terminal=True, width=200, height=50)


def printed(console: PlainConsole) -> str:
    """What a terminal was sent, without its own sequences for colours, cursor and lines."""
    assert isinstance(console.file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())


def test_text_is_printed_as_it_stands() -> None:
    console = terminal()
    console.print(HOSTILE, style="bold red", soft_wrap=True)
    console.rule(HOSTILE)
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE)
    console.print(table)
    assert printed(console).count(SHOWN) == 5


def test_a_progress_bar_shows_text_as_it_stands() -> None:
    console = terminal()
    columns = (PlainColumn("{task.description}"), PlainColumn("{task.fields[last]}"))
    with Progress(*columns, console=console, auto_refresh=False) as bar:
        bar.add_task(HOSTILE, last=HOSTILE)
        bar.refresh()
        bar.console.print(HOSTILE)
    assert printed(console).count(SHOWN) >= 3


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_failure_is_told_with_its_family_and_whatever_a_target_said(
    is_terminal: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    console = terminal() if is_terminal else make_console("never")
    kept: list[Result] = []
    failure = result("ACC-2-accept", Verdict.FAIL, reason=f"echo: {HOSTILE}")
    with progress(console, kept.append, quiet=False) as (_, show):
        show(failure)
    assert kept == [failure]
    told = printed(console) if is_terminal else capsys.readouterr().out
    assert f"ACC-2-accept [ipv4]: echo: {SHOWN}" in told


def test_failures_that_show_one_symptom_are_told_once_while_the_run_goes_on() -> None:
    console = terminal()
    told = ["ACC-3.a", "ACC-3.b", "AFT-2.c", "OPT-1.d", "OPT-1.e"]
    symptoms = ["accepts it", "accepts it", "never closes", "", ""]
    with progress(console, lambda _: None, quiet=False) as (_, show):
        for case, symptom in zip(told, symptoms, strict=True):
            show(replace(result(case, Verdict.FAIL), symptom=symptom))
    lines = [line for line in printed(console).splitlines() if line.startswith("fail ")]
    assert [line.split()[1] for line in lines] == ["ACC-3.a", "AFT-2.c", "OPT-1.d", "OPT-1.e"]


def test_every_console_and_column_is_a_plain_one() -> None:
    """rich takes text for markup unless it is told otherwise: that is done in one place."""
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        where = str(path.relative_to(PACKAGE))
        if where == "commands/console.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func).rpartition(".")[2]
                bare = name == "Progress" and where.startswith("commands") and not node.args
                if bare or name in ("Console", "TextColumn", "TaskProgressColumn", "from_markup"):
                    wrong.append(f"{where}:{node.lineno}: {name}")
    assert not wrong, "use commands/console.py"


def test_a_reader_that_has_gone_is_no_failed_requirement() -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    console = PlainConsole(file=Gone())
    with pytest.raises(BrokenPipeError):
        console.print("anything")

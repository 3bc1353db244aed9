"""`scapy-tfo pkt`: packetdrill scripts, checked and brought into one form."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scapy_tfo import pkt_export_command, pkt_run_command
from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from scapy_tfo.pkt.tree import Script

SUMMARY = "packetdrill scripts: check their syntax, format them"
CHECK = "say whether scripts are in the language; touches no network"
FORMAT = "write scripts in canonical form; comments stay"
_CHECK_TEXT = """Say whether each script is in the language of packetdrill and this project's
additions to it, with values that fit their fields: the first place that is not, with its line and
a caret. With --portable, the
additions are refused too: what passes can be run by packetdrill itself. Touches no network.

exit status: 0 all are, 1 some are not, 2 a file cannot be read"""
_FORMAT_TEXT = """Write each script in canonical form, in place; '-' takes one from standard input
and prints it. Comments, shell commands and code stay as they are.

exit status: 0 done (with --check: nothing to do), 1 a script is not in the language (with --check:
or not in canonical form), 2 a file cannot be read or written"""
_SCHEMA = 1


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`pkt`, and `check`, `fmt`, `run` and `export` below it."""
    parser = commands.add_parser("pkt", help=SUMMARY, allow_abbrev=False)
    group = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, run, summary, description in (
        ("check", _check, CHECK, _CHECK_TEXT),
        ("fmt", _format, FORMAT, _FORMAT_TEXT),
    ):
        command = group.add_parser(
            name,
            help=summary,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.set_defaults(command=run)
        command.add_argument(
            "files", nargs="+", metavar="FILE", help="a script, a directory of them, or '-'"
        )
        if name == "check":
            command.add_argument(
                "--portable", action="store_true", help="refuse what packetdrill does not know"
            )
            command.add_argument(
                "--json", type=Path, metavar="FILE", help="also write the findings as JSON"
            )
        else:
            command.add_argument(
                "--check", action="store_true", help="change nothing, show what would change"
            )
    for name, room in (("run", pkt_run_command), ("export", pkt_export_command)):
        command = group.add_parser(
            name,
            help=room.SUMMARY,
            description=room.DESCRIPTION,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        room.add_arguments(command)


def _check(chosen: argparse.Namespace) -> int:
    results = [_checked(name, portable=chosen.portable) for name in _names(chosen.files)]
    wrong = [result for result in results if result["problem"] is not None]
    if chosen.json is not None:
        summary = {"scripts": len(results), "wrong": len(wrong)}
        _write(
            chosen.json,
            json.dumps({"schema": _SCHEMA, "scripts": results, "summary": summary}, indent=2)
            + "\n",
        )
    what = "script" if len(results) == 1 else "scripts"
    print(f"{len(results)} {what}, {len(wrong)} not in the language")
    return 1 if wrong else 0


def _names(files: Sequence[str]) -> list[str]:
    """The files, and the scripts in and below those that are directories."""
    names: list[str] = []
    for name in files:
        inside = sorted(Path(name).rglob("*.pkt")) if Path(name).is_dir() else [name]
        if not inside:
            raise SetupError(f"no script in {name}: none of its files is called *.pkt")
        names += map(str, inside)
    return names


def _checked(name: str, *, portable: bool) -> dict[str, Any]:
    from scapy_tfo.pkt.errors import ScriptError
    from scapy_tfo.pkt.lint import refuse_nonsense
    from scapy_tfo.pkt.parse import parse
    from scapy_tfo.pkt.portable import refuse_additions
    from scapy_tfo.pkt.settings import Settings, with_options

    result: dict[str, Any] = {"script": name, "problem": None, "line": None, "column": None}
    try:
        text = _read(name)
        script = parse(text, name)
        refuse_nonsense(script, text, name)
        with_options(Settings(), script.options, text, name)
        if portable:
            refuse_additions(script, text, name)
    except ScriptError as error:
        print(_shown(error), file=sys.stderr)
        return result | {"problem": error.problem, "line": error.line, "column": error.column}
    return result | {"events": len(script.events)}


def _format(chosen: argparse.Namespace) -> int:
    from scapy_tfo.pkt.errors import ScriptError
    from scapy_tfo.pkt.parse import parse

    status = 0
    for name in _names(chosen.files):
        text = _read(name)
        try:
            script = parse(text, name)
        except ScriptError as error:
            print(_shown(error), file=sys.stderr)
            status = 1
            continue
        if _formatted(name, text, script, check=chosen.check):
            status = 1
    return status


def _formatted(name: str, text: str, script: Script, *, check: bool) -> bool:
    """Whether --check has something to complain about."""
    from scapy_tfo.pkt.printing import show_script

    new = show_script(script)
    if check:
        sys.stdout.writelines(_difference(name, text, new))
        return new != text
    if name == "-":
        sys.stdout.write(new)
    elif new != text:
        _write(Path(name), new)
    return False


def _difference(name: str, old: str, new: str) -> Sequence[str]:
    from scapy_tfo.report.escape import visible

    lines = difflib.unified_diff(
        visible(old).splitlines(), visible(new).splitlines(), name, f"{name} (canonical)", n=1
    )
    return [f"{line.rstrip()}\n" for line in lines]


def _shown(error: Any) -> str:
    from scapy_tfo.report.escape import visible

    return visible(error.show().expandtabs())


def _read(name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise SetupError(f"cannot read {name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"cannot read {name}: byte {error.start} is not UTF-8") from error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error

"""`scapy-tfo pkt`: check and format packetdrill scripts, and the commands below it."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scapy_tfo.commands.arguments import described
from scapy_tfo.commands.pkt import export, run_options
from scapy_tfo.commands.pkt import run as run_command
from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from scapy_tfo.pkt.language.tree import Script

SUMMARY = "check, format, run and export packetdrill scripts"
DESCRIPTION = """Check, format, run and export packetdrill scripts (*.pkt): text files that say
which packets come and go, when, and which system calls a program makes between
them. The language is packetdrill's, with additions; docs/scripts.md describes
them, and packetdrill/ holds this project's own scripts.

  scapy-tfo pkt check FILE...
      say whether scripts are valid; with --portable, also whether packetdrill
      itself can run them. This does not touch the network
  scapy-tfo pkt fmt FILE...
      rewrite scripts in canonical form; with --check, say what would change
  scapy-tfo pkt run [FILE...]
      run scripts on this machine's kernel, each in a network namespace of its
      own (as root, or where users may make namespaces); without FILE, run this
      project's own scripts
  scapy-tfo pkt run --target HOST:PORT [FILE...]
      run them against a target over the network
  scapy-tfo pkt run [FILE...] --client -- COMMAND {host} {port} {file}
      run client scripts against any client
  scapy-tfo pkt export CAPTURE
      write a script that replays a connection from a capture, or with --case
      the run of a case

A FILE may be a directory, which stands for the scripts in and below it. Scripts
run over IPv4 unless their names or options say otherwise; with --ip-version
all, they run over each version that they are for.

'scapy-tfo pkt COMMAND --help' describes the options of a command.

exit status: 0 all is well, 1 a script is not valid, or failed, 2 wrong usage, a
file cannot be read, or a script cannot be run, 3 the target could not be
judged, 70 an internal error of scapy-tfo, 130 interrupted, 141 the reader of
the output closed it"""
CHECK = "check whether scripts are valid, without touching the network"
FORMAT = "rewrite scripts in canonical form; comments stay"
_CHECK_TEXT = """Check whether each script is valid: in the language of packetdrill with this
project's additions, and with values that fit their fields. The first error of
each script is shown with its line and a caret. With --portable, the additions
are errors, too: packetdrill itself can run what passes. This command does not
touch the network.

exit status: 0 all scripts are valid, 1 some are not, 2 a file cannot be read"""
_FORMAT_TEXT = """Rewrite each script in canonical form, in place; '-' reads a script from
standard input and prints it. Comments, shell commands and code stay as they
are.

exit status: 0 done (with --check: nothing to do), 1 a script is not valid (with
--check: or not in canonical form), 2 a file cannot be read or written"""
_SCHEMA = 1


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`pkt`, and `check`, `fmt`, `run` and `export` below it."""
    parser = described(commands, "pkt", SUMMARY, DESCRIPTION)
    group = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, run, summary, description in (
        ("check", _check, CHECK, _CHECK_TEXT),
        ("fmt", _format, FORMAT, _FORMAT_TEXT),
    ):
        command = described(group, name, summary, description)
        command.set_defaults(command=run)
        command.add_argument(
            "files", nargs="+", metavar="FILE", help="a script, a directory of them, or '-'"
        )
        if name == "check":
            command.add_argument(
                "--portable", action="store_true", help="refuse what packetdrill does not know"
            )
            command.add_argument(
                "--json", type=Path, metavar="FILE", help="also write the results as JSON"
            )
        else:
            command.add_argument(
                "--check", action="store_true", help="change nothing, print what would change"
            )
    for name, room in (("run", run_options), ("export", export)):
        command = described(group, name, room.SUMMARY, room.DESCRIPTION)
        room.add_arguments(command)
        if name == "run":
            command.set_defaults(command=run_command.command)


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
    print(f"{len(results)} {what}, {len(wrong)} not valid")
    return 1 if wrong else 0


def _names(files: Sequence[str]) -> list[str]:
    """The files, and the scripts in and below those that are directories."""
    names: list[str] = []
    for name in files:
        inside = sorted(Path(name).rglob("*.pkt")) if Path(name).is_dir() else [name]
        if not inside:
            raise SetupError(f"no script in {name}: it holds no file named *.pkt")
        names += map(str, inside)
    return names


def _checked(name: str, *, portable: bool) -> dict[str, Any]:
    from scapy_tfo.pkt.checks.calls import refuse_wrong_calls
    from scapy_tfo.pkt.checks.lint import refuse_nonsense
    from scapy_tfo.pkt.checks.portable import refuse_additions
    from scapy_tfo.pkt.language.errors import ScriptError
    from scapy_tfo.pkt.language.parse import parse
    from scapy_tfo.pkt.language.settings import Settings, with_options
    from scapy_tfo.pkt.library import text_of

    result: dict[str, Any] = {"script": name, "problem": None, "line": None, "column": None}
    try:
        text = text_of(_read(name))
        script = parse(text, name)
        refuse_nonsense(script, text, name)
        refuse_wrong_calls(script, text, name)
        with_options(Settings(), script.options, text, name)
        if portable:
            refuse_additions(script, text, name)
    except ScriptError as error:
        print(_shown(error), file=sys.stderr)
        return result | {"problem": error.problem, "line": error.line, "column": error.column}
    return result | {"events": len(script.events)}


def _format(chosen: argparse.Namespace) -> int:
    from scapy_tfo.pkt.language.errors import ScriptError
    from scapy_tfo.pkt.language.parse import parse

    status = 0
    for name in _names(chosen.files):
        try:
            text = _read(name).decode("utf-8")
            script = parse(text, name)
        except UnicodeDecodeError as error:
            # What it means in another encoding is not known, so it cannot be written anew.
            print(f"cannot read {name}: byte {error.start} is not UTF-8", file=sys.stderr)
            status = 2
            continue
        except ScriptError as error:
            print(_shown(error), file=sys.stderr)
            status = max(status, 1)
            continue
        if _formatted(name, text, script, check=chosen.check):
            status = max(status, 1)
    return status


def _formatted(name: str, text: str, script: Script, *, check: bool) -> bool:
    """Whether --check has something to complain about."""
    from scapy_tfo.commands.output import write_script
    from scapy_tfo.pkt.language.printing import show_script

    new = show_script(script)
    if check:
        sys.stdout.writelines(_difference(name, text, new))
        return new != text
    if name == "-":
        write_script(new)
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


def _read(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise SetupError(f"cannot read {name}: {error.strerror}") from error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error

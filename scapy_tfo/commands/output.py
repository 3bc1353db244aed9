"""Makes all that a command prints fit for a terminal, in the one place where it leaves.

Names, answers, comments and error texts come from targets, captures, stores and other programs.
None of their control characters may reach a terminal, which would move its cursor, change its
title, or hide what stands before.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ParamSpec, TextIO, TypeVar, cast

from scapy_tfo.errors import SetupError
from scapy_tfo.report.escape import visible

_Parameters = ParamSpec("_Parameters")
_Returned = TypeVar("_Returned")


class Fitted:
    """A text stream that writes control characters as escapes, all but the line feed, and so what
    the stream's encoding lacks. stream: where to."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        encoding = self.stream.encoding or "utf-8"
        self.stream.write(visible(text).encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for each in lines:
            self.write(each)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def fitted(command: Callable[_Parameters, _Returned]) -> Callable[_Parameters, _Returned]:
    """The command, with standard output and standard error fitted while it runs."""

    @functools.wraps(command)
    def run(*positional: _Parameters.args, **named: _Parameters.kwargs) -> _Returned:
        streams = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = (cast(TextIO, Fitted(bare(each))) for each in streams)
        try:
            return command(*positional, **named)
        finally:
            sys.stdout, sys.stderr = streams

    return run


def bare(stream: TextIO) -> TextIO:
    """The stream below, for who writes colours and has made the text fit."""
    return stream.stream if isinstance(stream, Fitted) else stream


def check_out(directory: Path | None) -> None:
    """Find out before a run whether its reports can be written, and say on standard error which
    ones of an earlier run they replace. Raises SetupError."""
    from scapy_tfo.report.output import check_writable, earlier_reports

    check_writable(directory)
    if earlier := earlier_reports(directory):
        print(
            f"scapy-tfo: {directory} holds reports of an earlier run, which this one replaces:"
            f" {', '.join(earlier)}",
            file=sys.stderr,
        )


def write_script(text: str) -> None:
    """Print a script byte for byte, since escapes would change what it does; tabs harm nobody.

    Raises SetupError where it has other control characters.
    """
    for number, line in enumerate(text.split("\n"), 1):
        plain = line.replace("\t", "")
        if visible(plain) != plain:
            raise SetupError(
                f"line {number} of the script holds control characters, which a terminal would act"
                " on: format the file in place"
            )
    bare(sys.stdout).write(text)

"""The error that names a problem in a script and its place."""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo.errors import SetupError


class ScriptError(SetupError):
    """A script that is not in the language, with the place in it.

    `str` of it is one line, `FILE:LINE:COLUMN: what is wrong`; `show()` adds the line and a caret.
    """

    def __init__(self, problem: str, *, name: str, text: str, line: int, column: int) -> None:
        """problem: what is wrong. name: of the script. line, column: counted from 1."""
        super().__init__(f"{name}:{line}:{column}: {problem}")
        self.problem = problem
        self.name = name
        self.line = line
        self.column = column
        lines = text.split("\n")
        self.source = lines[line - 1].rstrip("\r") if line <= len(lines) else ""

    def show(self) -> str:
        """The message, the script's line, and a caret below the place."""
        # Tabs are repeated below, so that the caret stands right however wide they are shown.
        margin = "".join("\t" if sign == "\t" else " " for sign in self.source[: self.column - 1])
        return f"{self}\n  {self.source}\n  {margin}^"

    def __reduce__(self) -> tuple[Callable[..., ScriptError], tuple[object, ...]]:
        values = (self.problem, self.name, self.source, self.line, self.column)
        return _again, values


def _again(problem: str, name: str, source: str, line: int, column: int) -> ScriptError:
    text = "\n" * (line - 1) + source
    return ScriptError(problem, name=name, text=text, line=line, column=column)

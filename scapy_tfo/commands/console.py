"""The console that commands print to with rich, and the columns of their progress bars."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import Task, TextColumn
from rich.segment import Segment
from rich.text import Text

from scapy_tfo.commands.output import bare
from scapy_tfo.report.escape import visible


class PlainConsole(Console):
    """A console to which text is only text: `[red]` and `:smile:` are printed as they stand, and
    control characters as escapes, but for rich's own. What a target or a user says goes through
    it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def render_str(self, text: str, **how: Any) -> Text:
        # Here, too: rich leaves some control characters out without a trace.
        return super().render_str(visible(text), **how)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Whoever read our output has gone. rich would exit with 1, which says that a requirement
        failed; `cli` decides."""
        self.quiet = True
        raise BrokenPipeError


def make_console(color: str = "auto", *, stderr: bool = False) -> Console:
    """A console on standard output, or on standard error. color: auto (a terminal without
    NO_COLOR), always, never."""
    return PlainConsole(
        file=bare(sys.stderr if stderr else sys.stdout),
        force_terminal=True if color == "always" else None,
        no_color=color == "never" or None,
    )


class PlainColumn(TextColumn):
    """A column of a progress bar, likewise. text_format: with {task...} for what changes."""

    def render(self, task: Task) -> Text:
        return Text(visible(self.text_format.format(task=task)))

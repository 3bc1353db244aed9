"""A run as text: for `report.txt`, for a pipe, and with colour for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING

from scapy_tfo.report.commands import Commands
from scapy_tfo.report.diagram import WIDTH, Trace
from scapy_tfo.report.escape import one_line, visible
from scapy_tfo.report.outline import (
    HEADINGS,
    Outline,
    Requirements,
    cite,
    evidence,
    label,
    labels,
    load_requirements,
    why,
)
from scapy_tfo.suite.result import Result, Run, Standing
from scapy_tfo.units import plural

if TYPE_CHECKING:
    from rich.console import Console

Line = tuple[tuple[str, str], ...]
"""Pieces of one line, each with the name of its style ("" for none)."""

_STYLES = {
    "head": "bold",
    "dim": "dim",
    Standing.FAIL: "bold red",
    Standing.FIXED: "bold red",
    Standing.WARNING: "yellow",
    Standing.KNOWN: "magenta",
    Standing.INCONCLUSIVE: "cyan",
    Standing.UNSUPPORTED: "blue",
    Standing.SKIPPED: "dim",
    Standing.PASS: "green",
}
_TERMINAL_BLOCKS = 12
_TERMINAL_MEMBERS = 3
"""Failures that a terminal shows in full, and members of a group; report.txt has all of them."""

_ALWAYS = (
    Standing.PASS,
    Standing.FAIL,
    Standing.INCONCLUSIVE,
    Standing.UNSUPPORTED,
    Standing.SKIPPED,
)


def summary(
    run: Run,
    *,
    strict: bool = False,
    catalogue: Requirements | None = None,
    trace: Trace | None = None,
    commands: Commands | None = None,
) -> str:
    """The whole report as plain text, 100 columns wide, without colour.

    catalogue: the requirements, where not those of specs/. trace: the run's packets, where
    already indexed. commands: to tell with each failure, where there is a capture. Raises
    SetupError where specs/ is needed and cannot be read.
    """
    outline = Outline(run, strict=strict)
    layout = _Layout(outline, catalogue, trace or Trace(run.packets), commands)
    return "\n".join(_plain(line) for line in layout.lines()) + "\n"


def print_summary(
    run: Run,
    console: Console,
    *,
    strict: bool = False,
    catalogue: Requirements | None = None,
    trace: Trace | None = None,
    commands: Commands | None = None,
) -> None:
    """Print the report in short, coloured where the console is: the first dozen failures in full,
    a few members of each group, and how many facts were recorded.

    Characters that the console's encoding lacks are shown as escapes.
    """
    from rich.text import Text

    width = max(60, min(console.width, WIDTH))
    outline = Outline(run, strict=strict)
    trace = trace or Trace(run.packets)
    layout = _Layout(outline, catalogue, trace, commands, width, _TERMINAL_BLOCKS)
    for line in layout.lines():
        text = Text()
        for piece, style in line:
            fit = piece.encode(console.encoding, "backslashreplace").decode(console.encoding)
            text.append(fit, _STYLES.get(style, ""))
        console.print(text, soft_wrap=True, highlight=False)


class _Layout:
    """Lines of the report. width: in columns. blocks: most failures told in full, None for all."""

    def __init__(
        self,
        outline: Outline,
        catalogue: Requirements | None,
        trace: Trace,
        commands: Commands | None = None,
        width: int = WIDTH,
        blocks: int | None = None,
    ) -> None:
        self.outline = outline
        self.catalogue = catalogue
        self.trace = trace
        self.commands = commands
        self.width = width
        self.blocks = blocks

    @property
    def is_short(self) -> bool:
        """For a terminal; the files of the run have the rest."""
        return self.blocks is not None

    def lines(self) -> Iterator[Line]:
        yield from self._header()
        # On a terminal, what is printed last is what is seen.
        if not self.is_short:
            yield _line()
            yield from self._table()
        for places, heading in HEADINGS:
            yield from self._failures(places, heading)
        yield from self._groups(
            Standing.INCONCLUSIVE,
            "INCONCLUSIVE",
            "packets lost, silence proves nothing, or another cause",
        )
        yield from self._groups(
            Standing.UNSUPPORTED,
            "UNSUPPORTED",
            "this target does not do it, or cannot be asked: no fault",
        )
        yield from self._groups(Standing.SKIPPED, "SKIPPED", "what it takes to run them")
        yield from self._observations()
        yield from self._notes()
        if self.is_short:
            yield _line()
            yield from self._table()
        yield _line()
        worst = Standing.FAIL if self.outline.exit_status else Standing.PASS
        if self.width < WIDTH:
            yield from self._wrapped(self.outline.verdict_line(), "", worst)
        else:
            yield _line(self.outline.verdict_line(), worst)

    def _header(self) -> Iterator[Line]:
        run = self.outline.run
        yield _line(f"TCP Fast Open conformance of {one_line(run.target)}", "head")
        yield from self._wrapped(
            f"{one_line(run.tool)}, {self.outline.date}, {run.seconds:.2f} s,"
            f" {len(run.results)} cases, {len(run.packets)} packets",
            "",
        )
        watched = self.outline.run.watched
        if watched:
            yield from self._wrapped(
                f"beside the cases, {len(watched)} rules of TCP were held against what the target"
                f" sent, {sum(watched.values()):,} times",
                "",
            )
        if self.outline.strict:
            yield _line("strict: a failed SHOULD fails the run")

    def _table(self) -> Iterator[Line]:
        counts = self.outline.counts
        extra = (Standing.WARNING, Standing.KNOWN, Standing.FIXED)
        columns = [*_ALWAYS, *(place for place in extra if counts[place])]
        least = 9 if self.width >= WIDTH else 0
        heads = [f"{place.value:>{max(len(place.value) + 2, least)}}" for place in columns]
        yield _line(f"{'section':<9}" + "".join(heads), "head")
        for name, row in [*self.outline.sections.items(), ("all", counts)]:
            cells = (
                (f"{row[place] or '.':>{len(head)}}", place if row[place] else "dim")
                for place, head in zip(columns, heads, strict=True)
            )
            yield ((f"{name:<9}", "head" if name == "all" else ""), *cells)

    def _failures(self, places: tuple[Standing, ...], heading: str) -> Iterator[Line]:
        results = self.outline.of(*places)
        if not results:
            return
        yield from self._heading(f"{heading} ({len(results)})", places[0])
        results = self.outline.leads(*places)
        full = results[: self.blocks]
        for number, result in enumerate(full, 1):
            if number > 1:
                yield _line()
            yield from self._block(number, result)
        for result in results[len(full) :]:
            yield _line(f"    {one_line(label(result))}", places[0])

    def _block(self, number: int, result: Result) -> Iterator[Line]:
        place = self.outline.standing_of(result)
        name, said = one_line(label(result)), f"{place.value.upper()}, {result.level.value}"
        if len(name) + len(said) + 6 <= self.width:
            yield (f"{number:>3} ", "dim"), (f"{name}  {said}", place)
        else:
            yield (f"{number:>3} ", "dim"), (name, place)
            yield _line(f"    {said}", place)
        yield from self._wrapped(result.title, "    ", "head")
        for each in result.requirements:
            yield from self._wrapped(cite(each, self._requirements()), "    ")
        yield from self._wrapped(f"why: {why(result, place)}", "    ")
        witnesses = self._witnesses(result)
        if witnesses:
            yield from self._wrapped(witnesses, "    ")
        if result.expected or result.actual:
            yield from self._side_by_side(result.expected, result.actual)
        yield from self._wrapped(evidence(result), "    ", "dim")
        command = self.commands.command(result) if self.commands else ""
        if command:
            # In one line, however long: it is there to be copied.
            yield _line(f"    {one_line(command)}", "dim")
        diagram = self.trace.draw(result, self.width)
        if diagram:
            yield _line()
            for line in diagram.split("\n"):
                yield _line(line, "head" if line.lstrip().startswith("*") else "")

    def _witnesses(self, lead: Result) -> str:
        """The cases that met the same fault, as a sentence, or ""."""
        cases = [each.case for each in self.outline.witnesses(lead)]
        if not cases:
            return ""
        shown = cases if self.blocks is None else cases[:_TERMINAL_MEMBERS]
        more = f", and {len(cases) - len(shown)} more" if len(cases) > len(shown) else ""
        others = "1 other case" if len(cases) == 1 else f"{len(cases)} other cases"
        concerns = f"concerns {', '.join(lead.concerns)}; " if lead.concerns else ""
        return f"{concerns}also seen by {others}: {', '.join(shown)}{more}"

    def _side_by_side(self, expected: str, actual: str) -> Iterator[Line]:
        column = (self.width - 7) // 2
        yield _line(f"    {'expected':<{column}} | actual", "dim")
        for left, right in zip_longest(
            _folded(expected, column), _folded(actual, column), fillvalue=""
        ):
            yield (
                (f"    {left:<{column}}", Standing.PASS),
                (" | ", "dim"),
                (right, Standing.FAIL),
            )

    def _groups(self, place: Standing, heading: str, meaning: str) -> Iterator[Line]:
        groups = self.outline.groups(place)
        if not groups:
            return
        yield from self._heading(f"{heading} ({self.outline.counts[place]}): {meaning}", place)
        for group in groups:
            yield from self._wrapped(group.reason or "no reason given", "  ")
            members = labels(group.results)
            if self.is_short and len(members) > _TERMINAL_MEMBERS:
                members = [
                    *members[:_TERMINAL_MEMBERS],
                    f"and {len(members) - _TERMINAL_MEMBERS} more",
                ]
            yield from self._wrapped(", ".join(members), "      ", "dim")

    def _observations(self) -> Iterator[Line]:
        observations = self.outline.observations()
        if not observations:
            return
        if self.is_short:
            facts = plural(len(observations), "fact")
            yield from self._heading(f"OBSERVED: {facts}, listed in report.txt")
            return
        yield from self._heading("OBSERVED: what this target does where the sources leave it open")
        case = ""
        for each in observations:
            if each.case != case:
                case = each.case
                yield _line(f"  {one_line(case)}", "dim")
            yield from self._wrapped(f"{each.what}: {each.seen}  ({each.families})", "      ")

    def _notes(self) -> Iterator[Line]:
        if self.outline.run.notes:
            yield from self._heading("NOTES")
        for note in self.outline.run.notes:
            yield from self._wrapped(note, "  ")

    def _heading(self, text: str, style: str = "head") -> Iterator[Line]:
        yield _line()
        yield _line(text, style)

    def _wrapped(self, text: str, indent: str, style: str = "") -> Iterator[Line]:
        for line in _folded(text, self.width - len(indent)):
            yield _line(indent + line, style)

    def _requirements(self) -> Requirements:
        if self.catalogue is None:
            self.catalogue = load_requirements()
        return self.catalogue


def _line(text: str = "", style: str = "") -> Line:
    return ((text, style),)


def _plain(line: Iterable[tuple[str, str]]) -> str:
    return "".join(piece for piece, _ in line).rstrip()


def _folded(text: str, width: int) -> list[str]:
    return [
        line
        for paragraph in visible(text).split("\n")
        for line in (
            [paragraph]
            if len(paragraph) <= width
            else wrap(paragraph, width, break_on_hyphens=False)
        )
    ]

"""A run as TAP 14 (testanything.org), in the part of it that is KTAP, too: the kernel's selftests
and kunit.py read it.

A FAIL that fails the run is `not ok`. INCONCLUSIVE, UNSUPPORTED, SKIPPED and known failures are
`ok` with `# SKIP` and the reason, as in JUnit. Details are comments, since KTAP has no YAML.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.report.escape import one_line
from scapy_tfo.report.outline import Outline, evidence, label, why
from scapy_tfo.suite.result import Result, Run, Standing

_SKIPPED = (Standing.INCONCLUSIVE, Standing.UNSUPPORTED, Standing.SKIPPED, Standing.KNOWN)


def tap(run: Run, *, strict: bool = False) -> str:
    """The run as TAP."""
    return "\n".join(_lines(Outline(run, strict=strict))) + "\n"


def write_tap(run: Run, path: Path, *, strict: bool = False) -> None:
    """Write it to a file. Raises SetupError where that is not possible."""
    try:
        path.write_text(tap(run, strict=strict), encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write the TAP report {path}: {error.strerror}") from error


def _lines(outline: Outline) -> Iterator[str]:
    run = outline.run
    yield "TAP version 14"
    yield f"1..{len(run.results)}" if run.results else "1..0 # SKIP no case was judged"
    yield _comment(f"{run.tool} at {run.target}")
    for number, (result, place) in enumerate(outline.standings, 1):
        yield from _test(number, result, place)
    yield _comment(outline.verdict_line())
    if run.interrupted or run.gone:
        yield f"Bail out! {one_line(run.gone or 'interrupted before the end')}"


def _test(number: int, result: Result, place: Standing) -> Iterator[str]:
    outcome = "not ok" if place.fails_run else "ok"
    line = f"{outcome} {number} - {_escaped(label(result))}"
    reason = one_line(why(result, place))
    if place in _SKIPPED:
        told = reason if place is Standing.SKIPPED else f"{place.value}: {reason}"
        line += f" # SKIP {told}"
    yield line
    if place.fails_run or place is Standing.WARNING:
        yield _comment(f"{place.value} ({result.level.value}): {reason}")
        yield _comment(f"requirements: {', '.join(result.requirements)}")
        yield _comment(f"expected: {result.expected}")
        yield _comment(f"actual: {result.actual}")
        yield _comment(evidence(result))


def _comment(text: str) -> str:
    return f"# {one_line(text)}"


def _escaped(text: str) -> str:
    """A description in which no directive can begin."""
    return one_line(text).replace("\\", "\\\\").replace("#", "\\#")

"""Arguments, progress and files that the experiments of `scapy-tfo gain` share."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scapy_tfo.commands.arguments import count
from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.gain.link_shape import Line
from scapy_tfo.gain.names import AUTO, LINKS, NETEM, OWN, VETH, VIRTUAL
from scapy_tfo.units import seconds_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from scapy_tfo.gain.measuring.estimate import Estimate
    from scapy_tfo.gain.measuring.rounds import Tell

SCHEMA = 5
"""Version of the files with figures."""

_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)%?")
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kMG]?)(?:bit/s)?")
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_LEAST_RATE = 8e3
_PACKET = 1500
_INTERRUPTED = 130
_LONGEST = 10.0
_DRAWN = (".png", ".svg")
_MAKERS = {
    OWN: "our own emulator",
    NETEM: "the kernel's netem",
    VETH: "a veth pair with nothing in between",
    VIRTUAL: "the model of one, on virtual time",
}

T = TypeVar("T")


def times(text: str) -> list[float]:
    """`20ms,0.1s` in seconds. Raises ArgumentTypeError."""
    try:
        given = [seconds_of(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}': write times as 20ms,0.1s") from None
    if max(given) > _LONGEST:
        raise argparse.ArgumentTypeError(
            f"'{text}': the longest time is {_LONGEST:g}s (write ms as 20ms)"
        )
    return list(dict.fromkeys(given))


def counts(text: str) -> list[int]:
    """`1000,100000`, each from 1 on. Raises ArgumentTypeError."""
    if not all(each.isascii() and each.isdigit() and int(each) for each in text.split(",")):
        raise argparse.ArgumentTypeError(f"'{text}': write numbers of 1 or more, as 1000,100000")
    return list(dict.fromkeys(int(each) for each in text.split(",")))


def bit_rate(text: str) -> float:
    """`256k` in bits a second. Raises ArgumentTypeError."""
    found = _RATE.fullmatch(text)
    if found is None or not float(found[1]):
        raise argparse.ArgumentTypeError(f"'{text}': write bits a second as 4M or 256k")
    rate = float(found[1]) * _UNITS[found[2]]
    if rate < _LEAST_RATE:
        raise argparse.ArgumentTypeError(
            f"'{text}': the least rate is 8k, at which a packet takes 1.5 s"
        )
    return rate


def queue_size(text: str) -> int:
    """Bytes that hold a packet. Raises ArgumentTypeError."""
    size = count(text)
    if size < _PACKET:
        raise argparse.ArgumentTypeError(
            f"'{text}': the least size is {_PACKET}, that of one packet"
        )
    return size


def one_time(text: str) -> float:
    """`2ms` in seconds. Raises ArgumentTypeError."""
    if re.fullmatch(r"[0-9.]*[1-9][0-9.]*", text):
        raise argparse.ArgumentTypeError(f"'{text}': write the time with its unit, as 2ms")
    found = times(text)
    if len(found) > 1:
        raise argparse.ArgumentTypeError(f"'{text}': write a single time, as 2ms")
    return found[0]


def percent(most: int) -> Callable[[str], float]:
    """A reader of percent, from 0 to so many, as a part of one. Raises ArgumentTypeError."""

    def read(text: str) -> float:
        found = _PERCENT.fullmatch(text)
        if found is None or float(found[1]) > most:
            raise argparse.ArgumentTypeError(
                f"'{text}': write percent from 0 to {most}, as 1 or 0.5"
            )
        return float(found[1]) / 100

    return read


def some_of(*names: str) -> Callable[[str], list[str]]:
    """A reader of `A,B`, each one of the names; `all` for all of them."""

    def read(text: str) -> list[str]:
        if text == "all":
            return list(names)
        wanted = text.split(",")
        for each in wanted:
            if each not in names:
                there = ", ".join(names)
                raise argparse.ArgumentTypeError(f"'{each}': choose from {there}, or all")
        return list(dict.fromkeys(wanted))

    return read


def add_line(parser: argparse.ArgumentParser, usual: Line) -> None:
    """What a link does beside its delay, each None where it is not given. usual: without them."""
    group = parser.add_argument_group("the link")
    add = group.add_argument
    add("--link", choices=LINKS, help="the emulator: netem or our own (default: auto)")
    for name, way, example in (("down", "to the client", "4M"), ("up", "from the client", "256k")):
        rate = getattr(usual, name)
        told = f"as {example}" if rate is None else f"default: {example}"
        add(f"--{name}", type=bit_rate, metavar="RATE", help=f"bits a second {way} ({told})")
    told = f"size of the queue before each rate (default: {usual.queue})"
    add("--queue", type=queue_size, metavar="BYTES", help=told)
    add(
        "--jitter",
        type=one_time,
        metavar="TIME",
        help="up to this much extra delay each way, as 2ms",
    )
    add("--loss", type=percent(10), metavar="PERCENT", help="packets lost, each way")
    add("--duplicate", type=percent(100), metavar="PERCENT", help="packets that arrive twice")
    add("--reorder", type=percent(100), metavar="PERCENT", help="packets held back for 10 ms")


def line_of(chosen: argparse.Namespace, usual: Line) -> Line:
    """The link that was asked for. Raises SetupError for a queue before no rate."""
    names = (each.name for each in fields(usual))
    given = {name: value for name in names if (value := getattr(chosen, name)) is not None}
    line = replace(usual, **given)
    if "queue" in given and line.down is None and line.up is None:
        raise SetupError("--queue applies to a limited rate: give --down or --up, too")
    return line


def check_virtual(chosen: argparse.Namespace, line: Line, *names: str) -> None:
    """Raises SetupError for options of these names that say nothing on virtual time."""
    given = [f"--{each.replace('_', '-')}" for each in names if getattr(chosen, each)]
    if line.link != AUTO:
        given.append("--link")
    if chosen.virtual and given:
        raise SetupError(f"{', '.join(given)} cannot be combined with --virtual")


def add_outputs(parser: argparse.ArgumentParser, *, plot: bool) -> None:
    """`--json`, `--plot` where there is something to draw, `--color`."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures as JSON")
    if plot:
        parser.add_argument(
            "--plot", type=Path, metavar="FILE", help="also draw them, to a .png or .svg"
        )
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")


def check_outputs(chosen: argparse.Namespace) -> Console:
    """The console; raises SetupError where a file that is asked for cannot be written, or what
    that or the intervals take is missing: after an hour of measuring it would be too late."""
    from scapy_tfo.commands.console import make_console
    from scapy_tfo.report.output import check_file

    plot = getattr(chosen, "plot", None)
    for path in filter(None, (chosen.json, plot)):
        check_file(path)
    if plot is not None:
        from scapy_tfo.gain.chart import import_pyplot

        if plot.suffix not in _DRAWN:
            raise SetupError(f"cannot write {plot}: a chart's name ends in {' or '.join(_DRAWN)}")
        import_pyplot()
    from scapy_tfo.gain.measuring.estimate import import_numpy

    import_numpy()
    return make_console(chosen.color)


Broken = KeyboardInterrupt | SetupError | TargetError


def collect(
    console: Console, found: Callable[[Tell], Iterable[T]], wanted: int
) -> tuple[list[T], Broken | None]:
    """What was measured, with a progress bar of so many steps, and what ended it early. found: gets
    what takes a line for whoever waits. Raises what ended it where nothing was measured before."""
    kept: list[T] = []
    with _progress(console, wanted) as (advance, tell):
        try:
            for each in found(tell):
                kept.append(each)
                advance()
        except (KeyboardInterrupt, SetupError, TargetError) as error:
            if not kept:
                raise
            return kept, error
    return kept, None


def status(kept: Sequence[object], wanted: int, broken: Broken | None, whole: int = 0) -> int:
    """The exit status, `whole` where nothing ended it early; else a word on standard error says
    so. Raises what ended it, except for Ctrl-C."""
    if broken is None:
        return whole
    what = "interrupted" if isinstance(broken, KeyboardInterrupt) else "broken off"
    print(f"scapy-tfo: {what}: {len(kept)} of {wanted} measured", file=sys.stderr)
    if not isinstance(broken, KeyboardInterrupt):
        raise broken
    return _INTERRUPTED


def tell_few(console: Console, pairs: int) -> None:
    """Say so where an interval is of too few pairs: that of one has no width at all."""
    from scapy_tfo.gain.measuring.estimate import LEAST_PAIRS

    if pairs < LEAST_PAIRS:
        said = f"The intervals are from fewer than {LEAST_PAIRS} pairs: too narrow for 95 %."
        console.print(said)


def shown(estimate: Estimate | None, digits: int = 2) -> str:
    """A value, and how far its interval reaches to the further side."""
    if estimate is None:
        return "-"
    return f"{estimate.value:z,.{digits}f} ±{estimate.reach:,.{digits}f}"


def make_table(title: str, *columns: str, left: int = 0) -> Table:
    """Narrow enough for 80 columns. left: so many columns are text, the others numbers."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for number, name in enumerate(columns):
        text = number < left
        table.add_column(name, justify="left" if text else "right", no_wrap=text)
    return table


def circumstances(began: float) -> dict[str, Any]:
    """Of a measurement that began then, in seconds since 1970: with what, on what and when."""
    import platform
    from datetime import UTC, datetime

    from scapy_tfo import __version__

    return {
        "tool": f"scapy-tfo {__version__}",
        "kernel": platform.release(),
        "time": datetime.fromtimestamp(began, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def tell_circumstances(
    console: Console, around: Mapping[str, Any], line: Line | None, links: Iterable[str]
) -> None:
    """The same in a line, with the links that were used. line: None where none was ours."""
    said = f"{around['tool']}, Linux {around['kernel']}, {around['time']}"
    if line is not None:
        from scapy_tfo.gain.link import why_own

        made = {each: _MAKERS[each] for each in links}
        if OWN in made and (why := why_own(line)):
            made[OWN] += f" ({why})"
        if made:
            said += f". Link: {', '.join(filter(None, (*made.values(), line.tells)))}"
    console.print(f"{said}.", highlight=False, soft_wrap=True)


def write_figures(
    path: Path, experiment: str, around: Mapping[str, Any], plan: Any, **found: Any
) -> None:
    """Write the plan and what was found as JSON, with the circumstances. Raises SetupError."""
    import json

    figures = {
        "schema": SCHEMA,
        "experiment": experiment,
        **around,
        "plan": asdict(plan),
        **found,
    }
    try:
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def _progress(console: Console, wanted: int) -> Iterator[tuple[Callable[[], None], Tell]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress

    from scapy_tfo.commands.console import PlainColumn

    columns = (BarColumn(), MofNCompleteColumn(), PlainColumn("{task.description}"))
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task("", total=wanted)
        yield (
            lambda: progress.advance(task),
            lambda said: progress.update(task, description=said),
        )

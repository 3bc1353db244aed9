"""The figures of a soak: as text, as saved JSON, and as the table in docs/trust.md."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.report.escape import encodable, one_line
from scapy_tfo.runner.record import TOOL
from scapy_tfo.shape import fault_of, sentence
from scapy_tfo.suite.result import Verdict
from scapy_tfo.trust.soak import Change, Soak, Trial, wilson

SCHEMA = 1

BEGIN, END = "<!-- soak: begin -->", "<!-- soak: end -->"
"""The lines of a document between which the table stands."""

Figures = dict[str, Any]

_SAVED: dict[str, Any] = {
    **dict.fromkeys(("tool", "target", "system", "impairment"), str),
    **dict.fromkeys(("runs", "case_runs", "failed_runs", "retries", "contradictions"), int),
    "verdicts": {"fail": int, "inconclusive": int},
    "seconds": float,
    "flake_rate": list,
    "troubles": list,
}
"""What a table is made of: the fields of saved figures, with their types."""

_SHOWN = 40
"""Most changes of verdict that the text lists."""

_COLUMNS = (
    *("target", "path", "runs", "case-runs", "FAIL", "contradictions", "inconclusive"),
    *("flake rate (95 % interval)", "retries", "seconds"),
)
_RULE = "|---|---|--:|--:|--:|--:|--:|---|--:|--:|"


def figures_of(found: Soak) -> Figures:
    """The figures as plain dicts, lists, strings and numbers; a rate as [rate, low, high]."""
    return {
        "schema": SCHEMA,
        "tool": TOOL,
        "target": encodable(found.target),
        "system": system(),
        "impairment": found.impairment,
        "slow": found.slow,
        "first_seed": found.first_seed,
        "seconds": round(found.seconds, 3),
        "runs": found.runs,
        "case_runs": found.case_runs,
        "failed_runs": found.failed_runs,
        "retries": found.retries,
        "verdicts": {verdict.value: count for verdict, count in found.verdicts.items()},
        "flakes": found.flakes,
        "contradictions": found.contradictions,
        "failed_run_rate": _rate(found.failed_runs, found.runs),
        "flake_rate": _rate(found.flakes, found.case_runs),
        "fails": [_record(each) for each in found.fails],
        "changes": [_record(each) for each in found.changes],
        "troubles": [encodable(each) for each in found.troubles],
        "left": found.left,
    }


def trial_record(trial: Trial) -> dict[str, Any]:
    """One run, for a journal: the counts of its verdicts, and the cases that did not pass."""
    counts = Counter(each.verdict for each in trial.case_runs)
    others = [each for each in trial.case_runs if each.verdict is not Verdict.PASS]
    return {
        "seed": trial.seed,
        "seconds": round(trial.seconds, 3),
        "trouble": encodable(trial.trouble),
        "verdicts": {verdict.value: counts[verdict] for verdict in Verdict},
        "others": [
            {
                "case": each.case,
                "family": each.family,
                "verdict": each.verdict.value,
                "reason": encodable(each.reason),
                "attempts": each.attempts,
            }
            for each in others
        ],
    }


def system() -> str:
    """What this machine is, in one line."""
    python = platform.python_version()
    return f"{platform.system()} {platform.release()}, Python {python}, {os.cpu_count()} processors"


def status_of(figures: Sequence[Figures]) -> int:
    """The exit status that stands for all of them: see `Soak.exit_status`."""
    if any(each["failed_runs"] for each in figures):
        return 1
    return 3 if any(each["troubles"] for each in figures) else 0


def told(found: Soak) -> list[str]:
    """The figures as lines for a terminal: the rates, then what failed and what changed."""
    figures = figures_of(found)
    counts = [f"{count} {name}" for name, count in figures["verdicts"].items() if count]
    lines = [
        f"{one_line(found.target)} ({found.impairment or 'nothing impaired'}): {found.runs} runs, "
        f"{found.case_runs} case-runs, {found.seconds:.0f} s",
        f"  verdicts        {', '.join(counts)}",
        f"  runs that fail  {found.failed_runs}: {_spoken(figures['failed_run_rate'])}",
        f"  flakes          {found.flakes}: {_spoken(figures['flake_rate'])}",
        f"  contradictions  {found.contradictions}",
        f"  retries         {found.retries}",
    ]
    lines += (f"  trouble         {one_line(each)}" for each in found.troubles)
    always = [each for each in found.fails if each.usual is each.verdict]
    # Verdicts that deny each other first: what loss leaves open matters least.
    changes = sorted(found.changes, key=lambda each: not each.contradicts)
    listed = [*always, *changes]
    lines += map(_line, listed[:_SHOWN])
    if len(listed) > _SHOWN:
        lines.append(f"  ... and {len(listed) - _SHOWN} more, which --json saves")
    return lines


def _line(each: Change) -> str:
    what = each.verdict.name
    if each.usual is not each.verdict:
        what = f"{each.usual.name} -> {what}"
    seeds = ", ".join(map(str, each.seeds)) + (", ..." if each.runs > len(each.seeds) else "")
    where = f"{each.case} [ipv{each.family}]"
    return f"  {what} in {each.runs} (seed {seeds}) {where}: {one_line(each.reason)}"


def _record(each: Change) -> Figures:
    return {
        "case": each.case,
        "family": each.family,
        "usual": each.usual.value,
        "verdict": each.verdict.value,
        "runs": each.runs,
        "seeds": list(each.seeds),
        "reason": encodable(each.reason),
    }


def _rate(events: int, trials: int) -> list[float]:
    interval = wilson(events, trials)
    return [events / trials, interval.low, interval.high]


def _spoken(rate: Sequence[float]) -> str:
    return f"{_percent(rate[0])} (95 % interval {_percent(rate[1])} to {_percent(rate[2])})"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.1f} %"


def markdown(figures: Sequence[Figures]) -> str:
    """A table with a row for each, and a line of totals for simulated and for live runs."""
    lines = [f"| {' | '.join(_COLUMNS)} |", _RULE, *map(_row, figures)]
    systems = dict.fromkeys(f"{each['tool']} on {each['system']}" for each in figures)
    for kind in ("simulated", "live"):
        alike = [each for each in figures if (kind == "simulated") == _is_simulated(each)]
        if alike:
            lines += ["", _totals(kind, alike)]
    lines += ["", f"Measured by {'; '.join(systems)}."]
    return "\n".join(lines) + "\n"


def _is_simulated(figures: Figures) -> bool:
    return str(figures["target"]).startswith("sim:")


def _row(each: Figures) -> str:
    cells = [
        f"`{each['target']}`",
        each["impairment"] or "clean",
        f"{each['runs']:,}",
        f"{each['case_runs']:,}",
        f"{each['verdicts']['fail']:,}",
        f"{each['contradictions']:,}",
        f"{each['verdicts']['inconclusive']:,}",
        _spoken(each["flake_rate"]).replace("95 % interval ", ""),
        f"{each['retries']:,}",
        f"{each['seconds']:,.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def _totals(kind: str, figures: Sequence[Figures]) -> str:
    runs, failed, judged, contradictions = (
        sum(each[name] for each in figures)
        for name in ("runs", "failed_runs", "case_runs", "contradictions")
    )
    fails = sum(each["verdicts"]["fail"] for each in figures)
    return (
        f"**{runs:,} {kind} runs, {judged:,} case-runs: {fails:,} FAIL in {failed:,} runs**; "
        f"rate of failed runs: {_spoken(_rate(failed, runs))}; contradictions: {contradictions:,}."
    )


def write_figures(figures: Figures, path: Path) -> None:
    """Keep figures as JSON. Raises SetupError where that is not possible."""
    try:
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write the figures {path}: {error.strerror}") from error


def read_figures(path: Path) -> Figures:
    """Figures that were kept. Raises SetupError where the file holds none."""
    figures: Figures = {}
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))
        fault = fault_of(figures, _SAVED) or _fault_of_rate(figures["flake_rate"])
    except OSError as error:
        raise SetupError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        fault = sentence(error)
    if fault:
        raise SetupError(
            f"{path} holds no figures of a soak: {fault}; write them with"
            " 'scapy-tfo soak --json FILE'"
        )
    return figures


def _fault_of_rate(rate: list[Any]) -> str:
    numbers = [each for each in rate if isinstance(each, int | float)]
    return "" if len(numbers) == len(rate) == 3 else "its 'flake_rate' is not three numbers"


def write_section(path: Path, table: str) -> None:
    """Put a table between BEGIN and END of a document, in place of what stood there.

    Raises SetupError where the document lacks these lines, or cannot be written.
    """
    try:
        text = path.read_text(encoding="utf-8")
        before, begin, rest = text.partition(f"{BEGIN}\n")
        _, end, after = rest.partition(END)
        if not begin or not end:
            raise SetupError(f"cannot write into {path}: it lacks the lines '{BEGIN}' and '{END}'")
        path.write_text(f"{before}{begin}{table}{end}{after}", encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from None

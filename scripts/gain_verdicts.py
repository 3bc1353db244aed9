"""The page docs/generated/gain-controls.md, from what scripts/gain_controls.py keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gain_tables import estimate, table

Found = Mapping[str, Any]
Stored = Mapping[str, Found]
"""By machine: `runs`, each by experiment; see `gain_controls.kept`."""

MACHINES = "idle", "loaded"
_LOADS = {"idle": "nothing else running", "loaded": "with what else ran there"}
_MUST = {"latency": 0.0, "rate": 1.0, "load": 1.0}
_CONTROL, _LATENCY, _RATE = 0.05, 0.02, 0.05
_CELLS, _PAIRS, _PAPERS = 20, 6, 0.0001
_EXACT = 1e-9
"""Figures are held to the demands as they are, but for how floating point writes them."""

_INTRO = """# Whether controls of `gain` hold

`scapy-tfo gain latency`, `rate` and `load`, three times each, on an idle machine and on one whose
cores are taken by other programs. As root, `scripts/gain_controls.py idle` and
`scripts/gain_controls.py loaded` measure one half each and write this page.
[What makes a figure a result](../gain.md#what-makes-a-figure-a-result) tells what a control is, and
when a cell is refused.

"""


def cells(stored: Stored, experiment: str) -> Iterator[Found]:
    """Of all machines and runs."""
    for _, _, found in _all(stored):
        if found["experiment"] == experiment:
            yield from found["cells"]


def away(experiment: str, cell: Found) -> float:
    """How far the control is from what it must be."""
    return abs(float(cell["control"]["value"]) - _MUST[experiment])


def demands(stored: Stored) -> list[tuple[str, bool, str]]:
    """What must be so, whether it is, and what was found."""
    return [_controls(stored), _latency(stored), _rate(stored)]


def unmet(stored: Stored) -> list[str]:
    """What must be so and is not."""
    return [what for what, held, _ in demands(stored) if not held]


def _controls(stored: Stored) -> tuple[str, bool, str]:
    each = [(name, cell) for name in _MUST for cell in cells(stored, name)]
    results = [away(name, cell) for name, cell in each if not cell["refused"]]
    refused = len(each) - len(results)
    said = (
        f"{len(results)} of {len(each)}, {max(results, default=0):.3f} at most; {refused} refused"
    )
    held = bool(results) and max(results) <= _CONTROL + _EXACT
    return f"controls within {_CONTROL} of what they must be, or the cell refused", held, said


def _latency(stored: Stored) -> tuple[str, bool, str]:
    wrong, said = 0, []
    for machine, number, found in _all(stored):
        if found["experiment"] == "latency":
            there = [each for each in found["cells"] if each["pairs"] >= _PAIRS]
            saved = [each["effect"]["value"] for each in there if each["effect"] is not None]
            good = sum(abs(value - 1) <= _LATENCY + _EXACT for value in saved)
            wrong += good != _CELLS
            spread = f" ({min(saved):.3f} to {max(saved):.3f})" if saved else ""
            said.append(f"{machine} {number}: {good}{spread}")
    what = f"`latency` saves 1.00 ±{_LATENCY} round trips in all {_CELLS} cells"
    return what, bool(said) and not wrong, "; ".join(said)


def _rate(stored: Stored) -> tuple[str, bool, str]:
    there = [each for each in cells(stored, "rate") if each["rtt"] == _PAPERS]
    ratios = [each["effect"]["value"] for each in there if each["effect"] is not None]
    what = f"`rate`'s ratio at 0.1 ms is the same within {_RATE:.0%} in all runs"
    if len(ratios) < len(there) or not ratios:
        return what, False, f"{len(there) - len(ratios)} refused"
    spread = max(ratios) / min(ratios) - 1
    each = ", ".join(f"{one:.2f}" for one in ratios)
    said = f"{each}: the highest is {spread:.1%} over the lowest"
    return what, spread <= _RATE + _EXACT, said


def page(stored: Stored) -> str:
    """All of it."""
    parts = [_INTRO, _machines(stored), "\n## What must be so\n\n"]
    rows = [(what, "yes" if held else "**no**", said) for what, held, said in demands(stored)]
    parts += [table(("demand", "held", "found"), rows), "\n## The runs\n\n"]
    parts += [_runs(stored), "\n## `rate` at 0.1 ms\n\n", _at_papers(stored)]
    parts += ["\n## Cells that were refused\n\n", _refused(stored)]
    return "".join(parts)


def _machines(stored: Stored) -> str:
    lines = []
    for machine in MACHINES:
        if machine not in stored:
            lines.append(f"- {machine}: not measured.\n")
            continue
        found = stored[machine]
        first = found["runs"][0][0]
        what = (
            f"{found['busy']} processes computing on each core"
            if found["busy"]
            else "no load of ours"
        )
        cost = first["awake"]["before"]["median"] * 1e6
        lines.append(
            f"- {machine}: {first['tool']}, Linux {first['kernel']}, {found['cores']} cores, "
            f"{first['time'][:10]}, {what}; {found['seconds'] / 60:.0f} minutes in all; "
            f"a wake-up costs {cost:.0f} µs where nothing keeps the processors awake.\n"
        )
    return "".join(lines)


def _runs(stored: Stored) -> str:
    heads = (
        "machine",
        "run",
        "experiment",
        "load",
        "steal time",
        "cells",
        "refused",
        "worst control",
    )
    rows = []
    for machine, number, found in _all(stored):
        name = found["experiment"]
        around = found["surroundings"]
        steal = "" if around["steal"] is None else f"{around['steal']:.1%}"
        results = [away(name, each) for each in found["cells"] if not each["refused"]]
        rows.append(
            (
                *(machine, str(number), f"`{found['command']}`"),
                f"{around['load_before']:.1f} to {around['load_after']:.1f}",
                *(steal, str(len(found["cells"])), str(len(found["cells"]) - len(results))),
                f"{max(results, default=0):.3f} away",
            )
        )
    return table(heads, rows)


def _at_papers(stored: Stored) -> str:
    heads = ("machine", "run", "TCP", "fast open", "ratio", "control")
    rows = [
        (
            *(machine, str(number), f"{each['tcp']:,.0f}", f"{each['tfo']:,.0f}"),
            *(estimate(each["effect"]), estimate(each["control"])),
        )
        for machine, number, found in _all(stored)
        if found["experiment"] == "rate"
        for each in found["cells"]
        if each["rtt"] == _PAPERS
    ]
    return table(heads, rows)


def _refused(stored: Stored) -> str:
    rows = []
    for machine, number, found in _all(stored):
        name = found["experiment"]
        for each in found["cells"]:
            if each["refused"]:
                rows.append((machine, str(number), f"{name}, {_cell(name, each)}", each["refused"]))
    return table(("machine", "run", "cell", "because"), rows) if rows else "None.\n"


def _cell(name: str, cell: Found) -> str:
    if name == "load":
        return f"{cell['rate']:,} a second"
    size = f", {cell['size']:,} bytes" if name == "latency" else ""
    return f"{cell['rtt'] * 1000:g} ms{size}"


def _all(stored: Stored) -> Iterator[tuple[str, int, Found]]:
    """Machine, number of the run, and an experiment."""
    for machine in MACHINES:
        for number, run in enumerate(stored.get(machine, {}).get("runs", ()), start=1):
            for found in run:
                yield machine, number, found

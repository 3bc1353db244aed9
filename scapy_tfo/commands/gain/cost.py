"""`scapy-tfo gain cost`: measures the cost of checking cookies."""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import count, described
from scapy_tfo.commands.gain.common import (
    add_outputs,
    check_outputs,
    circumstances,
    collect,
    make_table,
    shown,
    status,
    tell_circumstances,
    tell_few,
    write_figures,
)
from scapy_tfo.commands.gain.conditions import (
    WITHHELD,
    add_conditions,
    conditions,
    status_of,
    tell_refused,
    withheld,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from scapy_tfo.gain.check_cost import CheckCost
    from scapy_tfo.gain.kernel_cost import KernelCost, Volley
    from scapy_tfo.gain.measuring.estimate import Estimate

_TEXT = """Measure the cost of checking a cookie, in the reference schemes and in this kernel.

The schemes are timed on one core. The cipher alone is timed, too: called once from Python, and
without Python. The kernel gets SYNs with data, at a listener that requires the cookie and at two
that do not, in a random order (as root, or where user namespaces are allowed; needs the extra
'gain'). The difference is its check; the difference between the latter two is the control.

The paper says that AES took less than 0.3 % of a core at 6000 requests a second (6.2).

Ctrl-C keeps what was measured."""

_REQUESTS = 6000
"""Requests a second, for which the paper gives the cost of validation (section 6.2)."""

_ROUNDS = 30
"""Rounds of each scheme: the clock of a single thread hardly varies."""


@dataclass(frozen=True, slots=True)
class Plan:
    """requests: a second, for which parts of a core are told. volleys: at the kernel."""

    requests: int
    volleys: int


def add_command(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`cost`."""
    parser = described(below, "cost", "the cost of checking cookies, here and in the kernel", _TEXT)
    parser.set_defaults(command=_cost)
    parser.add_argument(
        "--requests",
        type=count,
        default=_REQUESTS,
        metavar="N",
        help=f"requests a second for parts of a core (default: {_REQUESTS})",
    )
    parser.add_argument(
        "--volleys",
        type=count,
        default=600,
        metavar="N",
        help="volleys of 64 SYNs to each listener of the kernel (default: 600)",
    )
    add_conditions(parser)
    add_outputs(parser, plot=False)


def _cost(chosen: argparse.Namespace) -> int:
    from scapy_tfo.gain import kernel_cost
    from scapy_tfo.gain.check_cost import FAMILIES, SCHEMES, measure

    console = check_outputs(chosen)
    plan = Plan(chosen.requests, chosen.volleys)

    def steps() -> Iterator[CheckCost | Volley]:
        for scheme in SCHEMES:
            for family in FAMILIES:
                yield measure(scheme, family, _ROUNDS)
        yield from kernel_cost.measure(plan.volleys)

    wanted = len(SCHEMES) * len(FAMILIES) + plan.volleys
    around = circumstances(time.time())
    with conditions(chosen) as kept:
        found, broken = collect(console, lambda _: steps(), wanted)
        around |= kept.figures
    volleys = [each for each in found if isinstance(each, tuple)]
    schemes = [each for each in found if not isinstance(each, tuple)]
    kernels = withheld([kernel_cost.cost(volleys)] if volleys else [], chosen, "check")
    kernel = kernels[0] if kernels else None
    figures = {
        "schemes": [{**asdict(each), "rate": each.rate} for each in schemes],
        "kernel_cost": None if kernel is None else asdict(kernel),
    }
    with ExitStack() as at_the_end:
        # Also where nobody reads what is told.
        if chosen.json is not None:
            at_the_end.callback(write_figures, chosen.json, "cost", around, plan, **figures)
        console.print(_schemes(schemes, plan.requests))
        if kernel is not None:
            console.print(_kernel(kernel, plan.requests))
            tell_few(console, len(volleys))
        tell_refused(console, [("The kernel's check", each) for each in kernels], chosen)
        console.print("The paper: AES took less than 0.3 % of a core at 6000 requests a second.")
        tell_circumstances(console, around, None, [])
        kept.tell(console)
    return status(found, wanted, broken, status_of(kernels, chosen))


def _part(nanoseconds: float, requests: int) -> str:
    return f"{nanoseconds * requests / 1e7:.3f} %"


def _shown(estimate: Estimate, digits: int, requests: int) -> tuple[str, str]:
    return shown(estimate, digits), _part(estimate.value, requests)


def _schemes(found: Sequence[CheckCost], requests: int) -> Table:
    share = f"at {requests}/s"
    table = make_table(
        "Checks of a valid cookie in Python (ns; medians; ± 95 %; parts of a core)",
        *("scheme", "check", "per second", share, "cipher, called", "cipher alone", share),
        left=1,
    )
    for each in found:
        table.add_row(
            f"{each.scheme}, IPv{each.family}",
            shown(each.check, 0),
            f"{each.rate / 1e6:.2f} M",
            _part(each.check.value, requests),
            shown(each.call, 0),
            shown(each.raw, 1),
            _part(each.raw.value, requests),
        )
    return table


def _kernel(cost: KernelCost, requests: int) -> Table:
    title = "The kernel, for one SYN with data (ns; medians; ± 95 %; parts of a core)"
    table = make_table(title, "", "time", f"at {requests}/s", left=1)
    for name, estimate, digits in (
        ("cookie required", cost.checked, 0),
        ("not required", cost.unchecked, 0),
        ("the check", cost.check, 1),
        ("control", cost.control, 1),
    ):
        told = (WITHHELD, "") if estimate is None else _shown(estimate, digits, requests)
        table.add_row(name, *told)
    return table

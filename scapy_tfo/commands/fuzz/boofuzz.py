"""`scapy-tfo fuzz boofuzz TARGET`: run a campaign as a boofuzz session."""

from __future__ import annotations

import argparse
import importlib.util
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from scapy_tfo.fuzz.boofuzz.runner import Outcome
    from scapy_tfo.fuzz.boofuzz.session import Campaign
    from scapy_tfo.fuzz.campaign.liveness import Patient
    from scapy_tfo.targets.benches import ProfiledBench

NAME = "boofuzz"

DATABASE = "boofuzz.db"
"""Default name of the database."""

SUMMARY = "run a campaign as a boofuzz session, with its database and web UI"
DESCRIPTION = """Run a campaign as a boofuzz session, which keeps each case in its database.

The request graph is cookie-request -> fast-open -> teardown, and volleys of
single SYNs if they can be sent to the target. A case is a batch of its node's
programs; the earlier nodes on its path are sent unchanged. 'boo open FILE'
shows the database in a browser.

This command needs the extra: pip install 'scapy-tfo[boofuzz]'.

exit status: 0 no case failed, 1 a case failed, 2 wrong usage or set-up,
3 the target could not be judged, 130 interrupted (finished cases are kept)"""

_CASES = 40
_LINES_EVERY = 10.0
_MOST_CASES = 1_000_000


def add_command(group: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`boofuzz`, below `fuzz`."""
    parser = group.add_parser(
        NAME,
        help=SUMMARY,
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=command)
    parser.add_argument("target", metavar="TARGET", help="the target, as for 'scapy-tfo fuzz'")
    add = parser.add_argument
    add(
        "--cases",
        type=_count,
        default=_CASES,
        metavar="N",
        help=f"number of cases (default: {_CASES})",
    )
    add("--case", type=_count, metavar="N", help="run only case N, as it ran before")
    add("--node", metavar="NAME", help="take all cases from this node, such as fast-open")
    add("--single", action="store_true", help="run one program in each case, and log every packet")
    add(
        "--batch",
        type=_count,
        metavar="N",
        help="programs in a batch, which the nodes share; rounded up to a multiple of eight",
    )
    add(
        "--patience",
        action="store_true",
        help="also run programs with long waits, up to minutes",
    )
    add(
        "--seed",
        type=_number,
        default=0,
        metavar="N",
        help="random seed; each N gives another campaign (default: 0)",
    )
    add("--rate", type=_count, metavar="N", help="send at most N segments a second")
    add(
        "--db",
        type=Path,
        metavar="FILE",
        help=f"the database to make (default: {DATABASE} in tfo-results/<UTC time>)",
    )
    add("--web-port", type=_port, metavar="N", help="port of boofuzz's web UI, while it runs")
    add("--quiet", action="store_true", help="print only the summary, no progress")


def command(chosen: argparse.Namespace) -> int:
    """Run it; the exit status."""
    if importlib.util.find_spec("boofuzz") is None:
        raise SetupError("boofuzz is not installed: pip install 'scapy-tfo[boofuzz]'")
    if chosen.case is not None and chosen.case > chosen.cases:
        raise SetupError(f"no case {chosen.case}: there are {chosen.cases}; give more --cases")
    if chosen.db is not None and chosen.db.exists():
        raise SetupError(f"{chosen.db} already exists: give another --db, or remove it")
    if chosen.web_port is not None:
        _check_free(chosen.web_port)
    from scapy_tfo.fuzz.campaign.liveness import Patient
    from scapy_tfo.targets.benches import open_bench

    def reopen() -> ProfiledBench:
        return open_bench(chosen.target, rate=chosen.rate)

    bench = reopen()
    patient = Patient(reopen, bench)
    try:
        return _run(chosen, bench, patient)
    finally:
        patient.bench.close()


def _run(chosen: argparse.Namespace, bench: ProfiledBench, patient: Patient) -> int:
    from scapy_tfo.errors import TargetError
    from scapy_tfo.fuzz.boofuzz.session import Campaign, Wishes
    from scapy_tfo.fuzz.generation.grammar import VERSION, sent_for
    from scapy_tfo.fuzz.generation.plan import SECTIONS, Plan
    from scapy_tfo.targets.benches import batch_of, volleys_of

    ill = patient.ails()
    if ill:
        raise TargetError(f"{chosen.target} cannot be judged: {ill}")
    batch = chosen.batch or batch_of(chosen.target)
    plan = Plan(
        target=chosen.target,
        profile=bench.profile.name,
        live=not bench.profile.fresh,
        grammar=str(VERSION),
        seed=chosen.seed,
        batch=-(-batch // SECTIONS) * SECTIONS,
    )
    wishes = Wishes(
        cases=chosen.cases,
        node=chosen.node,
        single=chosen.single,
        patience=chosen.patience,
        only=chosen.case,
        web_port=chosen.web_port,
    )
    shown = _Shown(chosen)
    campaign = Campaign(
        plan,
        sent_for,
        patient,
        _database(chosen),
        wishes,
        fires=bool(volleys_of(bench)),
        on_case=shown.add,
    )
    try:
        campaign.run()
    except KeyboardInterrupt:
        print("scapy-tfo: interrupted; finished cases are kept", file=sys.stderr)
        shown.report(campaign)
        return 130
    shown.report(campaign)
    return 1 if campaign.failures else 0


def _database(chosen: argparse.Namespace) -> Path:
    from scapy_tfo.report.output import begin, point_latest

    if chosen.db is not None:
        given: Path = chosen.db
        return given
    place = begin(None, time.time())
    point_latest(place)
    return place / DATABASE


class _Shown:
    """Progress, and what is left at the end."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self._quiet: bool = chosen.quiet
        self._total: int = 1 if chosen.case else chosen.cases
        self._began = self._last = time.monotonic()
        self._cases = self._programs = self._segments = self._failed = 0
        if chosen.web_port is not None and not chosen.quiet:
            print(f"boofuzz's web UI: http://localhost:{chosen.web_port}", flush=True)

    def add(self, outcome: Outcome) -> None:
        """Count a case, and print a line now and then."""
        self._cases += 1
        self._programs += outcome.tally.programs
        self._segments += outcome.tally.probes
        self._failed += bool(outcome.shown)
        if not self._quiet and time.monotonic() - self._last >= _LINES_EVERY:
            self._last = time.monotonic()
            print(self._line(), flush=True)

    def report(self, campaign: Campaign) -> None:
        """The summary: each way to fail once, and where all of it is."""
        self._failed = len(campaign.failures)
        print(self._line())
        for number, line in campaign.runner.causes.values():
            print(f"  case {number}: {line}")
        print(f"Database: {campaign.database} (show it with: boo open {campaign.database})")

    def _line(self) -> str:
        rate = self._segments / max(time.monotonic() - self._began, 1e-9)
        return (
            f"{self._cases:,} cases, {self._programs:,} programs,"
            f" {self._segments:,} segments, {rate:,.0f} a second, {self._failed} failed"
        )


def _check_free(port: int) -> None:
    """boofuzz would take another port, and not say so."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise SetupError(
                f"cannot use --web-port {port}: {error.strerror}; give another"
            ) from error


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _MOST_CASES):
        raise argparse.ArgumentTypeError(f"'{text}' is not valid: give 1 to {_MOST_CASES}")
    return int(text)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not valid: give a whole number, 0 or more")
    return int(text)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise argparse.ArgumentTypeError(f"'{text}' is not a port: give 1 to 65535")
    return int(text)

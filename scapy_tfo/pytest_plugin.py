"""One pytest test for each case: `pytest tests/conformance --tfo-target HOST:PORT`.

A test that takes the fixture `tfo_result` is run once for each case and address of the target.
The first one that runs starts all that were collected, at the same time; each then tells its own
verdict.

A packetdrill script is a test as well: `pytest FILE.pkt`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from scapy_tfo import spec
from scapy_tfo.errors import SetupError, TargetError

if TYPE_CHECKING:
    from scapy_tfo.suite.registry import Case
    from scapy_tfo.suite.result import Result, Run
    from scapy_tfo.suite.session import Request


class ConformanceWarning(UserWarning):
    """A recommendation (SHOULD) that the target does not follow."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tfo", "TCP Fast Open conformance")
    group.addoption("--tfo-target", metavar="TARGET", help="HOST[:PORT], lab:linux, sim:reference")
    group.addoption("--tfo-app", choices=("echo", "http", "none"), help="what listens there")
    group.addoption("--tfo-only", action="append", default=[], metavar="ID")
    group.addoption("--tfo-exclude", action="append", default=[], metavar="ID")
    group.addoption("--tfo-slow", action="store_true", help="also cases with long timers")
    group.addoption("--tfo-intrusive", action="store_true", help="also cases that fill queues")
    group.addoption("--tfo-strict", action="store_true", help="a failed SHOULD fails its test")
    group.addoption("--tfo-known", type=Path, metavar="FILE", help="failures that are expected")
    group.addoption("--tfo-source", action="append", default=[], metavar="ADDRESS")
    group.addoption("--tfo-iface", metavar="NAME", help="interface to send on")
    group.addoption("--tfo-scripts", action="store_true", help="collect *.pkt in directories, too")
    group.addoption("--tfo-out", type=Path, metavar="DIR", help="write the reports here")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A packetdrill script that was named, or, with --tfo-scripts, one that lies there."""
    if file_path.suffix != ".pkt":
        return None
    if not parent.session.isinitpath(file_path) and not parent.config.getoption("--tfo-scripts"):
        return None
    from scapy_tfo.pytest_scripts import ScriptCollector

    return ScriptCollector.from_parent(parent, path=file_path)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "tfo_result" not in metafunc.fixturenames:
        return
    config = metafunc.config
    if not config.getoption("--tfo-target"):
        nothing = pytest.param(None, marks=pytest.mark.skip(reason="give --tfo-target"))
        metafunc.parametrize("tfo_result", [nothing], ids=["no-target"], indirect=True)
        return
    try:
        from scapy_tfo.suite.session import chosen_cases, families_of

        request = _request(config)
        cases, families = chosen_cases(request), families_of(request)
    except SetupError as error:
        raise pytest.UsageError(str(error)) from None
    pairs = [(case, family) for case in cases for family in families]
    ids = [f"{case.id}-ipv{family}" for case, family in pairs]
    metafunc.parametrize("tfo_result", pairs, ids=ids, indirect=True)


@pytest.fixture(scope="session")
def tfo_run(request: pytest.FixtureRequest) -> Run:
    """The run that judges every case which this session collected."""
    from scapy_tfo.suite.session import run

    wanted = _request(request.config)
    pairs = _collected(request.session.items)
    chosen = replace(
        wanted,
        only=tuple(dict.fromkeys(case.id for case, _ in pairs)),
        exclude=(),
        options=replace(wanted.options, families=sorted({family for _, family in pairs})),
    )
    try:
        done = run(chosen)
    except (SetupError, TargetError) as error:
        pytest.exit(f"scapy-tfo: {error}", returncode=2 if isinstance(error, SetupError) else 3)
    out = request.config.getoption("--tfo-out")
    if out is not None:
        from scapy_tfo.report.output import write_all

        write_all(done, out, strict=request.config.getoption("--tfo-strict"))
    return done


@pytest.fixture
def tfo_result(request: pytest.FixtureRequest, tfo_run: Run) -> Result:
    """The result of one case at one address; call `check_result` to turn it into an outcome."""
    case, family = request.param
    return next(each for each in tfo_run.results if (each.case, each.family) == (case.id, family))


def check_result(result: Result, *, strict: bool = False) -> None:
    """Fail, skip, warn or pass, as the result says. strict: a failed SHOULD fails."""
    from scapy_tfo.suite.result import Standing, standing

    place = standing(result, strict=strict)
    if place is Standing.PASS:
        return
    if place.fails_run:
        pytest.fail(_told(result, place is Standing.FIXED), pytrace=False)
    if place is Standing.KNOWN:
        pytest.xfail(f"known: {result.known}: {result.reason}")
    if place is Standing.WARNING:
        warnings.warn(_told(result, False), ConformanceWarning, stacklevel=2)
        return
    pytest.skip(f"{result.verdict}: {result.reason}")


def _told(result: Result, fixed: bool) -> str:
    if fixed:
        return f"{result.case} is listed as a known failure ({result.known}), but it passed"
    catalogue = spec.load()
    lines = [f"{result.case} [ipv{result.family}]: {result.reason}"]
    lines += [
        f"  {each} ({catalogue[each].level}, {'; '.join(catalogue[each].source)}): "
        f"{catalogue[each].statement}"
        for each in result.requirements
    ]
    lines += [f"  expected: {result.expected}", f"  actual:   {result.actual}"]
    lines += [f"  flow:     {result.flow}", f"  packets:  {', '.join(map(str, result.packets))}"]
    return "\n".join(lines)


def _collected(items: Sequence[pytest.Item]) -> list[tuple[Case, int]]:
    found = []
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and callspec.params.get("tfo_result"):
            found.append(cast("tuple[Case, int]", callspec.params["tfo_result"]))
    return found


def _request(config: pytest.Config) -> Request:
    from scapy_tfo.suite.runner import Options
    from scapy_tfo.suite.session import Request

    return Request(
        target=config.getoption("--tfo-target"),
        app=config.getoption("--tfo-app"),
        only=config.getoption("--tfo-only"),
        exclude=config.getoption("--tfo-exclude"),
        known=config.getoption("--tfo-known"),
        sources=config.getoption("--tfo-source"),
        iface=config.getoption("--tfo-iface"),
        options=Options(
            slow=config.getoption("--tfo-slow"), intrusive=config.getoption("--tfo-intrusive")
        ),
    )

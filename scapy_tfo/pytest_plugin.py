"""Makes one pytest test for each case: `pytest tests/conformance --tfo-target HOST:PORT`.

A test that takes the fixture `tfo_result` runs once for each case and address of the target. The
first one runs all collected cases, at the same time; each then reports its own verdict.

A packetdrill script is a test, too: `pytest FILE.pkt`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from scapy_tfo import spec, tcp_rules
from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.report.escape import visible

if TYPE_CHECKING:
    from scapy_tfo.extensions.settings import Settings
    from scapy_tfo.runner.session import Request
    from scapy_tfo.suite.registry import Case
    from scapy_tfo.suite.result import Result, Run


class ConformanceWarning(UserWarning):
    """A recommendation (SHOULD) that the target does not follow."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tfo", "TCP Fast Open conformance")
    add = group.addoption
    add(
        "--tfo-target",
        metavar="TARGET",
        help="HOST[:PORT], FILE.toml, lab:linux, sim:reference, ...",
    )
    add("--tfo-app", choices=("echo", "http", "none"), help="application on the target")
    add("--tfo-only", action="append", default=[], metavar="ID", help="take only these cases")
    add("--tfo-exclude", action="append", default=[], metavar="ID", help="leave out these cases")
    add(
        "--tfo-cases",
        action="append",
        default=[],
        metavar="FILE",
        help="also take the cases that this Python file registers",
    )
    add("--tfo-slow", action="store_true", help="also run cases that wait for long timers")
    add("--tfo-intrusive", action="store_true", help="also run cases that fill queues")
    add("--tfo-vary", action="store_true", help="also run each case in many contexts")
    add("--tfo-strict", action="store_true", help="a failed SHOULD fails its test")
    add("--tfo-known", type=Path, metavar="FILE", help="TOML list of expected failures")
    add(
        "--tfo-source",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="send from this address",
    )
    add("--tfo-iface", metavar="NAME", help="send on this interface")
    add("--tfo-scripts", action="store_true", help="also collect *.pkt files in directories")
    add("--tfo-label", metavar="TEXT", default="", help="a name for the run, kept in results.json")
    add("--tfo-out", type=Path, metavar="DIR", help="write the reports to this directory")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A packetdrill script that was named, or, with --tfo-scripts, any in a directory."""
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
    if not target_of(config):
        nothing = pytest.param(None, marks=pytest.mark.skip(reason="no target: give --tfo-target"))
        metafunc.parametrize("tfo_result", [nothing], ids=["no-target"], indirect=True)
        return
    try:
        from scapy_tfo.runner.session import chosen_cases, families_of

        _load_cases(config)
        request = _request(config)
        cases, families = chosen_cases(request), families_of(request)
    except SetupError as error:
        raise pytest.UsageError(visible(str(error))) from None
    pairs = [(case, family) for case in cases for family in families]
    ids = [f"{case.id}-ipv{family}" for case, family in pairs]
    metafunc.parametrize("tfo_result", pairs, ids=ids, indirect=True)


@pytest.fixture(scope="session")
def tfo_run(request: pytest.FixtureRequest) -> Run:
    """The run that judges every case which this session collected."""
    from scapy_tfo.runner import session
    from scapy_tfo.vary import run as varied

    run = varied.run if request.config.getoption("--tfo-vary") else session.run
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
        pytest.exit(
            visible(f"scapy-tfo: {error}"), returncode=2 if isinstance(error, SetupError) else 3
        )
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


def check_rules(run: Run, *, strict: bool = False) -> None:
    """Fail with the first packets of each rule of TCP that the target broke beside the cases."""
    from scapy_tfo.suite.result import Standing, standing

    found = [each for each in run.results if each.requirements[0].startswith("TCP-")]
    places = [(each, standing(each, strict=strict)) for each in found]
    told = [_told(each, place is Standing.FIXED) for each, place in places if place.fails_run]
    for each, place in places:
        if place is Standing.WARNING:
            warnings.warn(_told(each, False), ConformanceWarning, stacklevel=2)
    if told:
        pytest.fail("\n".join(told), pytrace=False)


def check_result(result: Result, *, strict: bool = False) -> None:
    """Fail, skip, warn or pass, as the result says; a case that broke fails. strict: a failed
    SHOULD fails."""
    from scapy_tfo.suite.result import Standing, standing

    place = standing(result, strict=strict)
    if place is Standing.PASS:
        return
    if result.broke:
        pytest.fail(visible(f"{result.case}: {result.reason}"), pytrace=False)
    if place.fails_run:
        pytest.fail(_told(result, place is Standing.FIXED), pytrace=False)
    if place is Standing.KNOWN:
        pytest.xfail(visible(f"known: {result.known}: {result.reason}"))
    if place is Standing.WARNING:
        warnings.warn(_told(result, False), ConformanceWarning, stacklevel=2)
        return
    pytest.skip(visible(f"{result.verdict}: {result.reason}"))


def _told(result: Result, fixed: bool) -> str:
    if fixed:
        said = f"{result.case} is listed as a known failure ({result.known}), but it passed"
        return visible(said)
    catalogue, rules = spec.load(), tcp_rules.load()
    lines = [f"{result.case} [ipv{result.family}]: {result.reason}"]
    lines += [
        f"  {each} ({catalogue[each].level}, {'; '.join(catalogue[each].source)}): "
        f"{catalogue[each].statement}"
        for each in result.requirements
        if each in catalogue
    ]
    lines += [
        f"  {each} ({rules[each].level}, {rules[each].source}): {rules[each].statement}"
        for each in result.requirements
        if each in rules
    ]
    lines += [f"  expected: {result.expected}", f"  actual:   {result.actual}"]
    lines += [f"  flow:     {result.flow}", f"  packets:  {', '.join(map(str, result.packets))}"]
    return visible("\n".join(lines))


def _collected(items: Sequence[pytest.Item]) -> list[tuple[Case, int]]:
    found = []
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and callspec.params.get("tfo_result"):
            found.append(cast("tuple[Case, int]", callspec.params["tfo_result"]))
    return found


def settings_of(config: pytest.Config) -> Settings:
    """What the repository's pyproject.toml says. Raises SetupError."""
    from scapy_tfo.extensions.settings import read_settings

    return read_settings(config.rootpath)


def target_of(config: pytest.Config) -> str:
    """The target that is given, or else the repository's, or else "". Raises UsageError."""
    given: str | None = config.getoption("--tfo-target")
    try:
        return given or settings_of(config).target
    except SetupError as error:
        raise pytest.UsageError(visible(str(error))) from None


def _load_cases(config: pytest.Config) -> None:
    """Raises SetupError."""
    from scapy_tfo.extensions.loading import load_files, load_installed

    given = config.getoption("--tfo-cases")
    load_installed()
    load_files(settings_of(config).cases)
    load_files(config.invocation_params.dir / each for each in given)


def _request(config: pytest.Config) -> Request:
    from scapy_tfo.runner.runner import Options
    from scapy_tfo.runner.session import Request

    # What the repository says is of its own target.
    ours = None if config.getoption("--tfo-target") else settings_of(config)
    return Request(
        target=target_of(config),
        app=config.getoption("--tfo-app") or (ours.app if ours else "") or None,
        only=config.getoption("--tfo-only"),
        exclude=config.getoption("--tfo-exclude"),
        known=config.getoption("--tfo-known") or (ours.known if ours else None),
        sources=config.getoption("--tfo-source"),
        iface=config.getoption("--tfo-iface"),
        label=config.getoption("--tfo-label"),
        options=Options(
            slow=config.getoption("--tfo-slow"), intrusive=config.getoption("--tfo-intrusive")
        ),
    )

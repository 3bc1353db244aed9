"""The whole list of cases against targets whose behaviour we know."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.session import Request, run
from scapy_tfo.suite.result import Level, Result, Run, Standing, Verdict, standing

COOKIES_OFF = "0x203"
"""Linux: client, server, and SYN data accepted without any cookie."""

CLIENT_ONLY = "1"

GIVEN_UP_WITHOUT_COOKIES = {"SRV-2", "ACC-3", "ACC-4"}
"""Cookies that others can make, and data delivered before the handshake on a wrong cookie or on
none. SRV-1 is not among them: a target that grants no cookie binds none to an address.
"""


@functools.cache
def judged(target: str, *, slow: bool = False, fast_open: str = "") -> Run:
    """A run of every case, or a skip where the host does not allow the target.

    fast_open: the sysctl of that name, "" for the lab's own choice.
    """
    sysctls = {"net.ipv4.tcp_fastopen": fast_open} if fast_open else {}
    try:
        return run(Request(target=target, sysctls=sysctls, options=Options(slow=slow)))
    except SetupError as error:
        pytest.skip(str(error))


def told(results: Iterable[Result]) -> str:
    return "\n".join(
        f"{each.case} [ipv{each.family}] {each.verdict}: {each.reason}; "
        f"expected {each.expected}; actual {each.actual}"
        for each in results
    )


def of_standing(done: Run, *wanted: Standing) -> list[Result]:
    return [each for each in done.results if standing(each, strict=True) in wanted]


@pytest.mark.parametrize("target", ["lab:linux", "lab:reference", "lab:nginx", "lab:haproxy"])
def test_a_correct_target_is_not_blamed(target: str) -> None:
    done = judged(target)
    blamed = of_standing(done, Standing.FAIL)
    assert not blamed, told(blamed)
    # A machine that is too busy looks like a path that loses.
    assert done.loses or not of_standing(done, Standing.INCONCLUSIVE)


def test_the_reference_passes_every_case_slow_ones_included() -> None:
    done = judged("sim:reference", slow=True)
    others = [
        each
        for each in done.results
        if each.verdict is not Verdict.PASS and each.level not in (Level.MAY, Level.DESIGN)
    ]
    assert not others, told(others)


def test_the_simulation_is_deterministic() -> None:
    first, second = judged("sim:reference"), judged.__wrapped__("sim:reference")
    assert [each.data for each in first.packets] == [each.data for each in second.packets]


def test_the_kernel_and_the_reference_are_judged_by_the_same_cases() -> None:
    kernel, reference = judged("lab:linux"), judged("lab:reference")
    assert [each.case for each in kernel.results] == [each.case for each in reference.results]
    skipped = [each for each in kernel.results if each.verdict is Verdict.SKIPPED]
    assert all("--slow" in each.reason for each in skipped), told(skipped)


def test_with_fast_open_off_nothing_fails_and_the_fallback_passes() -> None:
    done = judged("lab:linux", fast_open=CLIENT_ONLY)
    blamed = of_standing(done, Standing.FAIL)
    assert not blamed, told(blamed)
    verdicts = {each.case: each.verdict for each in done.results}
    assert verdicts["ACC-2.syn-data-is-acknowledged"] is Verdict.UNSUPPORTED
    passed = {name.partition(".")[0] for name, each in verdicts.items() if each is Verdict.PASS}
    assert passed >= {"ACC-1", "ACC-3", "ACC-4", "OPT-3", "OPT-4", "OPT-7"}


def test_with_cookies_off_nothing_fails_and_the_verdicts_say_what_is_given_up() -> None:
    """RFC 7413 section 7.3 and OPT-11 allow a server that is configured to ask for no cookie."""
    done = judged("lab:linux", fast_open=COOKIES_OFF)
    failed = of_standing(done, Standing.FAIL)
    assert not failed, told(failed)
    unsupported = {each.requirements[0] for each in of_standing(done, Standing.UNSUPPORTED)}
    assert unsupported >= GIVEN_UP_WITHOUT_COOKIES
    (recognised,) = {
        each.observed["accepts data with"]
        for each in done.results
        if each.case == "OPT-11.data-without-a-cookie-is-recognised"
    }
    assert "no option" in recognised

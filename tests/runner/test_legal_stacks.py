"""No case blames a stack for a choice that the standards leave it."""

from __future__ import annotations

import pytest

from scapy_tfo import spec
from scapy_tfo.lab.memory.target import ReferenceLab
from scapy_tfo.mutants.registry import named
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.runner.clock import run_virtually
from scapy_tfo.runner.runner import Options, judge
from scapy_tfo.suite.registry import Case, all_cases, select
from scapy_tfo.suite.result import Result, Run, Verdict
from scapy_tfo.targets.own import reference_target
from tests.runner import legal_stacks

PLAIN = Settings()
COOKIELESS = Settings(cookieless=True)

STACKS = {
    "needs no cookie": (Stack, COOKIELESS),
    "keeps the data of SYNs": (legal_stacks.KeepsDataOfSynsStack, PLAIN),
    "leaves timestamps out beside a cookie": (legal_stacks.LeavesTimestampsOutStack, PLAIN),
    "answers plain SYNs with SYN cookies": (legal_stacks.SynCookieStack, PLAIN),
}

CASES = [
    each
    for each in all_cases()
    if not each.slow and each.requirements[0].startswith(("OPT-9", "SRV", "ACC-", "AFT-6"))
]


def judged(case: Case, stack: type[Stack], settings: Settings, family: int = 4) -> Result:
    """One case at a fresh stack, slow ones included."""

    async def whole() -> Run:
        lab = await ReferenceLab.start(stack_class=stack, settings=settings)
        options = Options(families=(family,), attempts=1, slow=True, intrusive=True, capture=False)
        return await judge(reference_target("test", lab), [case], spec.load(), options)

    return run_virtually(whole()).results[0]


@pytest.mark.parametrize("name", STACKS)
def test_no_case_blames_it(name: str) -> None:
    stack, settings = STACKS[name]
    found = [judged(each, stack, settings) for each in CASES]
    assert not [f"{each.case}: {each.reason}" for each in found if each.verdict is Verdict.FAIL]
    broken = [each.case for each in found if each.verdict is Verdict.INCONCLUSIVE]
    assert not broken


def test_a_limit_that_does_not_show_in_the_syn_ack_is_not_judged() -> None:
    """From outside alone: over the limit, data is kept as that of a plain SYN may be."""
    cases = select(all_cases(), ["LIM-1", "LIM-3", "LIM-7"])

    async def whole() -> Run:
        lab = await ReferenceLab.start(stack_class=legal_stacks.KeepsDataOverTheLimitStack)
        target = reference_target("test", lab)
        target.foreign = True
        return await judge(target, cases, spec.load(), Options(families=(4,), intrusive=True))

    found = run_virtually(whole()).results
    assert not [f"{each.case}: {each.reason}" for each in found if each.verdict is Verdict.FAIL]
    unsupported = [each.case for each in found if each.verdict is Verdict.UNSUPPORTED]
    assert "LIM-1.every-new-request-falls-back" in unsupported


@pytest.mark.parametrize("case", [each for each in all_cases() if each.id.startswith("AFT-10")])
def test_cookies_that_live_a_minute_are_asked_for_again(case: Case) -> None:
    found = judged(case, legal_stacks.ShortLivedStack, PLAIN)
    assert (found.verdict, found.reason) == (Verdict.PASS, "")


def test_an_abort_may_answer_the_syn_before_the_syn_ack_does() -> None:
    name = "AFT-10.ones-aborted-by-the-application-give-their-places-back"
    (case,) = select(all_cases(), [name])
    found = judged(case, legal_stacks.DelayedSynAckStack, PLAIN)
    assert (found.verdict, found.reason) == (Verdict.PASS, "")


def test_a_farm_that_refuses_its_own_cookies_fails() -> None:
    (case,) = select(all_cases(), ["SRV-7.servers-that-share-a-key-share-cookies"])
    wrong = named("cookies-of-later-listeners-are-refused")
    assert judged(case, wrong.stack, wrong.settings).verdict is Verdict.FAIL


def test_a_busy_host_gets_more_time_with_each_attempt() -> None:
    """A timer of three seconds that is half a second late."""
    late = select(all_cases(), ["AFT-3.close-survives-a-lost-syn-ack"])

    async def whole() -> Run:
        lab = await ReferenceLab.start(settings=Settings(initial_rto=3.5))
        target = reference_target("test", lab)
        target.foreign = True
        return await judge(target, late, spec.load(), Options(families=(4,)))

    (found,) = run_virtually(whole()).results
    assert (found.verdict, found.attempts) == (Verdict.PASS, 2)

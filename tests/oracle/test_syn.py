"""Each kind of SYN, and the answers allowed to it."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from scapy_tfo import spec
from scapy_tfo.oracle.parts.handshake import SynRule
from scapy_tfo.oracle.parts.profile import FORMS, Profile
from scapy_tfo.oracle.parts.syn import syn_rule
from scapy_tfo.packet import flags_of
from scapy_tfo.program.options import Times, offer_of, render
from scapy_tfo.program.program import Cookie, Option
from tests.oracle.conversations import GOOD, MSS, REQUEST, SPOILT, VALID, full_jar

SIZE = 20
CLIENT = (4, 0)
RFC = Profile(fresh=True)
EVERY_FORM = Profile(fresh=True, forms=frozenset(FORMS))
HOLDS = Profile(fresh=True, holds_data=True)
OFF = Profile("off", fast_open=False, forms=frozenset())


def rule_of(
    options: tuple[Option, ...],
    profile: Profile = RFC,
    flags: str = "S",
    size: int = SIZE,
    port: str = "main",
    *,
    wraps: bool = False,
) -> SynRule:
    jar = full_jar()
    block = render(options, Times(1, 0), jar, CLIENT, {})
    assert block is not None
    offer = offer_of(block)
    return syn_rule(flags_of(flags), offer, size, port, CLIENT, jar, profile, options, wraps=wraps)


def cookie(*edits: tuple[str, int], of: str = "own", kind: int | None = None) -> Option:
    return Option("fo", kind=kind, cookie=Cookie(of, edits))


class Answer(NamedTuple):
    """least, most: bytes that are acknowledged. early: before the handshake ends."""

    least: int
    most: int
    early: bool
    forms: frozenset[int]
    granting: bool


NONE = frozenset[int]()
IANA, OLD = frozenset((34,)), frozenset((254,))
OPENS = Answer(SIZE, SIZE, True, IANA, False)
MAY_OPEN = Answer(0, SIZE, True, IANA, False)
REFUSED = Answer(0, 0, False, IANA, False)
GRANTED = Answer(0, 0, False, IANA, True)
MAY_GRANT = Answer(0, 0, False, IANA, False)
IGNORED = Answer(0, 0, False, NONE, False)

SYNS: dict[str, tuple[tuple[Option, ...], Answer]] = {
    "plain": ((MSS,), IGNORED),
    "no option at all": ((), IGNORED),
    "a good cookie": (GOOD, OPENS),
    "a good cookie first": ((VALID, MSS), OPENS),
    "a good cookie twice": ((MSS, VALID, VALID), MAY_OPEN),
    "good beside spoilt": ((MSS, VALID, SPOILT), MAY_OPEN),
    "good beside a request": ((MSS, REQUEST, VALID), MAY_OPEN),
    "good behind the end": ((MSS, Option("eol"), VALID), IGNORED),
    "good before what is broken": (
        (VALID, Option("raw", kind=99, length=1, data=b"ab")),
        MAY_OPEN,
    ),
    "a spoilt cookie": ((MSS, SPOILT), REFUSED),
    "another client's": ((MSS, cookie(of="other")), REFUSED),
    "cut short": ((MSS, cookie(("cut", 4))), REFUSED),
    "padded": ((MSS, cookie(("pad", 2))), REFUSED),
    "of an odd size": ((MSS, cookie(("cut", 7))), IGNORED),
    "too long": ((MSS, cookie(("repeat", 18))), IGNORED),
    "a request": ((MSS, REQUEST), GRANTED),
    "two requests": ((MSS, REQUEST, REQUEST), MAY_GRANT),
    "a form that it does not speak": ((MSS, cookie(kind=254)), IGNORED),
    "another experiment": ((MSS, Option("raw", kind=254, data=b"ab", cookie=Cookie())), IGNORED),
    "its cookie in a stranger": ((MSS, Option("raw", kind=99, cookie=Cookie())), IGNORED),
}


@pytest.mark.parametrize(("options", "answer"), SYNS.values(), ids=SYNS)
def test_each_kind_of_syn(options: tuple[Option, ...], answer: Answer) -> None:
    rule = rule_of(options)
    found = Answer(rule.least, rule.most, rule.early, rule.forms, rule.granting)
    assert found == answer


kinds = pytest.mark.parametrize("options", [options for options, _ in SYNS.values()], ids=SYNS)


@kinds
def test_without_fast_open_no_option_counts(options: tuple[Option, ...]) -> None:
    for rule in (rule_of(options, port="plain"), rule_of(options, OFF)):
        assert (rule.most, rule.early, rule.forms, rule.granting) == (0, False, NONE, False)


@kinds
@pytest.mark.parametrize("profile", [RFC, EVERY_FORM, HOLDS, OFF])
def test_every_rule_is_whole(options: tuple[Option, ...], profile: Profile) -> None:
    catalogue = set(spec.load())
    for flags in ("S", "SF", "SEW"):
        for size in (0, 1, 536, 537, 1400):
            rule = rule_of(options, profile, flags, size)
            assert 0 <= rule.least <= rule.most <= size
            clauses = {rule.silent, rule.taken, rule.refused, rule.option, rule.ungranted}
            assert clauses <= catalogue
            assert rule.early or rule.most in (0, size if profile.holds_data else 0)


def test_forms_that_it_speaks_are_answered() -> None:
    assert rule_of((MSS, cookie(kind=254)), EVERY_FORM).forms == OLD
    assert rule_of((MSS, Option("fo", kind=254)), EVERY_FORM).granting
    assert rule_of((MSS, REQUEST, Option("fo", kind=254)), EVERY_FORM).forms == IANA | OLD


def test_plain_data_may_be_held() -> None:
    assert rule_of((MSS,), HOLDS).most == SIZE
    assert not rule_of((MSS,), HOLDS).early
    assert rule_of((MSS, SPOILT), HOLDS).most == 0


def test_more_than_a_default_segment_may_be_cut() -> None:
    assert rule_of(GOOD, size=536).least == 536
    rule = rule_of(GOOD, size=537)
    assert (rule.least, rule.most) == (0, 537)


def test_a_small_listener_may_be_full() -> None:
    assert rule_of(GOOD, port="small").least == 0
    assert not rule_of((MSS, REQUEST), port="small").granting


@pytest.mark.parametrize(
    ("flags", "options", "owed"),
    [
        ("S", GOOD, True),
        ("SEW", GOOD, True),
        ("SF", GOOD, False),
        ("S", (MSS, Option("raw", kind=99, length=1, data=b"ab")), False),
        ("S", (MSS, cookie(("cut", 3))), True),
    ],
)
def test_who_must_be_answered(flags: str, options: tuple[Option, ...], owed: bool) -> None:
    assert rule_of(options, flags=flags).owed is owed


TAKEN = {
    "SRV-1": (MSS, cookie(of="other")),
    "SRV-2": (MSS, SPOILT),
    "SRV-10": (MSS, cookie(("cut", 4))),
    "OPT-3": (MSS, cookie(("cut", 7))),
    "OPT-7": (MSS, SPOILT, Option("raw", kind=99)),
    "OPT-8": (MSS, SPOILT, SPOILT),
    "OPT-10": (MSS, Option("eol"), VALID),
    "OPT-13": (MSS, Option("raw", kind=254, data=b"ab", cookie=Cookie())),
    "REL-1": (MSS, Option("raw", kind=11, cookie=Cookie())),
    "REL-2": (MSS, Option("raw", kind=253, data=bytes(8))),
    "ACC-4": (MSS,),
}


@pytest.mark.parametrize(("clause", "options"), TAKEN.items(), ids=TAKEN)
def test_text_that_is_taken_without_right_names_the_cookie(
    clause: str, options: tuple[Option, ...]
) -> None:
    assert rule_of(options).taken == clause


def test_no_fast_open_has_clauses_of_its_own() -> None:
    assert rule_of(GOOD, port="plain").taken == "ACC-1"
    assert rule_of((MSS,), port="plain").taken == "ACC-4"
    assert rule_of((MSS, SPOILT), flags="SF").silent == "ACC-12"
    assert rule_of(GOOD, flags="SEW").refused == "ACC-10"
    assert rule_of(GOOD, wraps=True).refused == "ACC-11"
    assert rule_of((VALID, MSS)).refused == "OPT-5"
    assert rule_of((MSS, Option("ts"), VALID)).refused == "OPT-5"
    assert rule_of(GOOD).refused == "ACC-2"
    assert rule_of(GOOD, size=0).refused == "ACC-5"

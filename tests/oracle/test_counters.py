"""A target's counters are compared with the packets on the wire."""

from __future__ import annotations

import pytest

from scapy_tfo.oracle.counters import ACCEPTED, MISCOUNTS, REFUSED, REQUESTS, Balance
from scapy_tfo.program.options import may_open
from tests.oracle.conversations import GOOD, Conversation

START = {ACCEPTED: 100, REFUSED: 20, REQUESTS: 3, "TCPFastOpenListenOverflow": 1}


def _weighed(balance: Balance, accepted: int, refused: int, requests: int) -> str:
    rose = {ACCEPTED: accepted, REFUSED: refused, REQUESTS: requests}
    return balance.weigh({name: value + rose.get(name, 0) for name, value in START.items()})


def _noted(opening: int, taken: int, granted: int) -> Balance:
    balance = Balance()
    balance.begin(START)
    balance.opening, balance.taken, balance.granted = opening, taken, granted
    return balance


@pytest.mark.parametrize(
    ("noted", "rose", "why"),
    [
        ((0, 0, 0), (0, 0, 0), ""),
        ((9, 4, 3), (5, 2, 2), ""),
        # SYNs get lost, and cookies without text are accepted unseen.
        ((9, 0, 0), (0, 0, 0), ""),
        ((9, 0, 0), (4, 0, 0), ""),
        ((9, 4, 3), (6, 2, 2), "9 SYNs may have had the option"),
        ((0, 0, 0), (0, 0, 1), "0 SYNs may have had the option"),
        ((9, 4, 0), (3, 3, 3), "the text of 4 SYNs was acknowledged"),
        ((9, 0, 4), (1, 1, 1), "4 cookies were granted"),
        ((9, 0, 0), (5, -1, 0), "none may go back"),
    ],
)
def test_the_sums(noted: tuple[int, int, int], rose: tuple[int, int, int], why: str) -> None:
    told = _weighed(_noted(*noted), *rose)
    assert (told.startswith(MISCOUNTS), told.endswith(f"but {why}")) == (bool(why), bool(why))


def test_what_was_weighed_does_not_count_again() -> None:
    balance = _noted(9, 4, 3)
    assert _weighed(balance, 5, 2, 2) == ""
    assert _weighed(balance, 5, 2, 2) == ""
    assert _weighed(balance, 6, 2, 2) != ""


@pytest.mark.parametrize("counters", [{}, {ACCEPTED: 1}])
def test_a_target_that_counts_nothing_is_believed(counters: dict[str, int]) -> None:
    balance = Balance()
    balance.begin(counters)
    balance.taken = 5
    assert balance.weigh(counters) == ""


def test_only_what_went_right_is_counted_on() -> None:
    right = Conversation().opened(size=20)
    # The SYN-ACK of an older connection on these ports.
    wrong = Conversation().syn(size=20, options=GOOD).answered(taken=25)
    assert wrong.link.vague
    balance = Balance()
    for each in (right, wrong):
        balance.note(each.link)
    assert balance.taken == 1


@pytest.mark.parametrize(
    ("block", "may"),
    [
        ("", False),
        ("020405b4", False),
        ("2202", True),
        ("fe04f989", True),
        # Nobody should look behind EOL, but a wrong stack may.
        ("00002202", True),
    ],
)
def test_a_syn_that_may_have_the_option(block: str, may: bool) -> None:
    assert may_open(bytes.fromhex(block)) is may

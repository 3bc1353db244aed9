"""What is judged of a target whose application is unknown, and what no longer is."""

from __future__ import annotations

import pytest

from scapy_tfo.oracle.parts.application import Unknown
from tests.oracle.conversations import GOOD, MSS, SPOILT, Case, Conversation

OTHER = b"HTTP/1.1 200 OK"


def half_open(size: int = 20) -> Conversation:
    it = Conversation(application=Unknown())
    return it.syn(size=size, options=GOOD).answered(taken=size)


def opened() -> Conversation:
    return half_open().send(".", 21, 1)


def said(it: Conversation, flags: str = "P.") -> Conversation:
    return it.came(flags, it.link.inbound.received, it.link.outbound.acked, OTHER)


RULES: dict[str, Case] = {
    "text before the handshake, without a cookie": (
        lambda: Conversation(application=Unknown()).syn(size=20, options=(MSS, SPOILT)).answered(),
        said,
        lambda it: said(it.send(".", 1, 1)),
        ("early-text", "SRV-2"),
    ),
    "text beyond the window": (
        lambda: half_open().send(".", 21, 1, window=14),
        lambda it: it.came("P.", 1, 21, bytes(65536)),
        said,
        ("over-window", "AFT-7"),
    ),
    "acknowledging what was never sent": (
        opened,
        lambda it: it.came(".", 1, 22),
        lambda it: it.came(".", 1, 21),
        ("ack-beyond", "ACC-10"),
    ),
    "RST before the application has the connection": (
        lambda: Conversation(application=Unknown()).syn().answered(),
        lambda it: it.came("R", 1),
        lambda it: it.send(".", 1, 1).came("R", 1),
        ("reset", "ACC-9"),
    ),
}


@pytest.mark.parametrize(("begin", "wrong", "right", "broken"), RULES.values(), ids=RULES)
def test_rules_of_the_transport_hold_with_any_application(
    begin: object, wrong: object, right: object, broken: tuple[str, str]
) -> None:
    assert callable(begin)
    assert callable(wrong)
    assert callable(right)
    assert begin().broken == []
    assert wrong(begin()).broken[:1] == [broken]
    assert right(begin()).broken == []


def test_any_text_may_come_and_none_has_to() -> None:
    it = opened()
    assert it.owed is None
    assert said(said(it)).broken == []
    assert it.link.inbound.received == 1 + 2 * len(OTHER)
    assert it.send(".", 21, "all").at(30.0).overdue is None


def test_the_application_may_close_first_and_need_not_close_at_all() -> None:
    assert said(opened(), "FP.").broken == []
    it = opened().send("F.", 21, 1)
    assert it.owed == ("no-ack", "AFT-2")
    assert it.came(".", 1, 22).owed is None


def test_what_was_said_is_sent_again() -> None:
    assert said(opened()).at(4.0).overdue == "no-repeat"


def test_an_acknowledgment_of_what_may_have_been_said_is_none_too_many() -> None:
    """Before the handshake ends nothing was said that a cookie did not allow."""
    it = opened().send(".", 21, 5000)
    assert (it.owed, it.link.state) == (None, "OPEN")
    refused = Conversation(application=Unknown()).syn(options=(MSS,)).answered()
    assert refused.send(".", 1, 5000).owed == ("no-answer", "AFT-4")


# What may be lost before it comes to the target.


def lossy() -> Conversation:
    return Conversation(certain=False)


def test_nothing_is_owed_for_what_may_not_have_come() -> None:
    assert lossy().syn(size=20, options=GOOD).owed is None
    assert lossy().send(".", 1, 77).owed is None
    assert Conversation(certain=False, port="closed").syn().owed is None
    it = lossy().syn(size=20, options=GOOD).answered(taken=20)
    assert it.send(".", 21, 5000).owed is None
    it = lossy().syn(size=20, options=GOOD).answered(taken=20).send("P.", 21, 1, 10)
    assert (it.owed, it.link.state) == (None, "SYN-RCVD or OPEN")
    assert it.came(".", 1, 21).broken == []
    assert it.came(".", 1, 31).broken == []
    assert [rule for rule, _ in it.came(".", 1, 32).broken] == ["ack-beyond"]


def test_a_rst_that_may_not_have_come_leaves_both_states() -> None:
    it = lossy().syn(size=20, options=GOOD).answered(taken=20).send("R", 21)
    assert it.link.state == "LISTEN or SYN-RCVD"
    assert it.at(2.0).answered(taken=20).broken == []


def test_the_same_syn_again_is_answered_as_the_first() -> None:
    it = lossy().syn(size=20, options=GOOD).at(1.0).syn(size=20, options=GOOD)
    assert it.link.state == "LISTEN or SYN-RCVD"
    assert it.came("S.", 0, 21, options=(MSS,)).broken == []
    other = lossy().syn(size=20, options=GOOD).at(1.0).syn()
    assert other.link.state == "unsure"


def test_a_fin_that_may_not_have_come_can_be_sent_again() -> None:
    it = lossy().syn(size=20, options=GOOD).answered(taken=20).send(".", 21, 1).send("F.", 21, 1)
    assert (it.owed, it.link.state) == (None, "SYN-RCVD or OPEN")
    assert it.send("F.", 21, 1).echoed(1, 20, "F.", 22).broken == []
    inside = lossy().syn(size=20, options=GOOD).answered(taken=20).send("P.", 21, 1, 10)
    assert inside.send("F.", 25, 1).link.state == "unsure"


def test_an_answer_shows_that_the_syn_came() -> None:
    assert lossy().syn(size=20, options=GOOD).answered().broken == [("refuses-text", "ACC-2")]
    assert lossy().syn(size=20, options=GOOD).answered(taken=20).broken == []

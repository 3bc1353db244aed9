"""The rules at the end that connects: what it offers and agrees on, and which rules are not its."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scapy_tfo import option as opt
from scapy_tfo.oracle.conduct.conduct import Conduct, Tally
from scapy_tfo.oracle.conduct.history import History, Population
from scapy_tfo.oracle.conduct.parts.pieces import Numbers
from scapy_tfo.segment import ACK, CWR, ECE, RST, SYN, Segment
from tests.oracle.conduct.conversation import CLIENT, ISN, ISS, PERMITTED, SERVER, block, scale

MSS = opt.mss(1460)


class Connecting:
    """A client that is judged: `says` returns what each of its segments breaks."""

    def __init__(self, population: Population | None = None, *, key: int = 0) -> None:
        self.key = key
        history = History(key, population, opens=True)
        self.conduct = Conduct(history, Tally())

    def says(
        self,
        flags: int = ACK,
        data: bytes = b"",
        *,
        seq: int = 1,
        ack: int = 1,
        options: Iterable[opt.RawOption] = (),
        iss: int = ISS,
        at: float = 0.0,
        **fields: int,
    ) -> Sequence[str]:
        segment = Segment(
            src=CLIENT, dst=SERVER, sport=40_000 + self.key, dport=80,
            seq=(iss + (0 if flags & SYN else seq)) % 2**32,
            ack=(ISN + ack) % 2**32 if flags & ACK else 0,
            flags=flags, payload=data, options=block(*options), **fields,
        )  # fmt: skip
        return [each.rule for each in self.conduct.came(segment, at, 0)]

    def hears(
        self,
        flags: int = ACK,
        data: bytes = b"",
        *,
        seq: int = 1,
        ack: int = 1,
        options: Iterable[opt.RawOption] = (),
    ) -> None:
        segment = Segment(
            src=SERVER, dst=CLIENT, sport=80, dport=40_000 + self.key,
            seq=(ISN + (0 if flags & SYN else seq)) % 2**32, ack=(ISS + ack) % 2**32,
            flags=flags, payload=data, options=block(*options),
        )  # fmt: skip
        self.conduct.sent(segment)

    def opened(self, offered: Iterable[opt.RawOption], answered: Iterable[opt.RawOption]) -> None:
        assert self.says(SYN, options=offered) == []
        self.hears(SYN | ACK, options=answered)


TIMES = opt.timestamps(100, 0)
ANSWER = opt.timestamps(500, 100)


def test_its_syn_is_no_breach() -> None:
    assert Connecting().says(SYN, options=[MSS, PERMITTED, TIMES, scale(7)]) == []


def test_it_may_ask_for_accurate_ecn_and_send_the_bit_later() -> None:
    talk = Connecting()
    assert talk.says(SYN | ECE | CWR, reserved=1) == []
    talk.hears(SYN | ACK)
    assert talk.says(reserved=1) == []


def test_reserved_bits_without_ecn() -> None:
    talk = Connecting()
    talk.opened([MSS], [MSS])
    assert talk.says(reserved=1) == ["reserved-bits"]


def test_timestamps_as_agreed() -> None:
    talk = Connecting()
    talk.opened([MSS, TIMES], [MSS, ANSWER])
    assert talk.says(options=[opt.timestamps(101, 500)]) == []
    assert talk.says() == ["times-missing"]


def test_timestamps_that_only_one_end_offers() -> None:
    talk = Connecting()
    talk.opened([MSS, TIMES], [MSS])
    assert talk.says() == []
    assert talk.says(options=[opt.timestamps(101, 0)]) == ["times-not-agreed"]


def test_what_it_acknowledges_was_sent() -> None:
    talk = Connecting()
    talk.opened([MSS], [MSS])
    talk.hears(ACK, b"abc")
    assert talk.says(ack=4) == []
    assert talk.says(ack=5) == ["ack-of-nothing"]


def test_a_syn_ack_of_something_else_is_rejected_and_offers_nothing() -> None:
    talk = Connecting()
    assert talk.says(SYN, options=[MSS, TIMES]) == []
    talk.hears(SYN | ACK, ack=7, options=[MSS, ANSWER])
    assert talk.says(RST, seq=7) == []
    talk.hears(SYN | ACK, options=[MSS])
    assert talk.says() == []


def test_two_syn_acks_that_differ_leave_open_what_was_agreed() -> None:
    talk = Connecting()
    talk.opened([MSS, TIMES], [MSS, ANSWER])
    talk.hears(SYN | ACK, options=[MSS])
    assert talk.says() == []


def test_text_in_its_syn_may_be_acknowledged_in_part() -> None:
    talk = Connecting()
    assert talk.says(SYN, b"abcdef", options=[MSS]) == []
    talk.hears(SYN | ACK, ack=4, options=[MSS])
    assert talk.says(ACK, b"def", seq=4) == []
    assert talk.says(ACK, b"xyz", seq=4) == ["text-changes"]


def test_text_beyond_the_window_of_the_syn_ack() -> None:
    talk = Connecting()
    assert talk.says(SYN, options=[MSS]) == []
    talk.conduct.sent(
        Segment(
            src=SERVER,
            dst=CLIENT,
            sport=80,
            dport=40_000,
            seq=ISN,
            ack=ISS + 1,
            flags=SYN | ACK,
            window=3,
            options=block(MSS),
        )
    )
    assert talk.says(ACK, b"abc") == []
    assert talk.says(ACK, b"defgh", seq=4) == ["over-the-syn-window"]


def test_one_iss_for_all_connections() -> None:
    population = Population()
    found = [
        Connecting(population, key=key).says(SYN, at=float(key), options=[MSS]) for key in range(6)
    ]
    assert found == [[], [], [], [], ["iss-constant"], ["iss-constant"]]


def test_numbers_that_were_dropped_count_as_known() -> None:
    numbers = Numbers()
    for each in range(20_000):
        numbers.add(each)
    assert 0 in numbers
    assert 19_999 in numbers
    assert 20_000 not in numbers

"""The account of one connection: its SYN and the answer to it, as both ends saw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scapy_tfo import seq
from scapy_tfo.icmp import IcmpError
from scapy_tfo.path.flows import Flows, Seen, clocks
from scapy_tfo.path.observation import Observations, Trial
from scapy_tfo.segment import ACK, Segment

SLACK = 0.2
"""Seconds that a packet may be early or late by chance. SYNs are sent again after a second."""


@dataclass(frozen=True)
class Account:
    """One connection.

    syn: the first one as it was sent. arrived: as it came, None where it did not; copies: how
    often; late: seconds more than a plain SYN takes. behind: data that came behind the SYN, in
    segments that acknowledge nothing. retries, retries_arrived: later SYNs.
    answer: the SYN-ACK to the first SYN as it was sent; heard: as it came. syn_acks: all that came.
    prompt: the SYN-ACK that came before any other SYN went; round_trip: seconds to it.
    forged: RSTs and ICMP errors that came though the far end had sent none.
    peer: the client as the far end sees it. delivered: what its applications read.
    has_far: the far end's word is there.
    """

    trial: Trial
    syn: Segment
    has_far: bool
    arrived: Segment | None = None
    copies: int = 0
    late: float = 0.0
    behind: bytes = b""
    retries: int = 0
    retries_arrived: int = 0
    answer: Segment | None = None
    heard: Segment | None = None
    syn_acks: tuple[Segment, ...] = ()
    prompt: Segment | None = None
    round_trip: float | None = None
    forged: tuple[Segment | IcmpError, ...] = ()
    peer: tuple[str, int] | None = None
    delivered: tuple[bytes, ...] = ()

    @property
    def elsewhere(self) -> bool:
        """Another host than the far end answered."""
        return self.has_far and self.arrived is None and self.prompt is not None

    @property
    def lost(self) -> bool:
        """The first SYN never came."""
        return self.has_far and self.arrived is None

    @property
    def option_gone(self) -> bool | None:
        if self.arrived is None:
            return None
        return bool(self.syn.fast_open and not self.arrived.fast_open)

    @property
    def option_changed(self) -> bool | None:
        if self.arrived is None:
            return None
        came = self.arrived.fast_open
        return bool(came and came != self.syn.fast_open)

    @property
    def data_gone(self) -> bool | None:
        if self.arrived is None:
            return None
        return bool(self.syn.payload and not self.arrived.payload)

    @property
    def data_cut(self) -> bool | None:
        if self.arrived is None:
            return None
        sent, came = self.syn.payload, self.arrived.payload
        return 0 < len(came) < len(sent) and sent.startswith(came)

    @property
    def data_changed(self) -> bool | None:
        if self.arrived is None:
            return None
        return not self.syn.payload.startswith(self.arrived.payload)

    @property
    def doubled(self) -> bool | None:
        return None if self.arrived is None else self.copies > 1

    @property
    def answer_stripped(self) -> bool | None:
        """None also where the answer brought no option."""
        if self.answer is None or self.heard is None or not self.answer.fast_open:
            return None
        return not self.heard.fast_open

    @property
    def cookie_lost(self) -> bool | None:
        """The answer, which brought a cookie, never came, but another did."""
        if self.answer is None or not self.answer.cookie or not self.syn_acks:
            return None
        return self.heard is None and not any(each.cookie for each in self.syn_acks)

    @property
    def cut_off(self) -> bool | None:
        """Nothing passed behind the first SYN, not even plain ones."""
        if self.retries and not self.retries_arrived and not self.syn_acks:
            return not self.forged
        return None if self.lost else False

    @property
    def acknowledged_more(self) -> bool | None:
        """The SYN-ACK acknowledges more than it did when the far end sent it."""
        if self.answer is None or self.heard is None or self.arrived is None:
            return None
        said = seq.distance(self.arrived.seq, self.answer.ack)
        return seq.distance(self.syn.seq, self.heard.ack) > said

    @property
    def accepted(self) -> bool:
        """A SYN-ACK came that acknowledges some of the SYN's data."""
        return any(seq.distance(self.syn.seq, each.ack) > 1 for each in self.syn_acks)

    @property
    def replayed(self) -> bool:
        """Applications were handed its data more than once."""
        return sum(each.startswith(self.trial.text[0]) for each in self.delivered) > 1

    @property
    def whole(self) -> bool:
        """All that the application sent was read on the other side, once, and echoed."""
        read = [each for each in self.delivered if each]
        seen = self.has_far and not self.elsewhere
        return self.trial.complete and (not seen or read == [b"".join(self.trial.text)])


def accounts(observations: Observations) -> list[Account]:
    """What became of each connection, in order."""
    flows = Flows.read(observations.far or ())
    out, home = clocks(observations, flows)
    return [_account(each, observations, flows, out, home) for each in observations.trials]


def _near(trial: Trial) -> tuple[list[Seen], list[Seen]]:
    """The SYNs that went and the SYN-ACKs that came."""
    syns, syn_acks = [], []
    for each in trial.near:
        segment = each.segment
        if segment is None:
            continue
        if each.sent and segment.is_syn:
            syns.append((each.when, segment))
        elif not each.sent and segment.is_syn_ack:
            syn_acks.append((each.when, segment))
    return syns, syn_acks


def _account(
    trial: Trial, observations: Observations, flows: Flows, out: float, home: float
) -> Account:
    syns, syn_acks = _near(trial)
    (sent_at, syn), later = syns[0], syns[1:]
    keys = flows.of(trial, syn.seq)
    came = sorted((each for key in keys for each in flows.came[key]), key=lambda each: each[0])
    went = sorted(
        (each for key in keys for each in flows.went.get(key, ())), key=lambda each: each[0]
    )
    arrivals = [each for each in came if each[1].is_syn]
    marked = [each for each in arrivals if each[1].fast_open or each[1].payload]
    until = later[0][0] + out - SLACK if later else float("inf")
    first = marked or [each for each in arrivals if each[0] < until]
    answer = heard = None
    if first:
        answers = [each for each in went if each[1].is_syn_ack and each[0] >= first[0][0]]
        if answers:
            answered_at, answer = answers[0]
            due = answered_at + home
            near = [each for when, each in syn_acks if -SLACK <= when - due < 0.5]
            heard = near[0] if near else None
    peers = {(key[0], key[1]) for key in keys}
    prompt = [each for each in syn_acks if not later or each[0] < later[0][0]]
    return Account(
        trial=trial,
        syn=syn,
        has_far=observations.far is not None,
        arrived=first[0][1] if first else None,
        copies=len(first),
        late=first[0][0] - sent_at - out if first else 0.0,
        behind=b"".join(
            each.payload for _, each in came if not each.flags & ACK and not each.is_syn
        ),
        retries=len(later),
        retries_arrived=len(arrivals) - len(first),
        answer=answer,
        heard=heard,
        syn_acks=tuple(each for _, each in syn_acks),
        prompt=prompt[0][1] if prompt else None,
        round_trip=prompt[0][0] - sent_at if prompt else None,
        forged=_forged(trial, went, observations.far is not None),
        peer=next(iter(sorted(peers)), None),
        delivered=tuple(each.received for each in observations.heard if each.peer in peers),
    )


def _forged(trial: Trial, went: Sequence[Seen], has_far: bool) -> tuple[Segment | IcmpError, ...]:
    """RSTs and ICMP errors before any SYN-ACK, which the far end did not send."""
    if has_far and any(segment.is_rst for _, segment in went):
        return ()
    found: list[Segment | IcmpError] = []
    for each in trial.near:
        segment, error = each.segment, each.icmp
        if each.sent:
            continue
        if segment is not None and segment.is_syn_ack:
            break
        if segment is not None and segment.is_rst:
            found.append(segment)
        elif error is not None:
            found.append(error)
    return tuple(found)

"""Defines the matrix of clients: their cases, their mutants, and how they are simulated."""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo.clients.judge import Options
from scapy_tfo.clients.registry import all_cases
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.mutants.registry import all_client_mutants
from scapy_tfo.spec import Catalogue, Requirement
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Result
from scapy_tfo.trust.assertion_finder import Exempt, Source
from scapy_tfo.trust.matrix import Arena

_FROM_OUTSIDE = {"wire", "command"}

_WITH_ANOTHER = {"CLI-8"}
"""Requirements that nothing but another one shows on the wire, as their notes say."""


def is_observable(requirement: Requirement) -> bool:
    """Whether a case can check it: a client's, seen in packets or from its command."""
    seen = bool(_FROM_OUTSIDE & set(requirement.observed))
    return requirement.role == "client" and seen and requirement.id not in _WITH_ANOTHER


def _simulate(
    name: str, cases: Sequence[Case], catalogue: Catalogue, family: int
) -> tuple[Result, ...]:
    options = Options(slow=True, families=(family,), capture=False, meets_bystanders=False)
    return simulate(f"sim:{name}", cases, catalogue, options).results


_SILENCE = "client_cases.silence"

_KERNEL = "clients in simulation have no kernel that could be asked; live ones have"

_RECORDED = (
    "the case only records: the reference ends at its last demand, and the one mutant nowhere"
)

CLIENT_CASES = Source(
    package="scapy_tfo.client_cases",
    shared=(
        ("scapy_tfo.clients.connection", "Incoming"),
        ("scapy_tfo.clients.server", "Server"),
    ),
    demands=frozenset(
        {
            *("acked", "closes", "connected", "connection", "expect", "grant"),
            *("must_ask", "must_ask_and_no_more", "must_be_content", "must_be_plain"),
            *("must_be_told", "must_not_open_fast", "must_use", "must_use_no_other", "refused"),
            *("require", "rst", "serve", "syn_again", "text", "until"),
        }
    ),
    handshakes=frozenset({"acked", "serve", "text"}),
    exempt=(
        *(
            Exempt("clients.server.Server._must_agree", code, _KERNEL)
            for code in (
                "connection.require(word == saw or (again and word.accepted == saw.accepted), "
                '"the client\'s kernel says otherwise of its fast open (TCP_INFO)", str(saw), '
                "str(word))",
                "word == saw",
                "again",
                "word.accepted == saw.accepted",
                "len(connection.syns) > 1",
            )
        ),
        Exempt(
            "clients.connection.Incoming.serve",
            "await self.server.must_be_content(self, b'')",
            "of a relayed conversation, which there is none of in simulation",
        ),
        Exempt(
            "client_cases.cookies.a_cookie_of_the_experimental_form_comes_back_in_it",
            "client.must_use_no_other(server.cookie, "
            "'another cookie than the server granted is used')",
            "the next one fails the case as well, at the level of a weaker requirement",
        ),
        Exempt(
            "client_cases.several_hosts._accepted",
            "client.must_use_no_other(server.cookie, "
            "'a cookie that this server never granted is used')",
            "the next one fails the case as well, at the level of a weaker requirement",
        ),
        Exempt(
            "clients.server.Server.must_be_content",
            "ended.status == 0",
            "in simulation an application that fails has received nothing; live it may have",
        ),
        Exempt(
            "clients.server.Server.ended",
            'raise connection.missing("the end of the client\'s application") from None',
            "without it there is nothing that could be judged",
        ),
        Exempt(
            "clients.server.Server.connection",
            "raise Missing(f'{what} did not come', expected=what, actual='nothing') from None",
            "a client that does not connect fails in front of all cases, and is not judged",
        ),
        *(
            Exempt(f"{_SILENCE}.the_syn_timer_follows_the_round_trip_time", code, _RECORDED)
            for code in (
                "client.must_ask()",
                "await client.syn_again('the SYN, sent again')",
                "client.require(took < 5 * _RTT, 'the SYN timer does not follow the round trip "
                "time', f'{1.5 * _RTT:.2f} s', f'{took:.1f} s')",
                "took < 5 * _RTT",
            )
        ),
        Exempt(
            "client_cases.pauses._refuse_until_it_pauses",
            "client.must_not_open_fast(f'after {_MOST_REFUSALS} refusals')",
            "what follows in each case fails as well, and only says less about the cause",
        ),
        Exempt(
            "client_cases.resets.a_rst_behind_part_of_the_answer_is_told",
            "await client.until('an acknowledgement of part of our answer', lambda: not "
            "seq.before(client.their_rcv_nxt, seq.add(client.isn, 5)))",
            "a step: what comes behind is judged when the part has arrived",
        ),
    ),
)
"""What `scapy-tfo client` has. A client is served in every case, whatever else is asked of it."""

CLIENTS = Arena(all_cases, all_client_mutants, _simulate, is_observable, CLIENT_CASES)
"""What `scapy-tfo client` judges."""

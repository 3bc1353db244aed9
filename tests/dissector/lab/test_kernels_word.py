"""Outcomes that the plugin reads from real captures, compared with the kernels' own reports."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest
from mapping import CLIENT, CLIENT_COUNTERS, NEVER_ANSWERED, NOT_ACKED, SERVER_COUNTERS
from readings import OUT_OF_ORDER, PASSES, outcomes
from tshark import needs_tshark
from two_kernels import Evidence, Word

pytestmark = needs_tshark

needs_sharkd = pytest.mark.skipif(
    shutil.which("sharkd") is None, reason="sharkd is not installed: it comes with tshark"
)
in_each_mode = pytest.mark.parametrize(
    "mode", [*PASSES, pytest.param(OUT_OF_ORDER, marks=needs_sharkd)]
)


def shown(evidence: Evidence, where: str, mode: str) -> dict[int, str]:
    """The outcome of each connection by the client's port."""
    return outcomes(evidence.captures[where], mode)


def differing(found: dict[int, str], words: list[Word], side: str) -> list[str]:
    return [
        f"{word}: {found.get(word.port, '')!r} for {wanted!r}"
        for word in words
        if found.get(word.port, "") != (wanted := getattr(word.step, side))
    ]


@in_each_mode
class TestAtTheClient:
    def test_each_connection_came_to_what_was_done_to_it(
        self, evidence: Evidence, mode: str
    ) -> None:
        found = shown(evidence, "client", mode)
        assert differing(found, evidence.words, "outcome") == []

    def test_the_kernel_says_the_same_of_each(self, evidence: Evidence, mode: str) -> None:
        found = shown(evidence, "client", mode)
        assert [
            f"{word}: {outcome!r}, {said}"
            for word in evidence.words
            if (said := (word.acked, word.failed))
            not in CLIENT[outcome := found.get(word.port, "")]
        ] == []

    def test_it_is_replayed_where_applications_were_handed_it_twice(
        self, evidence: Evidence, mode: str
    ) -> None:
        found = shown(evidence, "client", mode)
        twice = {word.port for word in evidence.words if len(word.delivered) > 1}
        assert twice == {port for port, outcome in found.items() if outcome == "replayed"}

    def test_the_namespaces_counters_agree(self, evidence: Evidence, mode: str) -> None:
        found = shown(evidence, "client", mode)
        counts = Counter(_at_client(found.get(word.port, ""), word) for word in evidence.words)
        kernel = evidence.counters["client"]
        for name in set(CLIENT_COUNTERS.values()):
            assert (name, counts[name]) == (name, kernel[name])


@in_each_mode
class TestAtTheServers:
    def test_each_connection_came_to_what_the_server_saw(
        self, evidence: Evidence, mode: str
    ) -> None:
        for where in evidence.captures.keys() - {"client"}:
            found = shown(evidence, where, mode)
            words = [word for word in evidence.words if word.conversation.server == where]
            assert differing(found, words, "seen_by_server") == []

    def test_the_namespaces_counters_agree(self, evidence: Evidence, mode: str) -> None:
        for where in evidence.counters.keys() - {"client"}:
            found = shown(evidence, where, mode)
            counts: Counter[str] = Counter()
            for word in evidence.words:
                if word.conversation.server == where:
                    counts += _at_server(found.get(word.port, ""), word)
            kernel = evidence.counters[where]
            for name in set(SERVER_COUNTERS.values()):
                assert (name, counts[name]) == (name, kernel[name])


def _at_client(outcome: str, word: Word) -> str | None:
    """The client's counter that a connection adds to: by the kernel's own word only where the
    outcome allows more than one."""
    allowed = CLIENT[outcome]
    said = next(iter(allowed)) if len(allowed) == 1 else (word.acked, word.failed)
    if (outcome, said) == NEVER_ANSWERED:
        return CLIENT_COUNTERS[False, NOT_ACKED]
    return CLIENT_COUNTERS.get(said)


def _at_server(outcome: str, word: Word) -> Counter[str]:
    """What a connection adds to the server's counters."""
    if outcome == "replayed":
        return Counter({SERVER_COUNTERS["accepted"]: len(word.delivered)})
    if outcome == "unknown" and not word.step.data:
        # A good cookie counts, though there was nothing to accept.
        return Counter({SERVER_COUNTERS["accepted"]: 1})
    name = SERVER_COUNTERS.get(outcome)
    return Counter({name: 1} if name else {})

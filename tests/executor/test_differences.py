"""Two targets are compared: the differences that count, and the findings made of them."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.executor.differences import DIFFERS, difference
from scapy_tfo.executor.digest import END, Rst, Seen, SynAck, Window
from scapy_tfo.executor.pair import LONGEST
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.generation.grammar import program_for
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program.program import Cookie, Expect, Flow, Option, Program, Send, Wait
from scapy_tfo.targets.benches import open_bench

FAST_OPEN = (Option("mss", 1460), Option("fo", cookie=Cookie()))

PLAIN = Seen(
    state="LISTEN",
    opening="open",
    syn_acks=frozenset([SynAck(21, "no option")]),
    rsts=frozenset(),
    ack=21,
    text=20,
    fin=False,
    size=21,
    vague=False,
    narrow=False,
)


def verdict(*flows: Seen, step: int = 1) -> Verdict:
    return Verdict(digest=(Window(step, flows),))


@pytest.mark.parametrize(
    ("change", "step", "reply"),
    [
        ({"text": 10}, 1, None),
        ({"text": 10}, END, "more text / less text"),
        ({"text": 0}, 1, "more text / no text"),
        ({"text": 0, "narrow": True}, END, None),
        ({"ack": 1}, 1, "more acknowledged / less acknowledged"),
        ({"ack": 1, "vague": True}, END, None),
        ({"ack": 1, "vague": True}, 1, "more acknowledged / less acknowledged"),
        ({"fin": True}, 1, "no FIN / FIN"),
        (
            {"syn_acks": frozenset([SynAck(1, "no option")]), "ack": 1, "text": 0},
            1,
            "SYN-ACK of all, no option / SYN-ACK of SYN, no option",
        ),
        ({"syn_acks": frozenset()}, 1, "SYN-ACK of all, no option / no SYN-ACK"),
        ({"rsts": frozenset([Rst(0, 21)])}, 1, "no RST / RST+ACK"),
        ({"rsts": frozenset([Rst(7, None)])}, END, "no RST / RST"),
        ({"state": "SYN-RCVD", "size": 30}, 1, None),
    ],
)
def test_what_counts(change: dict[str, Any], step: int, reply: str | None) -> None:
    found = difference(verdict(PLAIN, step=step), verdict(replaced(**change), step=step))
    assert (None if found is None else found.reply) == reply
    if found is not None:
        assert found.signature == (DIFFERS, "LISTEN, open", reply, "")


def replaced(**change: Any) -> Seen:
    return PLAIN._replace(**change)


def test_when_both_have_closed_a_late_rst_is_none() -> None:
    closed = replaced(fin=True)
    late = closed._replace(rsts=frozenset([Rst(22, None)]))
    assert difference(verdict(closed, step=END), verdict(late, step=END)) is None
    assert difference(verdict(closed), verdict(late)) is not None


def test_what_the_model_says_counts_behind_what_was_shown() -> None:
    broken = Violation("AFT-11", "sack", "OPEN", "ack", 0, 2, "none", "a block")
    ours = replace(verdict(PLAIN), violations=(broken,))
    found = difference(ours, verdict(PLAIN))
    assert found is not None
    assert (found.rule, found.reply) == ("differs-model", "sack ack / as modelled")
    assert difference(ours, ours) is None


def test_the_reference_does_not_differ_from_itself() -> None:
    with closing(open_bench("sim:reference against sim:reference")) as bench:
        programs = [(seed, program_for(seed, "rfc")) for seed in range(500)]
        found = [each for _, seen in bench.run(programs) for each in seen.violations]
    assert found == []


def digest(program: Program) -> tuple[Window, ...]:
    with closing(SimulatedBench("sim:reference")) as bench:
        bench.watch()
        return bench.trace(program)[0].digest


def test_how_text_is_divided_makes_no_difference() -> None:
    syn = Send(0, "S", size=20, options=FAST_OPEN)
    small = Send(0, "S", size=20, options=(Option("mss", 600), FAST_OPEN[1]))
    more = Send(0, "P.", 21, "all", 1400)
    one, other = (
        digest(Program((Flow(),), (each, Expect(), more, Wait()))) for each in (syn, small)
    )
    assert one == other
    assert [window.step for window in one] == [3, END]
    assert one[0].flows[0].text == 1420


def test_a_syn_ack_sent_again_is_no_new_one() -> None:
    seen = digest(Program((Flow(),), (Send(0, "S", options=FAST_OPEN), Wait(), Wait(4.0))))
    first, second = (each.flows[0] for each in seen[:2])
    assert first.syn_acks == {SynAck(1, "no option")}
    assert second.syn_acks == frozenset()


def test_the_numbers_of_rst_are_relative() -> None:
    steps = (Send(0, "S", size=20, options=FAST_OPEN), Wait(), Send(0, ".", 21, 99), Wait())
    seen = digest(Program((Flow(),), steps))
    assert seen[1].flows[0].rsts == {Rst(99, None)}
    seen = digest(Program((Flow(port="closed"),), (Send(0, "S", size=5), Wait())))
    assert seen[0].flows[0].rsts == {Rst(0, 6)}


def campaign(tmp_path: Path, first: str, second: str, *more: str) -> tuple[int, dict[str, Any]]:
    given = ["fuzz", first, "--against", second, "--programs", "48", "--quiet", *more]
    status = main([*given, "--out", str(tmp_path / "out")])
    found: dict[str, Any] = json.loads((tmp_path / "out" / "results.json").read_text())
    return status, found


@pytest.mark.parametrize(
    ("mutant", "reply"),
    [
        ("data-is-not-acknowledged", "SYN-ACK of all, no option / SYN-ACK of SYN, no option"),
        ("accepts-any-cookie-of-the-right-size", None),
        ("ack-brings-refused-data-back", None),
    ],
)
def test_a_wrong_stack_differs_in_few_steps(
    mutant: str, reply: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = campaign(tmp_path, "sim:reference", f"sim:{mutant}")
    assert status == 0
    assert found["findings"]
    assert min(each["steps"] for each in found["findings"]) <= 5
    first = min(found["findings"], key=lambda each: each["steps"])
    assert first["requirement"] == DIFFERS
    assert {each.get("other", False) for each in first["packets"]} == {False, True}
    if reply is not None:
        assert any(each["reply"] == reply for each in found["findings"])
    store = ["--store", str(tmp_path / "out" / "campaign.sqlite")]
    capsys.readouterr()
    assert main(["fuzz", "show", first["id"], *store]) == 0
    assert capsys.readouterr().out.count("target 192.0.2.1:") >= 2
    assert main(["fuzz", "replay", first["id"], *store]) == 1
    # A script would compare with the reference alone.
    assert main(["fuzz", "export", first["id"], "--format", "pkt", *store]) == 2
    assert "is a difference between two targets" in capsys.readouterr().err
    kept = {each.suffix for each in (tmp_path / "out" / "findings").iterdir()}
    assert kept == {".json", ".pcapng", ".py"}


def test_a_difference_fails_when_told_so(tmp_path: Path) -> None:
    mutant = "sim:data-is-not-acknowledged"
    assert campaign(tmp_path, mutant, "sim:reference", "--strict")[0] == 1


def test_what_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "sim:reference", "--strict"]) == 2
    assert "--strict needs --against" in capsys.readouterr().err
    with pytest.raises(SetupError, match="nobody"):
        open_bench("sim:reference against sim:nobody")


def test_linux_and_the_reference() -> None:
    """What they do alike, at the same time; and a program that would take too long."""
    steps = (Send(0, "S", size=20, options=FAST_OPEN), Wait(), Send(0, "P.", 21, "all", 300))
    program = Program((Flow(),), (*steps, Wait()))
    long = Program((Flow(),), (*steps, Wait(LONGEST + 1)))
    try:
        bench = open_bench("lab:linux against sim:reference")
    except SetupError as error:
        pytest.skip(str(error))
    with closing(bench):
        found = dict(bench.run([(0, program), (1, long)]))
    assert not found[0].violations
    assert not found[0].unjudged
    assert found[1].unjudged

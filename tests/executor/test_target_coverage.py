"""What a target executes: a map that it writes, and the programs that led to it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.executor.bench import Volleyer
from scapy_tfo.executor.play import Play
from scapy_tfo.executor.target_coverage import TARGET, VARIABLE, TargetMap
from scapy_tfo.fuzz.findings.coverage import sorted_out
from scapy_tfo.oracle.parts.profile import Patience, Profile
from scapy_tfo.packet import Ends
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.program import Cookie, Flow, Option, Program, Send, Wait
from scapy_tfo.targets.benches import open_bench
from scapy_tfo.targets.kernel_counters import KernelCounters
from scapy_tfo.targets.mapped import MappedBench, why_unmapped
from tests.executor.test_earlier import PLAIN, SOURCE, DeafToResets, _engine
from tests.executor.test_earlier import TARGET as ADDRESS

RUNTIME = Path(__file__).parents[2] / "docs" / "stacks" / "coverage.c"
PROGRAM = """
#include <stdlib.h>
int main(int count, char **words)
{
    int sum = 0, rounds = count > 1 ? atoi(words[1]) : 0;
    for (int at = 0; at < rounds; at++)
        sum += at;
    if (count > 2)
        sum = sum * 3 + 1;
    return sum & 1;
}
"""


@pytest.fixture
def seen():
    held = TargetMap.make()
    yield held
    held.close()


def _write(seen: TargetMap, at: int, times: int) -> None:
    with seen.path.open("r+b") as file:
        file.write(b"TFO-COV1")
        file.seek(16 + at)
        file.write(bytes([times]))


def test_a_map_tells_pairs_of_branches_and_how_often(seen: TargetMap) -> None:
    assert not seen.is_used
    _write(seen, 0xBEEF, 1)
    assert seen.is_used
    first = seen.take()
    assert first == {f"{TARGET}beef.1"}
    # What was told once is not told again.
    assert seen.take() == frozenset()
    classes = set()
    for times in range(1, 256):
        _write(seen, 10, times)
        classes |= seen.take()
    assert len(classes) == 8
    assert sorted_out(frozenset(classes | {"1ack"})).target == 8
    assert sorted_out(frozenset(classes | {"1ack"})).states == 1


def test_the_map_is_gone_when_it_is_closed() -> None:
    held = TargetMap.make()
    held.close()
    held.close()
    assert not held.path.exists()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")
def test_a_stack_built_with_the_runtime_writes_it(seen: TargetMap, tmp_path: Path) -> None:
    source, built = tmp_path / "main.c", tmp_path / "main"
    source.write_text(PROGRAM)
    runtime = tmp_path / "coverage.o"
    for command in (
        ["gcc", "-Wall", "-Werror", "-c", "-o", runtime, RUNTIME],
        ["gcc", "-fsanitize-coverage=trace-pc", "-o", built, source, runtime],
    ):
        subprocess.run(command, check=True)

    def executed(*words: str) -> frozenset[str]:
        subprocess.run([built, *words], env={**os.environ, VARIABLE: str(seen.path)}, check=False)
        return seen.take()

    plain = executed()
    assert seen.is_used
    assert plain
    # Places are the same wherever the program is loaded, and each way through it is another one.
    assert executed() == plain
    assert executed("3") - plain
    assert executed("3", "x") - executed("3") - plain
    # The same branches, more often.
    places = [{each.partition(".")[0] for each in executed(rounds)} for rounds in ("20", "200")]
    assert places[0] == places[1]
    assert executed("20") != executed("200")
    subprocess.run([built, "5"], check=False)
    assert seen.take() == frozenset()


def test_what_is_executed_belongs_to_those_that_sent_or_heard_something() -> None:
    batch = DeafToResets()
    engine = _engine(batch)
    counted = count()
    engine.seen = lambda: frozenset({f"{TARGET}{next(counted):x}.1"})
    patience = Patience(answer=5.0, linger=0.01)
    found = []
    for port in (40_000, 40_001):
        ends = [Ends(SOURCE.packed, ADDRESS.packed, port, 7)]
        play = Play(PLAIN, ends, Jar(), Profile(), patience, seed=port)
        engine.start(port, PLAIN, play, [], time.monotonic())
        while not play.done:
            list(engine.turn(0.05))
        found.append(play.verdict().edges)
    first, second = found
    assert first
    assert second
    assert not first & second


NETSTAT = """TcpExt: SyncookiesSent TCPFastOpenPassive TCPDSACKRecv
TcpExt: {0} {1} {2}
IpExt: InOctets TCPNothing
IpExt: 100 {1}
"""


def test_counters_that_go_up_are_coverage() -> None:
    values = [(0, 7, 0)]
    counters = KernelCounters(lambda: NETSTAT.format(*values[-1]).encode())
    assert counters.take() == frozenset()
    values.append((0, 8, 5))
    assert counters.take() == {f"{TARGET}TCPFastOpenPassive.1", f"{TARGET}TCPDSACKRecv.4"}
    assert counters.take() == frozenset()


def _edges(bench: MappedBench, *options: Option) -> frozenset[str]:
    steps = (Send(0, "S", size=20, options=options), Wait())
    ((_, verdict),) = bench.run([(0, Program((Flow(),), steps, "finish"))])
    assert verdict.violations == ()
    return verdict.edges


def test_counters_of_the_kernel_belong_to_the_program_that_raised_them() -> None:
    try:
        bench = open_bench("lab:linux")
    except SetupError as error:
        pytest.skip(str(error))
    assert isinstance(bench, MappedBench)
    assert isinstance(bench, Volleyer)
    taken = f"{TARGET}TCPFastOpenPassive.1"
    with closing(bench):
        bench.counts.target = True
        assert taken not in _edges(bench, Option("fo", cookie=Cookie()))
        bench.counts.slowly = True
        assert taken in _edges(bench, Option("fo", cookie=Cookie()))
        spoilt = _edges(bench, Option("fo", cookie=Cookie(edits=(("flip", 3),))))
        assert f"{TARGET}TCPFastOpenPassiveFail.1" in spoilt
        assert taken not in spoilt


@pytest.mark.parametrize(
    ("target", "words"),
    [("sim:reference", "part of this tool"), ("192.0.2.1:7", "was started by others")],
)
def test_a_target_that_tells_nothing_is_told_why(target: str, words: str) -> None:
    assert words in why_unmapped(target)


def test_to_ask_for_what_cannot_be_seen_is_an_error(capsys, tmp_path: Path) -> None:
    given = ["--coverage", "target", "--programs", "8", "--out", str(tmp_path / "out")]
    assert main(["fuzz", "sim:reference", *given]) == 2
    assert "sim:reference is part of this tool" in capsys.readouterr().err

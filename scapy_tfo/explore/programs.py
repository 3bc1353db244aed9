"""Programs of the fuzzer in worlds of explored schedules: at a stack that has lived, not a new one.

A program is played as a schedule is, whose opening says its number: `program:17`. It is judged by
the fuzzer's model and the rules of traffic, and by nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from scapy_tfo.executor.conduct import Log
from scapy_tfo.executor.play import Play as ProgramPlay
from scapy_tfo.executor.simulated import World as Bench
from scapy_tfo.executor.simulated import drive, introduced, listen
from scapy_tfo.explore.audits import REST
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.run import BY_ITSELF, Problem, Run, Traced
from scapy_tfo.explore.conversation.schedule import PROGRAM, Schedule, program_of
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.ends.actor import Actor
from scapy_tfo.fuzz.generation.grammar import sent_for
from scapy_tfo.oracle.parts.profile import Patience
from scapy_tfo.program.cookies import Jar

PER_BATCH = 24
"""Programs behind the schedules of one world."""

PORTS = {"main": 31001, "second": 31002, "plain": 31003, "small": 31004, "closed": 31009}
"""Of the target, for programs alone."""
_OF_PATHS = "syn-ack-options"
"""A rule that compares MSS: with some stacks a narrow path lowers that to everybody."""
_FIRST_PORT, _STEP, _BLOCKS = 16_200, 64, 200
"""Ports of clients: a program has those of one block, and those of its requests for cookies."""


def played(world: World, schedule: Schedule, *, keep: bool = False) -> Run:
    """Play a schedule, or the program that it names. keep: whether its packets are kept."""
    number = program_of(schedule)
    if number is None:
        return Play(world, schedule, keep=keep).play()
    return _program(world, schedule, number, keep)


def programs(numbers: Iterator[int]) -> Iterator[Schedule]:
    """Those that follow the schedules of one world."""
    for _ in range(PER_BATCH):
        yield Schedule(f"{PROGRAM}{next(numbers)}")


def _clients(number: int) -> dict[int, tuple[bytes, ...]]:
    """Two neighbours, by family, whom a target does not know yet: it may remember the MTU of a path
    that an earlier program told it."""
    high, low = divmod(number % (1 << 16), 1 << 8)
    first = {4: f"10.{high}.{low}.", 6: f"fd00:7413:0:{high + 1:x}:{low:x}::"}
    return {
        family: tuple(ip_address(f"{each}{last}").packed for last in (10, 11))
        for family, each in first.items()
    }


def _program(world: World, schedule: Schedule, number: int, keep: bool) -> Run:
    world.choose_iss(None)
    world.pass_time(REST)
    # A stack may lose one of them: that is for the program to find.
    if not any(each in world.stack.listeners for each in PORTS.values()):
        listen(world.stack, PORTS)
    world.played += 1
    block = _FIRST_PORT + _STEP * (world.played % _BLOCKS)
    clients = _clients(world.played)
    bench = Bench(world.target, PORTS, clients, now=world.now, first_port=block)
    program, jar = sent_for(number, "sim"), Jar()
    ends = introduced(bench, program, jar)
    play = ProgramPlay(
        program,
        ends,
        jar,
        world.profile,
        Patience(),
        keep=keep,
        log=Log(world.tally, ordered=True, whole=True, timed=True),
    )
    drive(bench, play, ends)
    bench.leave(REST)
    world.now = bench.now
    verdict = play.verdict()
    run = Run(schedule, Actor(world), Actor(world), excuse=BY_ITSELF)
    run.passed = verdict.sent + verdict.heard
    run.problems = [
        Problem(f"{each.requirement} {each.rule}", each.packet, each.expected, each.actual)
        for each in verdict.violations
    ]
    if world.narrowed and any(each.rule == _OF_PATHS for each in verdict.violations):
        run.problems = []
    run.trace = [Traced(each.when, each.outbound, each.data) for each in play.trace]
    return run

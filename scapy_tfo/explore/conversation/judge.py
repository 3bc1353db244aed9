"""Judges what one schedule showed: by what the applications got, and by reasons for getting less.

TCP gives every byte once and in order, whatever two faults do to its packets. Less is right where
there is a reason: an application that reset the connection, that closed before all had come, or
that does not read.
"""

from __future__ import annotations

import functools
from collections.abc import Collection

from scapy_tfo import spec, tcp_rules
from scapy_tfo.explore.conversation.run import OVER, Problem, Run
from scapy_tfo.explore.ends.actor import Actor
from scapy_tfo.explore.ends.steps import is_written_out, longest_wait

_PATIENCE = 60.0
"""Seconds that every target waits in FIN-WAIT-2 (specs/freedoms.toml, fin-wait-2-time)."""
_END = -1
"""Problems that show at the end belong to no packet."""


@functools.cache
def advice() -> frozenset[str]:
    """Rules of conduct that say what should be, and not what must."""
    rules = tcp_rules.load()
    firm = {name for each in rules.values() if each.level.fails_run for name in each.rule}
    return frozenset(name for each in rules.values() for name in each.rule) - firm


def is_advice(rule: str) -> bool:
    """Whether a rule says what should be, or, of the fuzzer's model, the id in front of it."""
    found = spec.load().get(rule.partition(" ")[0])
    return rule in advice() if found is None else not found.level.fails_run


def judged(run: Run) -> list[Problem]:
    """All that is wrong with a run, what its packets showed first."""
    found = list(run.problems)
    server, client = run.server, run.client
    apart = _apart(run)
    found += _kept("text", server, client, apart)
    if not run.anew:
        found += _kept("answer", client, server)
    if server.accepted > 1:
        found.append(_wrong("handed-over-twice", "one connection", f"{server.accepted}"))
    # What was acknowledged is the target's to deliver (RFC 9293 section 3.8), but for a reset. One
    # more SYN that ends TIME-WAIT may take with it what a slow application had not read.
    gone = server.done or server.error or run.killed or run.excuse == OVER
    alive = server.accepted and server.reading and not gone
    if alive and len(server.received) + len(apart) < run.acked:
        found.append(
            _wrong(
                "acknowledged-not-delivered",
                f"{run.acked} bytes for the application",
                f"{len(server.received)} bytes",
            )
        )
    if run.killed and server.accepted and not server.ended:
        found.append(_wrong("reset-not-believed", "the connection ended", "it goes on"))
    if run.gone and run.unheard and server.accepted and not (server.ended or server.done):
        found.append(
            _wrong(
                "never-told",
                "the application told that nobody answers (RFC 9293 section 3.8.3, MUST-20)",
                "nothing within a week",
            )
        )
    if not reasons(run):
        found += _complete(run, len(apart))
    for each in run.also:
        found += judged(each)
    return found


def reasons(run: Run) -> set[str]:
    """Why not all may have come to its end."""
    server, client = run.server, run.client
    found = set()
    if run.excuse and not (run.may_end and _goes_on(run)):
        found.add(run.excuse)
    if run.gone:
        found.add("the client was gone")
    if run.broken:
        found.add("an option of the SYN has a wrong length")
    if server.finished and _waits_for_long(run):
        found.add("the target ended first, and need not wait for the client's end for ever")
    if run.is_long:
        found.add("it takes more packets than a schedule has")
    if server.aborted or client.aborted:
        found.add("an application reset the connection")
    if server.done and server.had < len(client.wrote):
        found.add("the target's application closed before all had come")
    if not (server.reading and client.reading):
        found.add("an application does not read")
    return found


def _waits_for_long(run: Run) -> bool:
    """The client may have left the target in FIN-WAIT-2 for more than a minute."""
    client = run.schedule.client
    return is_written_out(client) and longest_wait(client) > _PATIENCE


def _goes_on(run: Run) -> bool:
    """Nothing tells that the connection ended otherwise than in order: what ends it tells the
    target's application (RFC 9293 section 3.10.7.4)."""
    server = run.server
    ended = run.reset or run.killed or run.client.error or server.error or server.ended
    return bool(server.accepted) and not ended


def _apart(run: Run) -> set[int]:
    """Bytes of the client's text that the target's application got beside its stream: an urgent one
    may be (RFC 6093 section 3.1)."""
    if not run.urgent:
        return set()
    got, wrote, at = bytes(run.server.received), bytes(run.client.wrote), 0
    apart: set[int] = set()
    # Where all bytes are alike, only their number tells that one is missing.
    missing = run.acked - len(got) if len(set(wrote)) == 1 else 0
    for number, byte in enumerate(wrote):
        if number in run.urgent and len(apart) < missing:
            apart.add(number)
        elif at < len(got) and got[at] == byte:
            at += 1
        elif number in run.urgent and (at < len(got) or number < run.acked):
            apart.add(number)
        else:
            break
    return apart


def _kept(what: str, reader: Actor, writer: Actor, apart: Collection[int] = ()) -> list[Problem]:
    """The reader got what the writer wrote, from its beginning, and the end where it ended. apart:
    numbers of bytes that it got otherwise."""
    got, wrote = bytes(reader.received), bytes(writer.wrote)
    if apart:
        wrote = bytes(byte for at, byte in enumerate(wrote) if at not in apart)
    if not wrote.startswith(got):
        at = next(
            (at for at, (one, two) in enumerate(zip(got, wrote, strict=False)) if one != two),
            len(wrote),
        )
        return [_wrong(f"{what}-changed", f"what was written ({len(wrote)} bytes)", f"byte {at}")]
    if reader.eof > 1:
        return [_wrong(f"{what}-ends-twice", "one end of the stream", f"{reader.eof}")]
    if reader.eof and not writer.finished:
        return [_wrong(f"{what}-ends-early", "no end before its writer ended", "an end")]
    if reader.eof and len(got) < len(wrote):
        return [_wrong(f"{what}-cut", f"{len(wrote)} bytes before the end", f"{len(got)}")]
    return []


def _complete(run: Run, apart: int) -> list[Problem]:
    """Both ends got all, and both have ended in order. apart: bytes that the target's application
    got beside its stream."""
    server, client = run.server, run.client
    for name, actor in (("server", server), ("client", client)):
        if actor.error:
            return [_wrong(f"{name}-failed", "a connection that ends in order", actor.error)]
    if not server.accepted:
        return [_wrong("never-accepted", "a connection for the application", "none")]
    ways = ("text", server, client, apart), ("answer", client, server, 0)
    for name, reader, writer, more in ways:
        if len(reader.received) + more < len(writer.wrote):
            return [
                _wrong(
                    f"{name}-missing",
                    f"{len(writer.wrote)} bytes within two minutes",
                    f"{len(reader.received)}",
                )
            ]
        if writer.finished and not (reader.eof or reader.done):
            return [_wrong(f"{name}-without-end", "the end of the stream told", "no end")]
    for name, actor in (("server", server), ("client", client)):
        if not actor.ended:
            return [_wrong(f"{name}-never-done", "both ends done within two minutes", "not done")]
    return []


def _wrong(rule: str, expected: str, actual: str) -> Problem:
    return Problem(rule, _END, expected, actual)

"""Exports a finding as a packetdrill script that fails at a stack with the fault.

The script sends what the reduced program sends, and expects what the reference answers, as far as
the two stacks differ: at a stack that is right it passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from scapy_tfo import spec, tcp_rules
from scapy_tfo.address import known_address
from scapy_tfo.capture.connections import Connection, captured, connections
from scapy_tfo.capture.reader import Frame
from scapy_tfo.cookie_edits import EDITS
from scapy_tfo.errors import SetupError
from scapy_tfo.executor.differences import DIFFERS
from scapy_tfo.executor.simulated import CLIENTS, PORTS, SimulatedBench
from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.fuzz.export.difference import difference
from scapy_tfo.fuzz.export.lines import written
from scapy_tfo.fuzz.export.proof import proved, worth, worth_of
from scapy_tfo.fuzz.findings.finding import Finding
from scapy_tfo.pkt.export.notes import cookies
from scapy_tfo.pkt.export.prelude import Origin
from scapy_tfo.pkt.export.script import export
from scapy_tfo.pkt.export.wishes import Wishes
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.program import SMALL, Cookie, Program, Send

_LINKTYPE_RAW = 101
_NEW_CONNECTION = "another-syn-ack"
"""Rule of a SYN-ACK that repeats an earlier one but for its ISN."""

_QUEUES = {
    PORTS["main"]: 1024,
    PORTS["second"]: 1024,
    PORTS["small"]: SMALL,
    PORTS["plain"]: 0,
}
"""Pending fast opens for which the reference's listeners have room, by their ports."""

_GRANT = "grant"
"""Rule of the cookie that a SYN-ACK has."""

_ROLES = {
    "plain": "a listener with fast open off: --plain-port N",
    "second": "a second listener with fast open: --second-port N",
    "small": f"a listener with room for {SMALL} pending fast opens: --small-port N",
}


def statement(requirement: str) -> str:
    """What a requirement or a rule of TCP says, and where it stands; "" for what is neither."""
    found = spec.load().get(requirement)
    if found is not None:
        return f"{found.statement} ({found.level}; {'; '.join(found.source)})"
    rule = tcp_rules.load().get(requirement)
    return "" if rule is None else f"{rule.statement} ({rule.level}; {rule.source})"


def demand_packets(finding: Finding) -> None:
    """Raises SetupError where there is nothing to write."""
    if not finding.packets:
        raise SetupError(
            f"{finding.id} has no packets: it is {finding.status}, or no single reply shows it"
        )


def as_script(finding: Finding) -> str:
    """A script that fails at the packet that is wrong, and passes at the reference.

    Its head says so where it does not. Raises SetupError where there are no packets, no script can
    have them, or two targets are compared.
    """
    if finding.requirement == DIFFERS:
        raise SetupError(
            f"{finding.id} is a difference between two targets: a script compares with the"
            " reference alone"
        )
    demand_packets(finding)
    flows = finding.reduced.flows
    families = {flows[each.flow].family for each in finding.reduced.steps if isinstance(each, Send)}
    if len(families) > 1:
        raise SetupError(
            f"{finding.id} needs IPv4 and IPv6: a script has connections of one of them alone"
        )
    bench = SimulatedBench("sim:reference")
    right, jar = bench.rehearse(finding.reduced)
    found = rehearsed(right, finding.id)
    differs = difference(right, finding.packets)
    asks = _asked(finding, jar, found)
    if asks:
        differs = "options"
    about = [
        finding.requirement,
        statement(finding.requirement) or finding.rule,
        f"{finding.id} at {finding.target}: expected {finding.expected}; got {finding.actual}.",
        *_needs(finding.reduced),
    ]
    wishes = Wishes(
        queues=_QUEUES,
        grants=PORTS["main"],
        literal=frozenset(
            bench.first_port + at for at, each in enumerate(flows) if each.isn is not None
        ),
        asks=asks,
        echoes=True,
    )
    origins = _origins(finding.reduced, jar, found)
    isns = finding.rule == _NEW_CONNECTION

    def write(sentence: str) -> str:
        told = [*about, sentence]
        script = export(found, wishes, about=told, granted=cookies(found), origins=origins)
        return written(script, right, finding.packets, differs=differs, isns=isns)

    return proved(write, worth(finding, differs), finding.target)


def of_conversation(
    right: Sequence[TracedPacket],
    wrong: Sequence[TracedPacket],
    queues: Mapping[int, int],
    about: Sequence[str],
    target: str,
) -> str:
    """A script that fails at the packet in which a run differs from that of the reference.

    right, wrong: packets as the target got and sent them. queues: pending fast opens for which the
    reference's listeners have room, by their ports. about: sentences for its head, the first the
    name of the finding. target: where it was found. Raises SetupError where no script can have
    them.
    """
    found = rehearsed(right, about[0])
    differs = difference(right, wrong)

    def write(sentence: str) -> str:
        told = [*about, sentence]
        script = export(found, Wishes(queues=queues), about=told, granted=cookies(found))
        return written(script, right, wrong, differs=differs, isns=False)

    return proved(write, worth_of(differs), target)


def rehearsed(right: Iterable[TracedPacket], name: str) -> list[Connection]:
    """The connections of the reference's run. Raises SetupError where there is none."""
    found = connections(captured(_frames(right), name))
    if not found:
        raise SetupError(f"{name}: a script needs a connection, and its packets hold none")
    return [_from_us(each) for each in found]


def _from_us(connection: Connection) -> Connection:
    """With us as its client, whatever our first packet was."""
    ours = {packet.src for packet in connection.packets if packet.outbound}
    if connection.server in ours:
        return replace(connection, client=connection.server, server=connection.client)
    return connection


def _needs(program: Program) -> Iterator[str]:
    """What a target by --target has to be given, a sentence each."""
    made = [each for step in program.steps if isinstance(step, Send) for each in _cookies(step)]
    ports = {each.port for each in program.flows}
    if any(each.edits or each.of in ("own", "other") for each in made):
        ports.add("main")
    others = any(each.of == "other" for each in made)
    if others or len({(each.family, each.client) for each in program.flows}) > 1:
        yield "At a target of others it needs two addresses: --source A B."
    for role in sorted(ports & set(_ROLES)):
        yield f"At a target of others it needs {_ROLES[role]}."


def _cookies(step: Send) -> Iterator[Cookie]:
    yield from (each.cookie for each in step.options or () if each.cookie is not None)


def _frames(packets: Iterable[TracedPacket]) -> list[Frame]:
    return [
        Frame(
            number=number,
            when=round(each.when * 1e9),
            link=_LINKTYPE_RAW,
            data=each.data,
            outbound=each.outbound,
        )
        for number, each in enumerate(packets, 1)
    ]


def _origins(program: Program, jar: Jar, found: Iterable[Connection]) -> dict[bytes, Origin]:
    """What each cookie of a program was made of, by its bytes."""
    edits = {
        cookie.edits
        for step in program.steps
        if isinstance(step, Send)
        for cookie in _cookies(step)
    }
    if not edits:
        return {}
    origins: dict[bytes, Origin] = {}
    clients = {cookie: known_address(CLIENTS[at[0]][at[1]]) for at, cookie in jar.current.items()}
    for base in [*clients, *cookies(found)]:
        origins.setdefault(base, Origin(base, client=clients.get(base)))
        for each in edits:
            made = base
            for name, number in each:
                made = EDITS[name](made, number)
            if each and made:
                origins.setdefault(made, Origin(base, each, clients.get(base)))
    return origins


def _asked(finding: Finding, jar: Jar, found: Iterable[Connection]) -> tuple[Origin, ...]:
    """Cookies of other clients, where what is wrong is the cookie that one of them got."""
    clients = dict.fromkeys((each.family, each.client) for each in finding.reduced.flows)
    if finding.rule != _GRANT or len(clients) < 2:
        return ()
    given = cookies(found)
    return tuple(
        Origin(jar.current[at], client=known_address(CLIENTS[at[0]][at[1]]))
        for at in clients
        if at in jar.current and jar.current[at] not in given
    )

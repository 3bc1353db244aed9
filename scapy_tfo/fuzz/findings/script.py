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
from scapy_tfo.executor.simulated import CLIENTS, PORTS, SimulatedBench
from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.fuzz.findings.difference import difference
from scapy_tfo.fuzz.findings.finding import Finding
from scapy_tfo.pkt.export.notes import cookies
from scapy_tfo.pkt.export.prelude import Origin
from scapy_tfo.pkt.export.script import export
from scapy_tfo.pkt.export.wishes import Wishes
from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.printing import show_script
from scapy_tfo.pkt.language.settings import ANY_ORDER
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.program import OF_PORTS, SMALL, UNFOUNDED, Cookie, Icmp, Program, Send

_LINKTYPE_RAW = 101
_SILENCE = 200_000_000
"""ns in which nothing is to come, where the target sent more than the reference."""

_NEW_CONNECTION = "another-syn-ack"
"""Rule of a SYN-ACK that repeats an earlier one but for its ISN."""

_QUEUES = {
    PORTS["main"]: 1024,
    PORTS["second"]: 1024,
    PORTS["small"]: SMALL,
    PORTS["plain"]: 0,
}
"""Pending fast opens for which the reference's listeners have room, by their ports."""

_TIMER = 100_000_000
"""ns: what takes so long was sent by a timer, of which RFC 6298 leaves much to the stack."""
EXPECTED = (
    "What is expected here is what the reference answers, so it fails where a stack has the fault:"
    " scapy-tfo pkt run --target TARGET FILE."
)
_GRANT = "grant"
"""Rule of the cookie that a SYN-ACK has."""

_MSS = "MSS"
_FIRST_MSS = fields.Wildcard(_MSS)
_MADE_OF_SECRETS = "grant", "SRV-2"
"""Rule and requirement of a cookie that can be guessed."""

_GUESSED = (
    "It proves nothing: what is wrong is of what the cookie was made, which packets do not show."
)
_UNSAID = frozenset((OF_PORTS, *UNFOUNDED))
_WITHOUT_ITS_ERROR = (
    "It proves nothing: an ICMP message that quotes no whole segment of TCP cannot be written as a"
    " script, and is left out."
)
_PIECEWISE = "TCP_NODELAY"
_OWN_APPLICATION = (
    "It proves nothing: at a target by --target, as an echo there does not answer piece by piece."
)
_ROLES = {
    "plain": "a listener with fast open off: --plain-port N",
    "second": "a second listener with fast open: --second-port N",
    "small": f"a listener with room for {SMALL} pending fast opens: --small-port N",
}
_FIRST_TIMEOUT = 1_000_000_000
"""ns, RFC 6298 section 2.1."""


def statement(requirement: str) -> str:
    """What a requirement or a rule of TCP says, and where it stands; "" for what is neither."""
    found = spec.load().get(requirement)
    if found is not None:
        return f"{found.statement} ({found.level}; {'; '.join(found.source)})"
    rule = tcp_rules.load().get(requirement)
    return "" if rule is None else f"{rule.statement} ({rule.level}; {rule.source})"


def as_script(finding: Finding) -> str:
    """A script that fails at the packet that is wrong, and passes at the reference.

    Where the two stacks do not differ in what a script can say, its head says so. Raises SetupError
    where there are no packets, or no script can have them.
    """
    if not finding.packets:
        raise SetupError(
            f"{finding.id} has no packets: it is {finding.status}, or no single reply shows it"
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
        _worth(finding, differs),
    ]
    flows = enumerate(finding.reduced.flows)
    wishes = Wishes(
        queues=_QUEUES,
        grants=PORTS["main"],
        literal=frozenset(bench.first_port + at for at, each in flows if each.isn is not None),
        asks=asks,
        echoes=True,
    )
    script = export(
        found,
        wishes,
        about=about,
        granted=cookies(found),
        origins=_origins(finding.reduced, jar, found),
    )
    isns = finding.rule == _NEW_CONNECTION
    return written(script, right, finding.packets, differs=differs, isns=isns)


def _worth(finding: Finding, differs: str) -> str:
    """What the script proves, or why it proves nothing."""
    if any(isinstance(each, Icmp) and each.what in _UNSAID for each in finding.reduced.steps):
        return _WITHOUT_ITS_ERROR
    if (finding.rule, finding.requirement) == _MADE_OF_SECRETS:
        return _GUESSED
    return _proof(differs)


def of_conversation(
    right: Sequence[TracedPacket],
    wrong: Sequence[TracedPacket],
    queues: Mapping[int, int],
    about: Sequence[str],
) -> str:
    """A script that fails at the packet in which a run differs from that of the reference.

    right, wrong: packets as the target got and sent them. queues: pending fast opens for which the
    reference's listeners have room, by their ports. about: sentences for its head, the first the
    name of the finding. Raises SetupError where no script can have them.
    """
    found = rehearsed(right, about[0])
    differs = difference(right, wrong)
    about = [*about, _proof(differs)]
    script = export(found, Wishes(queues=queues), about=about, granted=cookies(found))
    return written(script, right, wrong, differs=differs, isns=False)


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


def written(
    script: tree.Script,
    right: Sequence[TracedPacket],
    wrong: Sequence[TracedPacket],
    *,
    differs: str,
    isns: bool,
) -> str:
    """The text of a script. differs: see `difference`. isns: SYN-ACKs have those of the first."""
    lines = script.lines
    if differs == "options":
        lines = tuple(_in_relation(lines))
    else:
        lines = tuple(map(_without_options, lines))
    lines = tuple(_without_acknowledgements(map(_in_wide_time, lines)))
    if isns:
        lines = tuple(_with_isns(lines))
    if differs in ("more", ""):
        late = max(each.when for each in wrong) - max(each.when for each in right)
        silence = tree.Silence(_SILENCE + max(round(late * 1e9), 0))
        lines = (*lines, tree.Event(tree.Time(), silence))
    first = next(at for at, each in enumerate(lines) if isinstance(each, tree.Command | tree.Event))
    lines = (*lines[:first], tree.Option(ANY_ORDER), tree.Blank(), *lines[first:])
    if _PIECEWISE in show_script(script):
        lines = (tree.Comment(f"// {_OWN_APPLICATION}"), *lines)
    return show_script(replace(script, lines=lines))


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


def _proof(differs: str) -> str:
    """Where the script fails, or why it cannot fail, in a sentence."""
    if differs == "data":
        return (
            "It proves nothing: the stacks differ in the bytes of their data, and those of a"
            " script are zeros."
        )
    if not differs:
        return (
            "It proves nothing: the stacks differ in no flag, number, length or kind of option of"
            " their packets, and the rest is left open."
        )
    return EXPECTED


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


def _in_wide_time(line: tree.Line) -> tree.Line:
    """What a timer sends may come when the stack's own timers say."""
    match line:
        case tree.Event(action=tree.Packet(direction=tree.Direction.OUTBOUND), time=time) if (
            time.earliest >= _TIMER
        ):
            latest = 2 * time.earliest + _FIRST_TIMEOUT
            return replace(line, time=tree.Time(earliest=0, latest=latest))
    return line


def _without_acknowledgements(lines: Iterable[tree.Line]) -> Iterator[tree.Line]:
    """An ACK may come alone, or with what the stack sends next (RFC 9293 section 3.8.6.3)."""
    every = list(lines)
    for index, line in enumerate(every):
        packet = _expected(line)
        if packet is not None and _is_bare(packet) and _comes_again(packet, every[index + 1 :]):
            assert isinstance(line, tree.Event)
            yield replace(line, action=tree.AnyOf((packet,), or_none=True))
        else:
            yield line


def _is_bare(packet: tree.Packet) -> bool:
    return packet.flags == "." and not packet.range.length


def _comes_again(packet: tree.Packet, later: Iterable[tree.Line]) -> bool:
    """The next packet of its connection is the stack's as well, and acknowledges as much."""
    for line in later:
        match line:
            case tree.Event(action=tree.Packet() as other):
                is_sent = other.direction is tree.Direction.OUTBOUND
                ports = other.ports if is_sent else other.ports and other.ports[::-1]
                if (ports, other.client) == (packet.ports, packet.client):
                    return is_sent and other.ack == packet.ack
    return False


def _in_relation(lines: Sequence[tree.Line]) -> Iterator[tree.Line]:
    """Values that are the stack's own choice are compared with those that it chose before: the
    MSS is that of its first SYN-ACK, and one client's cookie not that of another."""
    text = show_script(tree.Script(tuple(lines)))
    is_known = False
    kept: dict[str, int] = {}
    several = sum("S" in each.flags and _has_mss(each) for each in map(_expected, lines) if each)
    for line in lines:
        packet = _expected(line)
        if packet is None or packet.options is None:
            yield line
            continue
        options: list[fields.TcpOption] = []
        for option in packet.options:
            match option:
                case fields.Mss() if several > 1:
                    option = fields.Mss(fields.Variable(_MSS) if is_known else _FIRST_MSS)
                    is_known = True
                case fields.Mss():
                    option = fields.Mss(fields.Wildcard())
                case fields.FastOpen(fields.Wildcard(str(name))):
                    other = next((one for one, at in kept.items() if at != packet.client), None)
                    if other is not None and text.count(f"${name}") == text.count(f"=${name}"):
                        option = replace(option, cookie=fields.Other(other))
                    kept[name] = packet.client
            options.append(option)
        assert isinstance(line, tree.Event)
        yield replace(line, action=replace(packet, options=tuple(options)))


def _expected(line: tree.Line) -> tree.Packet | None:
    match line:
        case tree.Event(action=tree.Packet(direction=tree.Direction.OUTBOUND) as packet):
            return packet
    return None


def _has_mss(packet: tree.Packet) -> bool:
    return any(isinstance(each, fields.Mss) for each in packet.options or ())


def _with_isns(lines: Iterable[tree.Line]) -> Iterator[tree.Line]:
    """A SYN-ACK on the same ports as one before has its ISN."""
    known: dict[object, str] = {}
    for line in lines:
        match line:
            case tree.Event(action=tree.Packet(direction=tree.Direction.OUTBOUND) as packet) if (
                "S" in packet.flags
            ):
                place = packet.ports, packet.client
                isn = fields.Variable(known[place]) if place in known else None
                name = known.setdefault(place, f"ISN{len(known) + 1}")
                packet = replace(packet, isn=isn or fields.Wildcard(name))
                yield replace(line, action=packet)
            case _:
                yield line


def _without_options(line: tree.Line) -> tree.Line:
    """A packet that is expected may have any, but for a cookie that is kept."""
    match line:
        case tree.Event(action=tree.Packet(direction=tree.Direction.OUTBOUND) as packet):
            kept = any(
                isinstance(each, fields.FastOpen) and isinstance(each.cookie, fields.Wildcard)
                for each in packet.options or ()
            )
            return line if kept else replace(line, action=replace(packet, options=None))
    return line

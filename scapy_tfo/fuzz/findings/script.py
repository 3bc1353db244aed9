"""Exports a finding as a packetdrill script that fails at a stack with the fault.

The script sends what the reduced program sends, and expects what the reference answers, as far as
the two stacks differ: at a stack that is right it passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scapy_tfo import spec, tcp_rules
from scapy_tfo.capture.connections import Connection, captured, connections
from scapy_tfo.capture.reader import Frame
from scapy_tfo.cookie_edits import EDITS
from scapy_tfo.errors import SetupError
from scapy_tfo.executor.simulated import PORTS, SimulatedBench
from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.fuzz.findings.finding import Finding
from scapy_tfo.option import TIMESTAMPS, pull_options
from scapy_tfo.pkt.export.prelude import Origin
from scapy_tfo.pkt.export.script import cookies, export
from scapy_tfo.pkt.export.wishes import Wishes
from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.printing import show_script
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.program import SMALL, Cookie, Program, Send
from scapy_tfo.segment import ACK, PSH, SYN, MalformedPacketError, Segment

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

_MODULUS = 1 << 32
_PADDING = (0, 1)
_TIMER = 100_000_000
"""ns: what takes so long was sent by a timer, of which RFC 6298 leaves much to the stack."""
_PIECEWISE = "TCP_NODELAY"
_OWN_APPLICATION = (
    "At a target by --target it proves nothing: an echo there does not answer piece by piece."
)
_FIRST_TIMEOUT = 1_000_000_000
"""ns, RFC 6298 section 2.1."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A packet of the target's. numbers: flags, sequence numbers from the ISNs, bytes of data."""

    numbers: tuple[int, int, int, int]
    data: bytes
    options: tuple[tuple[int, bytes], ...]


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
    found = connections(captured(_frames(right), finding.id))
    if not found:
        raise SetupError(f"{finding.id}: a script needs a connection, and its packets hold none")
    differs = _difference(_answers(right), _answers(finding.packets))
    about = [
        finding.requirement,
        statement(finding.requirement) or finding.rule,
        f"{finding.id} at {finding.target}: expected {finding.expected}; got {finding.actual}.",
        "What is expected here is what the reference answers, so it fails where a stack has the"
        " fault: scapy-tfo pkt run --target TARGET FILE.",
        *_reasons(finding.reduced, differs),
    ]
    script = export(
        found,
        Wishes(queues=_QUEUES),
        about=about,
        granted=cookies(found),
        origins=_origins(finding.reduced, jar, found),
    )
    lines = script.lines if differs == "options" else tuple(map(_without_options, script.lines))
    lines = tuple(map(_in_wide_time, lines))
    if finding.rule == _NEW_CONNECTION:
        lines = tuple(_with_isns(lines))
    if differs in ("more", ""):
        late = max(each.when for each in finding.packets) - max(each.when for each in right)
        silence = tree.Silence(_SILENCE + max(round(late * 1e9), 0))
        lines = (*lines, tree.Event(tree.Time(), silence))
    if _PIECEWISE in show_script(script):
        lines = (tree.Comment(f"// {_OWN_APPLICATION}"), *lines)
    return show_script(replace(script, lines=lines))


def _reasons(program: Program, differs: str) -> Iterator[str]:
    """Why the script may pass at a stack with the fault, a sentence each."""
    ports = {each.port for each in program.flows}
    made = [each for step in program.steps if isinstance(step, Send) for each in _cookies(step)]
    others = any(each.of == "other" for each in made)
    if others or len({(each.family, each.client) for each in program.flows}) > 1:
        yield "At a target by --target it proves nothing: it needs a second address."
    if len(ports) > 1:
        yield "At a target by --target it proves nothing: it needs several listeners."
    if "small" in ports:
        yield (
            "At a target by --target it proves nothing: it needs a listener with room for"
            f" {SMALL} pending fast opens."
        )
    if "plain" in ports and any(each.of == "own" for each in made):
        yield (
            "At a target by --target it proves nothing: it needs a cookie of a second listener,"
            " that takes fast opens."
        )
    if differs == "data":
        yield (
            "It proves nothing: the stacks differ in the bytes of their data, and those of a"
            " script are zeros."
        )
    elif not differs:
        yield (
            "It proves nothing: the stacks differ in no flag, number, length or kind of option of"
            " their packets, and the rest is left open."
        )


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


def _answers(packets: Iterable[TracedPacket]) -> dict[int, list[_Answer]]:
    """What the target sent to each of our ports, in order; the lowest port is 0."""
    isns: dict[tuple[int, bool], int] = {}
    found: dict[int, list[_Answer]] = {}
    for packet in packets:
        try:
            segment = Segment.from_bytes(packet.data)
        except MalformedPacketError:
            continue
        ours = packet.outbound
        port = segment.sport if ours else segment.dport
        if segment.flags & SYN:
            isns.setdefault((port, ours), segment.seq)
        answers = found.setdefault(port, [])
        if not ours:
            ack = segment.ack - isns.get((port, True), 0) if segment.flags & ACK else 0
            number = (segment.seq - isns.get((port, False), 0)) % _MODULUS
            numbers = segment.flags & ~PSH, number, ack % _MODULUS, len(segment.payload)
            answers.append(_Answer(numbers, segment.payload, _options(segment)))
    lowest = min(found, default=0)
    return {port - lowest: answers for port, answers in found.items()}


def _options(segment: Segment) -> tuple[tuple[int, bytes], ...]:
    """Kind of each, and what is not the target's own choice: the length, and a timestamp's echo."""
    return tuple(
        (each.kind, each.data[4:] if each.kind == TIMESTAMPS else bytes(len(each.data)))
        for each in pull_options(segment.options)
        if each.kind not in _PADDING
    )


def _difference(
    right: Mapping[int, Sequence[_Answer]], wrong: Mapping[int, Sequence[_Answer]]
) -> str:
    """In what two runs differ, as a script has to look at it.

    "options" of a packet; "numbers", or that it is sent at all; "more" packets of the target's;
    "data"; "" in nothing of these.
    """
    kinds = set()
    for port, mine in right.items():
        theirs = wrong.get(port, ())
        for one, other in zip(mine, theirs, strict=False):
            if one.numbers != other.numbers:
                kinds.add("numbers")
            elif one.data != other.data:
                kinds.add("data")
            elif one.options != other.options:
                kinds.add("options")
        if len(mine) != len(theirs):
            kinds.add("numbers" if len(mine) > len(theirs) else "more")
    return next((each for each in ("options", "numbers", "more", "data") if each in kinds), "")


def _origins(program: Program, jar: Jar, found: Iterable[Connection]) -> dict[bytes, Origin]:
    """What each cookie of a program was made of, by its bytes."""
    plain = {number for number, each in enumerate(program.flows) if each.port == "plain"}
    edits = {
        cookie.edits
        for step in program.steps
        if isinstance(step, Send) and step.flow not in plain
        for cookie in _cookies(step)
    }
    if not edits:
        return {}
    origins: dict[bytes, Origin] = {}
    for base in [*jar.current.values(), *cookies(found)]:
        origins.setdefault(base, Origin(base))
        for each in edits:
            made = base
            for name, number in each:
                made = EDITS[name](made, number)
            if each and made:
                origins.setdefault(made, Origin(base, each))
    return origins


def _in_wide_time(line: tree.Line) -> tree.Line:
    """What a timer sends may come when the stack's own timers say."""
    match line:
        case tree.Event(action=tree.Packet(direction=tree.Direction.OUTBOUND), time=time) if (
            time.earliest >= _TIMER
        ):
            latest = 2 * time.earliest + _FIRST_TIMEOUT
            return replace(line, time=tree.Time(earliest=0, latest=latest))
    return line


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

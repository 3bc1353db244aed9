"""A Hypothesis strategy for all trees of the language."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from hypothesis import strategies as st

from scapy_tfo.cookie_edits import EDITS
from scapy_tfo.pkt.language import fields, tree

T = TypeVar("T")

# In capitals, so that none is a keyword or begins like hex digits.
words = st.from_regex(r"[GH][A-Z_0-9]{0,5}", fullmatch=True)
numbers = st.integers(0, 2**32)
bytes_ = st.integers(0, 255)
times = st.integers(0, 10**13)
symbols = st.builds(fields.Symbol, words)
values = numbers | symbols
wildcards = st.builds(fields.Wildcard, st.none() | words)
open_values = values | wildcards | st.builds(fields.Variable, words)
edits = st.lists(
    st.tuples(st.sampled_from(sorted(EDITS)), st.integers(0, 40)), min_size=1, max_size=3
)
edited = st.builds(fields.Edited, words, edits.map(tuple))
others = st.builds(fields.Other, words)
cookies = st.binary(min_size=1, max_size=18) | symbols | wildcards | edited | others
ranges = st.builds(tree.Range, values, values, values)
directions = st.sampled_from(tree.Direction)
maybe = st.none() | values


def _tuples(
    items: st.SearchStrategy[T], smallest: int = 0, largest: int = 4
) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(items, min_size=smallest, max_size=largest).map(tuple)


tcp_options = st.one_of(
    st.just(fields.Nop()),
    st.just(fields.Eol()),
    st.just(fields.SackPermitted()),
    st.builds(fields.Mss, open_values),
    st.builds(fields.WindowScale, open_values),
    st.builds(fields.Sack, _tuples(st.tuples(values, values), 1)),
    st.builds(fields.Timestamps, open_values, open_values),
    st.builds(fields.FastOpen, st.none() | cookies, st.booleans()),
    st.builds(fields.Md5, st.binary(min_size=1, max_size=18)),
    st.builds(fields.AccEcn, _tuples(st.tuples(st.sampled_from(["e0b", "e1b", "ceb"]), values), 1)),
    st.builds(fields.RawOption, bytes_, st.none() | bytes_, st.binary(max_size=8)),
)
marks = st.one_of(
    st.builds(tree.Mark, st.sampled_from(["noecn", "ect0", "ect1", "ect01", "ce"])),
    st.builds(tree.Mark, st.sampled_from(["tos", "flowlabel", "ttl"]), bytes_),
)
closed_options = tcp_options.filter(
    lambda option: not {"Wildcard", "Other"} & set(re.findall(r"\w+", repr(option)))
)
faults = st.one_of(
    st.builds(tree.Fault, st.sampled_from(["checksum", "doff", "ip_len"]), st.none() | bytes_),
    st.builds(
        tree.Fault,
        st.sampled_from(["seq", "ack"]),
        numbers | st.builds(fields.Variable, words.map(str)),
    ),
)


def _packets(
    direction: tree.Direction,
    options: st.SearchStrategy[fields.TcpOption],
    faults: st.SearchStrategy[tuple[tree.Fault, ...]],
) -> st.SearchStrategy[tree.Packet]:
    return st.builds(
        tree.Packet,
        direction=st.just(direction),
        flags=st.from_regex(r"[FSRPUEWA]{1,4}\.?|\.|-", fullmatch=True),
        range=ranges,
        ack=maybe,
        win=maybe,
        urg=maybe,
        isn=st.none() if direction is tree.Direction.INBOUND else st.none() | open_values,
        options=st.none() | _tuples(options),
        marks=_tuples(marks),
        ports=st.none() | st.tuples(numbers, numbers),
        faults=faults,
    )


def _with_more(packet: tree.Packet) -> tree.Packet:
    """With options of other kinds, where a script can say so."""
    return replace(packet, more_options=bool(packet.options))


def _of_client(packet: tree.Packet, client: int) -> tree.Packet:
    return replace(packet, ports=packet.ports or (5000, 8080), client=client)


inbound = _packets(tree.Direction.INBOUND, closed_options, _tuples(faults))
outbound = _packets(tree.Direction.OUTBOUND, tcp_options, st.just(()))
outbound |= outbound.map(_with_more)
packets = (
    inbound
    | outbound
    | st.builds(tree.AnyOf, _tuples(outbound, 2))
    | st.builds(tree.AnyOf, st.tuples(outbound), st.just(True))
    | st.builds(_of_client, inbound | outbound, st.integers(2, 255))
)
errors = st.builds(
    tree.Icmp,
    direction=directions,
    type=words,
    code=st.none() | words,
    mtu=maybe,
    echo_id=maybe,
    echoed=st.none() | ranges,
    marks=_tuples(marks),
    ports=st.none() | st.tuples(numbers, numbers),
)


@st.composite
def _numbers(draw: st.DrawFn) -> tree.Number:
    value = draw(st.integers(-(2**33), 2**33))
    least = len(f"{abs(value):x}")
    return tree.Number(value, draw(st.sampled_from([0, least, least + 3])))


names = st.builds(tree.Name, words)
atoms = st.one_of(
    _numbers(), names, st.just(tree.Anything()), st.builds(tree.Text, st.binary(), st.booleans())
)


def _containers(inner: st.SearchStrategy[tree.Expression]) -> st.SearchStrategy[tree.Expression]:
    plain = inner.filter(lambda each: not isinstance(each, tree.Choice))
    fields = st.builds(tree.Field, words, inner, st.none() | inner)
    return st.one_of(
        st.builds(tree.Array, _tuples(inner)),
        st.builds(tree.Call, words, _tuples(inner)),
        st.builds(tree.Struct, _tuples(inner | fields)),
        st.builds(tree.Choice, _tuples(plain, 2)),
    )


expressions = st.recursive(atoms, _containers, max_leaves=8)
notes = st.text(string.ascii_letters + " ,/'", max_size=20).map(str.strip)
calls = st.builds(
    tree.Syscall,
    name=words,
    arguments=_tuples(expressions),
    result=_numbers()
    | names
    | st.just(tree.Anything())
    | st.builds(tree.Choice, _tuples(names, 2)),
    errno=st.none() | words,
    note=st.none() | notes,
    until=st.none() | times,
)
shells = st.builds(tree.Shell, st.text(string.printable.replace("`", ""), max_size=30))
codes = st.one_of(
    st.text(string.ascii_letters + " =#/'{}", max_size=20).map(str.strip),
    st.text(string.ascii_letters + " =#/'{}", max_size=20).map("\n{}\n".format),
).filter(lambda text: "}%" not in text)
actions = st.one_of(
    packets,
    errors,
    calls,
    shells,
    st.builds(tree.Code, codes),
    st.builds(tree.Silence, times),
)


@st.composite
def _times(draw: st.DrawFn) -> tree.Time:
    clock = draw(st.sampled_from(tree.Clock))
    if clock is tree.Clock.WHENEVER:
        return tree.Time(clock)
    first, last = sorted([draw(times), draw(times)])
    return tree.Time(clock, first, draw(st.sampled_from([None, last])))


line_comments = st.text(string.ascii_letters + ' `"%{}*/', max_size=20).map(
    lambda text: f"//{text}".rstrip()
)
behind = st.just("") | line_comments | st.just("/* here */")
option_values = st.from_regex(
    r"[A-Za-z0-9_.:/]{1,12}|\"[a-z ]*\"|[A-Z]+=`[a-z \n]*`", fullmatch=True
)
options = st.builds(
    tree.Option, st.from_regex("[a-z][a-z_]*", fullmatch=True), st.none() | option_values, behind
)
commands = st.builds(tree.Command, shells, behind)
events = st.builds(tree.Event, _times(), actions, behind)
between = st.just(tree.Blank()) | st.builds(tree.Comment, line_comments | st.just("/* a\nb */"))


def _with_single_blanks(lines: Iterable[tree.Line]) -> tree.Script:
    kept: list[tree.Line] = []
    for line in lines:
        if not (isinstance(line, tree.Blank) and (not kept or kept[-1] == line)):
            kept.append(line)
    while kept and isinstance(kept[-1], tree.Blank):
        kept.pop()
    return tree.Script(tuple(kept))


@st.composite
def scripts(draw: st.DrawFn) -> tree.Script:
    """A script with its parts in order, comments and empty lines between them."""
    statements: list[tree.Line] = [*draw(_tuples(options, largest=2))]
    statements += draw(_tuples(commands, largest=1))
    happening = draw(_tuples(events))
    statements += happening
    if happening:
        statements += draw(_tuples(commands, largest=1))
    lines: list[tree.Line] = []
    for statement in statements:
        lines += [*draw(_tuples(between, largest=2)), statement]
    return _with_single_blanks([*lines, *draw(_tuples(between, largest=2))])

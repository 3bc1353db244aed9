"""Each piece of the language, and the tree that it makes."""

from __future__ import annotations

import pytest

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.fields import (
    AccEcn,
    Eol,
    FastOpen,
    Md5,
    Mss,
    Nop,
    RawOption,
    Sack,
    SackPermitted,
    Symbol,
    Timestamps,
    Variable,
    Wildcard,
    WindowScale,
)
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.printing import show_script
from scapy_tfo.pkt.language.tree import (
    AnyOf,
    Anything,
    Array,
    Call,
    Choice,
    Clock,
    Direction,
    Fault,
    Field,
    Icmp,
    Mark,
    Name,
    Number,
    Packet,
    Range,
    Silence,
    Struct,
    Syscall,
    Text,
    Time,
)

MS = 1_000_000
NONE = Range(0, 0, 0)
IN, OUT = Direction.INBOUND, Direction.OUTBOUND

TIMES = {
    "+0": Time(Clock.AFTER, 0),
    "+.5": Time(Clock.AFTER, 500 * MS),
    "+0.000000001": Time(Clock.AFTER, 1),
    "2": Time(Clock.AT, 2000 * MS),
    "*": Time(Clock.WHENEVER),
    "+.2~+.3": Time(Clock.AFTER, 200 * MS, 300 * MS),
    "1~1.5": Time(Clock.AT, 1000 * MS, 1500 * MS),
}

PACKETS = {
    "< S 0:0(0) win 1000": Packet(direction=IN, flags="S", range=NONE, win=1000),
    "> S. 0:0(0) ack 1 <...>": Packet(direction=OUT, flags="S.", range=NONE, ack=1, options=None),
    "> . 1:1(0) ack 7": Packet(direction=OUT, flags=".", range=Range(1, 1, 0), ack=7),
    "< - 5:9(4) win 1": Packet(direction=IN, flags="-", range=Range(5, 9, 4), win=1),
    "< SEW 0:0(0) win 9": Packet(direction=IN, flags="SEW", range=NONE, win=9),
    "< PU. 1:3(2) ack 1 win 9 urg 2": Packet(
        direction=IN, flags="PU.", range=Range(1, 3, 2), ack=1, win=9, urg=2
    ),
    "> 8080 > 9000 R 1:1(0)": Packet(
        direction=OUT, flags="R", range=Range(1, 1, 0), ports=(8080, 9000)
    ),
    "< (ect0) . 1:1(0) ack 1": Packet(
        direction=IN, flags=".", range=Range(1, 1, 0), ack=1, marks=(Mark("ect0"),)
    ),
    "< [tos 0x4, ttl 9] . 1:1(0)": Packet(
        direction=IN, flags=".", range=Range(1, 1, 0), marks=(Mark("tos", 4), Mark("ttl", 9))
    ),
    "> . 1:SIZE(SIZE) ack END": Packet(
        direction=OUT, flags=".", range=Range(1, Symbol("SIZE"), Symbol("SIZE")), ack=Symbol("END")
    ),
    "< S 0:0(0) win 5 <nop> with checksum bad, doff 4, ip_len 60": Packet(
        direction=IN,
        flags="S",
        range=NONE,
        win=5,
        options=(Nop(),),
        faults=(Fault("checksum"), Fault("doff", 4), Fault("ip_len", 60)),
    ),
    "> R 1:1(0) or > R. 1:1(0) ack 1": AnyOf(
        (
            Packet(direction=OUT, flags="R", range=Range(1, 1, 0)),
            Packet(direction=OUT, flags="R.", range=Range(1, 1, 0), ack=1),
        )
    ),
    "> . 1:1(0) ack 2 or none": AnyOf(
        (Packet(direction=OUT, flags=".", range=Range(1, 1, 0), ack=2),), or_none=True
    ),
    "< 5000@2 > 8080 S 0:0(0) win 1": Packet(
        direction=IN, flags="S", range=NONE, win=1, ports=(5000, 8080), client=2
    ),
    "> R. 0:0(0) ack 1 with seq 0": Packet(
        direction=OUT, flags="R.", range=NONE, ack=1, faults=(Fault("seq", 0),)
    ),
    "< icmp unreachable": Icmp(direction=IN, type="unreachable"),
    "< icmp unreachable frag_needed mtu 900 [0:10(10)]": Icmp(
        direction=IN, type="unreachable", code="frag_needed", mtu=900, echoed=Range(0, 10, 10)
    ),
}

OPTIONS = {
    "nop": Nop(),
    "eol": Eol(),
    "mss 1460": Mss(1460),
    "mss MSS": Mss(Symbol("MSS")),
    "wscale 7": WindowScale(7),
    "wscale *": WindowScale(Wildcard()),
    "sackOK": SackPermitted(),
    "sack 1:2": Sack(((1, 2),)),
    "sack 1:2 5:9": Sack(((1, 2), (5, 9))),
    "TS val 5 ecr 0": Timestamps(5, 0),
    "TS val * ecr *": Timestamps(Wildcard(), Wildcard()),
    "TS val *=$T ecr $U": Timestamps(Wildcard("T"), Variable("U")),
    "FO": FastOpen(),
    "FO 1234": FastOpen(b"\x12\x34"),
    "FO abcd": FastOpen(b"\xab\xcd"),
    "FO TFO_COOKIE": FastOpen(Symbol("TFO_COOKIE")),
    "FO *": FastOpen(Wildcard()),
    "FO *=$C": FastOpen(Wildcard("C")),
    "FO $C": FastOpen(Variable("C")),
    "FOEXP": FastOpen(experimental=True),
    "FOEXP 00112233": FastOpen(b"\x00\x11\x22\x33", experimental=True),
    "md5 00ff": Md5(b"\x00\xff"),
    "ECN e1b 1 ceb 0 e0b 3": AccEcn((("e1b", 1), ("ceb", 0), ("e0b", 3))),
    "kind 34": RawOption(34),
    "kind 34 len 3 hex 61": RawOption(34, 3, b"a"),
    "kind 30 hex 0011": RawOption(30, None, b"\x00\x11"),
}

ARGUMENTS = {
    "3": Number(3),
    "-1": Number(-1),
    "0x0f": Number(15, 2),
    "SOL_TCP": Name("SOL_TCP"),
    "...": Anything(),
    "A|B|0x1": Choice((Name("A"), Name("B"), Number(1, 1))),
    '"ab"': Text(b"ab"),
    '"ab"...': Text(b"ab", open_ended=True),
    r'"a\"\\\n\x00"': Text(b'a"\\\n\x00'),
    "[]": Array(),
    "[1, X]": Array((Number(1), Name("X"))),
    "{..., 5}": Struct((Anything(), Number(5))),
    "{fd=4, events=IN|OUT}": Struct(
        (Field("fd", Number(4)), Field("events", Choice((Name("IN"), Name("OUT")))))
    ),
    "{msg_iov(1)=[{..., 9}]}": Struct(
        (Field("msg_iov", Array((Struct((Anything(), Number(9))),)), count=Number(1)),)
    ),
    '{sin_port=htons(80), sin_addr=inet_addr("192.0.2.1")}': Struct(
        (
            Field("sin_port", Call("htons", (Number(80),))),
            Field("sin_addr", Call("inet_addr", (Text(b"192.0.2.1"),))),
        )
    ),
}

RESULTS = {
    "f() = 0": Syscall(name="f", result=Number(0)),
    "f() = -1 EAGAIN": Syscall(name="f", result=Number(-1), errno="EAGAIN"),
    "f() = -1 EPIPE (Broken pipe, it says)": Syscall(
        name="f", result=Number(-1), errno="EPIPE", note="Broken pipe, it says"
    ),
    "f() = 0x2 (flags O_RDWR)": Syscall(name="f", result=Number(2, 1), note="flags O_RDWR"),
    "f() = ...": Syscall(name="f", result=Anything()),
    "f() = A|B": Syscall(name="f", result=Choice((Name("A"), Name("B")))),
    "...0.250 f() = 4": Syscall(name="f", result=Number(4), until=250 * MS),
}

OTHERS = {
    "`true\n  false`": tree.Shell("true\n  false"),
    "%{ assert tcpi_lost == 0, '//' }%": tree.Code("assert tcpi_lost == 0, '//'"),
    "%{\nx = {}\n}%": tree.Code("\nx = {}\n"),
    "expect none for 200ms": Silence(200 * MS),
    "expect none for 1500us": Silence(1_500_000),
}


def event(text: str) -> tree.Event:
    """The only event of a script; its canonical text means the same."""
    script = parse(text)
    assert parse(show_script(script)) == script
    (found,) = script.events
    return found


@pytest.mark.parametrize("text", TIMES)
def test_times(text: str) -> None:
    assert event(f"{text} > . 1:1(0)").time == TIMES[text]


@pytest.mark.parametrize("text", PACKETS)
def test_packets(text: str) -> None:
    assert event(f"+0 {text}").action == PACKETS[text]


@pytest.mark.parametrize("text", OPTIONS)
def test_options(text: str) -> None:
    action = event(f"+0 > S 0:0(0) win 1 <nop,{text},eol>").action
    assert isinstance(action, Packet)
    assert action.options == (Nop(), OPTIONS[text], Eol())


@pytest.mark.parametrize("text", ARGUMENTS)
def test_arguments(text: str) -> None:
    action = event(f"+0 f(1, {text}) = 0").action
    assert isinstance(action, Syscall)
    assert action.arguments == (Number(1), ARGUMENTS[text])


@pytest.mark.parametrize("text", RESULTS)
def test_calls_and_what_they_return(text: str) -> None:
    assert event(f"+0 {text}").action == RESULTS[text]


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_neither_packet_nor_call(text: str) -> None:
    assert event(f"+0 {text}").action == OTHERS[text]


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("--tolerance_usecs=9000", "tolerance_usecs", "9000"),
        ("--local_ip=fd00::1", "local_ip", "fd00::1"),
        ("--strict_segments", "strict_segments", None),
        ('--define=NAME="two words"', "define", 'NAME="two words"'),
        ("--define=NAME=`date +%s`", "define", "NAME=`date +%s`"),
    ],
)
def test_options_of_a_script(text: str, name: str, value: str | None) -> None:
    assert parse(text).options == (tree.Option(name, value),)


def test_an_event_knows_its_place() -> None:
    first, second = parse("+0 f() = 0\n\n  +1 < S 0:0(0)\n  win 5").events
    assert (first.at, second.at) == (tree.Position(1, 1), tree.Position(3, 3))


def test_events_need_no_lines() -> None:
    calls = "0 f() = 3 1 f() = -1 (no) 2 f() = 4 E 3~4 f() = X * f() = ... +0 f() = 0"
    packets = "5 > . 1:1(0) ack 1 6 < S 0:0(0) win 1 7.5 < S 0:0(0) <sack 1:2 3:4> 8 `true`"
    assert len(parse(f"{calls} {packets}").events) == 10

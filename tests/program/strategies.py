"""Hypothesis strategies for programs: any that `check` lets through, sensible or not."""

from __future__ import annotations

from hypothesis import strategies as st

from scapy_tfo.program.cookies import EDITS
from scapy_tfo.program.program import (
    ENDS,
    OF_PORTS,
    PORTS,
    TOO_BIG,
    UNFOUNDED,
    Cookie,
    Expect,
    Flow,
    Icmp,
    Option,
    Program,
    Send,
    Step,
    Wait,
)

u8, u16, u32 = (st.integers(0, (1 << bits) - 1) for bits in (8, 16, 32))
offsets = st.integers(-(1 << 31), (1 << 31) - 1)
edits = st.lists(st.tuples(st.sampled_from(sorted(EDITS)), st.integers(0, 40)), max_size=3)


def cookies(flows: int) -> st.SearchStrategy[Cookie]:
    of = st.one_of(
        st.sampled_from(("own", "other")),
        st.integers(0, flows - 1).map("flow:{}".format),
        st.binary(max_size=16).map(bytes.hex),
    )
    return st.builds(Cookie, of, edits.map(tuple))


def options(flows: int) -> st.SearchStrategy[Option]:
    """A single option."""
    return st.one_of(
        st.builds(Option, st.sampled_from(("nop", "eol", "sackok"))),
        st.builds(Option, st.sampled_from(("mss", "ws", "ts")), offsets, length=st.none() | u8),
        st.builds(
            Option,
            st.just("fo"),
            kind=st.sampled_from((None, 34, 253, 254)),
            length=st.none() | u8,
            cookie=st.none() | cookies(flows),
        ),
        st.builds(
            Option,
            st.just("raw"),
            kind=u8,
            length=st.none() | u8,
            data=st.binary(max_size=40),
            cookie=st.none() | cookies(flows),
        ),
    )


def steps(flows: int) -> st.SearchStrategy[Step]:
    flow = st.integers(0, flows - 1)
    return st.one_of(
        st.builds(
            Send,
            flow,
            st.lists(st.sampled_from("FSRP.UEW"), unique=True, max_size=4).map("".join),
            offsets,
            st.none() | st.just("all") | offsets,
            st.integers(0, 1400),
            st.booleans(),
            u16,
            st.none() | st.lists(options(flows), max_size=5).map(tuple),
            urgent=u16,
            reserved=st.integers(0, 15),
            checksum=u16,
            data_offset=st.none() | st.integers(0, 15),
            fragments=st.sampled_from((0, 0, 8, 24, 100)),
            traffic_class=u8,
            sack=u16,
        ),
        st.builds(Expect, flow, st.sampled_from(("syn-ack", "text", "fin", "rst"))),
        st.builds(Wait, st.none() | st.floats(0, 60)),
        st.builds(
            Icmp,
            flow,
            st.sampled_from(("unreachable", TOO_BIG, OF_PORTS, *UNFOUNDED)),
            st.integers(0, 13),
            u16,
            offsets,
        ),
    )


@st.composite
def programs(draw: st.DrawFn) -> Program:
    count = draw(st.integers(1, 4))
    flows = [
        Flow(
            draw(st.sampled_from((4, 6))),
            draw(st.integers(0, 1)),
            draw(st.sampled_from(PORTS)),
            draw(st.none() | u32),
        )
        for _ in range(count)
    ]
    return Program(
        tuple(flows),
        tuple(draw(st.lists(steps(count), min_size=1, max_size=8))),
        draw(st.sampled_from(ENDS)),
        draw(st.text(max_size=8)),
        draw(st.none() | u32),
    )

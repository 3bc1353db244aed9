"""Every tree is read back as it was printed, and comments keep their places."""

from __future__ import annotations

import pytest
from hypothesis import given

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.printing import show_script
from tests.pkt.strategies import scripts

# As people write it, and in canonical form.
WRITTEN = [
    ("", ""),
    ("\n\n// a  \n\n\n\n// b\n\n", "// a\n\n// b\n"),
    ("+.010   f( 1,2 )=0", " +0.01 f(1, 2) = 0\n"),
    ("+0 f() = 0// why", "    +0 f() = 0  // why\n"),
    ("+0 f(1, // one\n  2) = 0 // two", "// one\n    +0 f(1, 2) = 0  // two\n"),
    ("+0 f() = 0 /* a\nb */", "    +0 f() = 0\n/* a\nb */\n"),
    ("+0 f() = 0 +0 g() = 0 // g", "    +0 f() = 0\n    +0 g() = 0  // g\n"),
    ("--mss=1000 // small\n\n`a`\n+0 f() = 0\n`b`", None),
    ("+.5...1 f() = 0", "+0.5...1 f() = 0\n"),
    ("+0 < ( ect0 ) S 0:0(0) win 5 <mss 5, nop>", "    +0 < [ect0] S 0:0(0) win 5 <mss 5,nop>\n"),
    ('+0 f("\\x41\\x42") = 0', '    +0 f("AB") = 0\n'),
    ('+0 f("\\x41\\xff") = 0', '    +0 f("\\x41\\xff") = 0\n'),
    (
        f"+0 f({{a={'x' * 60}, b=[{'y' * 30}, {'z' * 40}]}}, 1) = 0",
        f"    +0 f({{a={'x' * 60},\n          b=[{'y' * 30}, {'z' * 40}]}},\n         1) = 0\n",
    ),
]


@pytest.mark.parametrize(("written", "canonical"), WRITTEN)
def test_the_canonical_form(written: str, canonical: str | None) -> None:
    shown = show_script(parse(written))
    if canonical is None:
        assert shown == "--mss=1000  // small\n\n`a`\n    +0 f() = 0\n`b`\n"
    else:
        assert shown == canonical
    assert show_script(parse(shown)) == shown


@given(scripts())
def test_what_is_printed_is_read_back(script: tree.Script) -> None:
    shown = show_script(script)
    assert parse(shown) == script
    assert show_script(parse(shown)) == shown

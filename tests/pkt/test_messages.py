"""Text that is not in the language is refused with a message that names the place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.parse import parse

# Script, with a caret below the place, and a part of the message.
WRONG = [
    (
        "   +0 < S 0:0(0) wim 10",
        "                 ^",
        "'wim' is not allowed here: did you mean 'win'?",
    ),
    (
        "   +0 < S 0:0(0) win 10 <mss 1460,sackOk>",
        "                                  ^",
        "did you mean 'sackOK'?",
    ),
    ("   +0 < Sx 0:0(0)", "        ^", "TCP flags"),
    ("   +0 < S 0:0(0) <>", "                  ^", "'mss'"),
    ("   +0 < S 0:0(0) <mss1460>", "                  ^", "did you mean 'mss'?"),
    ("   +0 < S 0:0(0) <FO 123>", "                     ^", "odd number of hex digits"),
    ("   +0 < S 0:0(0) <FO 12xx>", "                     ^", "not hexadecimal"),
    ("   +0 < S 0:0(0) <kind 256>", "                       ^", "0 to 255"),
    ("   +0 < S 0:0(0", "               ^", "the script ends too early: expected ')'"),
    ("   +0 < S 0:0(0) <FO *>", "      ^", "only for packets that the kernel sends"),
    ("   +0 > S 0:0(0) with doff 4", "      ^", "can have faults"),
    ("   +0 < S 0:0(0) or < R 0:0(0)", "                 ^", "can have an 'or'"),
    ("   +0 \u0663 > S 0:0(0)", "      ^", "is not allowed here"),
    ("   +0 > udp (100)", "        ^", "'udp' is not allowed here"),
    ("   +0 read(3, ...) 5", "                   ^", "expected '='"),
    ("   +0 read(3, ) = 5", "              ^", "')' is not allowed here"),
    ('   +0 write(3, "\\q", 1) = 1', "               ^", "'\\q' is not an escape"),
    ('   +0 open("file) = 1', "           ^", "no closing '\"'"),
    ("   +0 `true", "      ^", "no closing '`'"),
    ("   +0 %{ assert x", "      ^", "no closing '}%'"),
    ("   /* words", "   ^", "no closing '*/'"),
    ("   +0.1234567891 f() = 0", "    ^", "nine decimal places"),
    ("   +.2~+.1 > . 1:1(0)", "        ^", "ends before it begins"),
    ("   read(3) = 0", "   ^", "a time"),
    ("\t+0 < Q 0:0(0)", "\t     ^", "TCP flags"),
    ("   +0 f() = " + "9" * 50, "            ^", "this number is too long"),
]


@pytest.mark.parametrize(("script", "margin", "part"), WRONG, ids=[each[2] for each in WRONG])
def test_the_place_is_shown(script: str, margin: str, part: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse(f"// before\n{script}\n", "a.pkt")
    head, source, caret = caught.value.show().split("\n")
    assert head.startswith(f"a.pkt:2:{len(margin)}: ")
    assert part in head
    assert (source, caret) == (f"  {script}", f"  {margin}")


@pytest.mark.parametrize(
    ("script", "line", "part"),
    [
        ("`a`\n`b`\n+0 f() = 0", 2, "only one command is allowed before the first event"),
        ("+0 f() = 0\n`a`\n`b`", 3, "only one command is allowed after the last event"),
        ("+0 f() = 0\n`a`\n+0 f() = 0", 2, "needs a time before it"),
        ("+0 f() = 0\n--mss=5", 2, "options must be at the beginning of the script"),
        ("`a`\n--mss=5", 2, "options must be at the beginning of the script"),
    ],
)
def test_what_stands_in_the_wrong_order(script: str, line: int, part: str) -> None:
    with pytest.raises(ScriptError, match=part) as caught:
        parse(script)
    assert caught.value.line == line


def test_brackets_without_end_are_refused_in_words() -> None:
    with pytest.raises(ScriptError, match="nested too deeply"):
        parse("+0 f(" + "[" * 5000 + "]" * 5000 + ") = 0")


PIECES = ["+0 ", ".5", "<", "> ", "S.", "1:2(1)", " ack ", " win 5", "<mss 5,", "FO ab", "f(", ")"]
PIECES += [
    "= -1",
    "[",
    "]",
    "{a=",
    "}",
    "`",
    "%{",
    "}%",
    '"\\x',
    "//",
    "/*",
    "*",
    "~",
    "\n",
    "...",
    "|",
]


@given(st.lists(st.sampled_from(PIECES) | st.characters(), max_size=12).map("".join))
def test_any_text_is_a_script_or_wrong_at_a_place_in_it(text: str) -> None:
    found = place_of_error(text)
    if found is not None:
        line, column = found
        lines = text.split("\n")
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1


def place_of_error(text: str) -> tuple[int, int] | None:
    try:
        parse(text)
    except ScriptError as error:
        return error.line, error.column
    return None

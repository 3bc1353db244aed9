"""Parses the text of a script into its tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import replace
from difflib import get_close_matches
from functools import cache

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken, VisitError

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.build import Build, Placed
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.parser import parser
from scapy_tfo.pkt.language.tokens import BuildError

# The parser is shared; each parse gathers the comments it passes in a list of its own.
_comments: ContextVar[list[Token]] = ContextVar("_comments")

_IN_WORDS = {
    "CLOCK": "a time",
    "INT": "a number",
    "NUMBER": "a number",
    "NAME": "a name",
    "BLOB": "hex digits",
    "ELLIPSIS": "'...'",
    "FLAGS": "TCP flags",
    "LT": "'<'",
    "GT": "'>'",
    "STAR": "'*'",
    "STRING": "a string",
    "SHELL": "a `command`",
    "CODE": "%{ code }%",
    "NOTE": "a (note)",
    "OPTION": "--option",
    "VARIABLE": "$NAME",
    "DURATION": "a duration such as 200ms",
    "SACKOK": "'sackOK'",
    "ECN_MARK": "'ect0'",
    "COUNTER": "'e0b'",
    "FAULT": "'checksum', 'doff', 'ip_len', 'seq', 'ack'",
    "FO": "'FO'",
    "FOEXP": "'FOEXP'",
    "_TS": "'TS'",
    "_ECN": "'ECN'",
    "PLUS": "'+'",
    "EQUAL": "'='",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "COMMA": "','",
    "COLON": "':'",
    "VBAR": "'|'",
    "TILDE": "'~'",
    "$END": "the end",
}
_UNCLOSED = {
    "`": "this command has no closing '`', or no command is allowed here",
    '"': "this string has no closing '\"' on its line, or no string is allowed here",
    "%{": "this code has no closing '}%', or no code is allowed here",
    "/*": "this comment has no closing '*/'",
}
_MANY = 16
_USUAL = """--tolerance_usecs=1
`true`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3 // said
+0 setsockopt(3, SOL_TCP, TCP_FASTOPEN, [5], 4) = 0
+0.1...0.2 poll([{fd=3, events=POLLIN|POLLOUT}], 1, 10) = -1 EAGAIN (what)
+.1 `true`
+0 %{ assert tcpi_state }%
+0 < 1@2 > 3 S 0:10(10) win 9 <mss 1460,sackOK,TS val 1 ecr 0,nop,wscale 7,FO abcd1234,nop,nop>
+0~+.1 > [ect0] S. 0:0(0) ack 11 <mss 1460,nop,nop,sackOK,sack 1:2,FOEXP,eol>
* > 1 > 2 R 1:1(0)
1.0 < icmp unreachable frag_needed mtu 9 [1:2(1)]
+0 > . 1:1(0) ack 1 win 1
"""
_TOO_DEEP = "brackets are nested too deeply"


def parse(text: str, name: str = "script") -> tree.Script:
    """The script's tree.

    name: of the script, for messages. Raises ScriptError at the first place that is not in the
    language.
    """
    token = _comments.set([])
    try:
        placed = Build().transform(_parser().parse(text))
        _check_order(placed)
        return tree.Script(tuple(_lines(placed, _comments.get())))
    except UnexpectedEOF as error:
        raise _error("the script ends too early", name, text, *_end(text)) from error
    except UnexpectedToken as error:
        if error.token.type == "$END":
            wanted = _wanted(error.accepts or error.expected)
            problem = f"the script ends too early: expected {wanted}"
            raise _error(problem, name, text, *_end(text)) from error
        problem = _unexpected(str(error.token), error.accepts or error.expected)
        raise _error(problem, name, text, error.line, error.column) from error
    except UnexpectedCharacters as error:
        problem = _unreadable(text, error.pos_in_stream or 0, error.allowed or set())
        raise _error(problem, name, text, error.line, error.column) from error
    except VisitError as error:
        if isinstance(error.orig_exc, RecursionError):
            raise _error(_TOO_DEEP, name, text, 1, 1) from error
        if not isinstance(error.orig_exc, BuildError):
            raise
        raise _at_token(error.orig_exc, name, text) from error
    except RecursionError as error:
        raise _error(_TOO_DEEP, name, text, 1, 1) from error
    except BuildError as error:
        raise _at_token(error, name, text) from error
    finally:
        _comments.reset(token)


def warm_up() -> None:
    """Have the parser now, and not with the first script.

    Its lexer is built as the places of the language are met: all the usual ones are.
    """
    parse(_USUAL)


@cache
def _parser() -> Lark:
    return parser({"COMMENT": _gather})


def _gather(comment: Token) -> Token:
    _comments.get().append(comment)
    return comment


# Messages.


def _error(problem: str, name: str, text: str, line: int, column: int) -> ScriptError:
    return ScriptError(problem, name=name, text=text, line=line, column=column)


def _at_token(wrong: BuildError, name: str, text: str) -> ScriptError:
    line, column = wrong.token.line or 1, wrong.token.column or 1
    return _error(wrong.problem, name, text, line, column)


def _end(text: str) -> tuple[int, int]:
    lines = text.rstrip().split("\n")
    return len(lines), len(lines[-1]) + 1


def _word(text: str, start: int) -> str:
    match = re.compile(r"\w+|.", re.DOTALL).match(text, start)
    return match[0] if match else ""


def _unreadable(text: str, start: int, wanted: set[str]) -> str:
    for mark, problem in _UNCLOSED.items():
        if text.startswith(mark, start):
            return problem
    return _unexpected(_word(text, start), wanted)


def _unexpected(found: str, wanted: set[str]) -> str:
    shown = found.split("\n")[0]
    close = get_close_matches(shown, sorted(_named(each).strip("'") for each in wanted), n=1)
    if close:
        return f"'{shown}' is not allowed here: did you mean '{close[0]}'?"
    return f"'{shown}' is not allowed here: expected {_wanted(wanted)}"


def _named(terminal: str) -> str:
    return _IN_WORDS.get(terminal, f"'{terminal.strip('_').lower()}'")


def _wanted(terminals: set[str]) -> str:
    names = sorted(map(_named, terminals))
    if len(names) > _MANY:
        names = [*names[:_MANY], "more"]
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else "nothing"


# What the grammar does not say.


def _check_order(placed: list[Placed]) -> None:
    """Options, one command of set-up, the events, one command of clean-up."""
    events = [each for each in placed if isinstance(each.statement, tree.Event)]
    begin, end = (events[0].start, events[-1].start) if events else (None, None)
    seen: list[bool] = []
    for each in placed:
        statement = each.statement
        late = seen or (begin is not None and each.start > begin)
        if isinstance(statement, tree.Option) and late:
            raise _wrong_at("options must be at the beginning of the script", statement.at)
        if isinstance(statement, tree.Command):
            after = end is not None and each.start > end
            if begin is not None and end is not None and begin < each.start < end:
                raise _wrong_at("a command between events needs a time before it", statement.at)
            if after in seen:
                where = "after the last" if after else "before the first"
                raise _wrong_at(f"only one command is allowed {where} event", statement.at)
            seen.append(after)


def _wrong_at(problem: str, at: tree.Position) -> BuildError:
    return BuildError(problem, Token("PLACE", "", line=at.line, column=at.column))


# Comments and empty lines.


def _lines(placed: list[Placed], comments: list[Token]) -> Iterator[tree.Line]:
    """The statements with the comments at their places.

    A comment behind a statement on its last line belongs to it; one inside stands before it.
    """
    pending = list(comments)
    last_line = 0
    for each in placed:
        before = [found for found in pending if (found.start_pos or 0) < each.end]
        del pending[: len(before)]
        own = [found for found in before if (found.start_pos or 0) < each.start]
        for found in own:
            yield from _own_line(found, last_line)
            last_line = found.end_line or 0
        if last_line and each.line > last_line + 1:
            yield tree.Blank()
        for found in before[len(own) :]:
            yield tree.Comment(_tidy(found))
        statement = each.statement
        if pending and pending[0].line == each.end_line and pending[0].line == pending[0].end_line:
            later = [other for other in placed if each.end <= other.start]
            if not later or later[0].line > each.end_line:
                statement = replace(statement, comment=_tidy(pending.pop(0)))
        yield statement
        last_line = each.end_line
    for found in pending:
        yield from _own_line(found, last_line)
        last_line = found.end_line or 0


def _own_line(comment: Token, last_line: int) -> Iterator[tree.Line]:
    if last_line and (comment.line or 0) > last_line + 1:
        yield tree.Blank()
    yield tree.Comment(_tidy(comment))


def _tidy(comment: Token) -> str:
    return "\n".join(line.rstrip() for line in comment.split("\n"))

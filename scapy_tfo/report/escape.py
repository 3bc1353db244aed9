"""Makes strings from a target or a user safe to show."""

from __future__ import annotations

import re

# C0 and C1 controls but the line feed, the marks that reorder or break lines on screen, and what
# neither XML 1.0 nor UTF-8 may carry: non-characters and lone surrogates.
_UNFIT = re.compile(
    "[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff"
    "\\ufffe\\uffff\\ud800-\\udfff]"
)
# No backslashes: some readers of tables take them for themselves.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|&~@$]|:(?=//)|\bw(?=ww\.)|^[-+=]")
_SURROGATE = re.compile("[\\ud800-\\udfff]")


def visible(text: str) -> str:
    """The text with control and reordering characters as `\\x1b` or `\\u202e`; line feeds stay.

    What comes out is legal in XML 1.0 and UTF-8 and moves no cursor of a terminal.
    """
    return _UNFIT.sub(_escaped, text)


def one_line(text: str) -> str:
    """As `visible`, with line feeds as `\\n`."""
    return visible(text).replace("\n", "\\n")


def encodable(text: str) -> str:
    """The text with lone surrogates as `\\udc80`, so that UTF-8 can carry it."""
    return _SURROGATE.sub(_escaped, text)


def in_markdown(text: str) -> str:
    """A line that Markdown, in a table or outside of one, shows as it is."""
    return _MARKUP.sub(lambda mark: f"&#{ord(mark[0])};", one_line(text))


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code == 9:
        return "\\t"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

"""A run as a badge: an SVG of one line, which says how many cases passed or failed."""

from __future__ import annotations

from scapy_tfo.report.outline import Outline
from scapy_tfo.report.page import safe
from scapy_tfo.suite.result import Run, Standing

NAME = "TCP Fast Open"
_CHARACTER = 6.6
"""Width of a character in pixels, about; textLength makes it so."""
_MARGIN = 6
_RED, _GREEN, _GREY = "#b3001b", "#116329", "#57606a"


def badge(run: Run, *, strict: bool = False, name: str = NAME) -> str:
    """The SVG. name: of its left half. A run that judged nothing, or did not reach its end without
    a failure, is grey."""
    said, color = _said(Outline(run, strict=strict))
    left, right = _width(name), _width(said)
    whole = left + right
    title = safe(f"{name}: {said}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img"'
        f' aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left}" height="20" fill="#24292f"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{color}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{_text(name, 0, left)}{_text(said, left, right)}</g></svg>\n"
    )


def _said(outline: Outline) -> tuple[str, str]:
    """The right half, and its colour."""
    failed = sum(place.fails_run for _, place in outline.standings)
    passed, total = outline.counts[Standing.PASS], len(outline.standings)
    if failed:
        return f"{failed} of {total} failed", _RED
    if outline.exit_status or not passed:
        return "not judged", _GREY
    return f"{passed} of {total} passed", _GREEN


def _width(text: str) -> int:
    return round(len(text) * _CHARACTER) + 2 * _MARGIN


def _text(text: str, start: int, width: int) -> str:
    inner = width - 2 * _MARGIN
    return f'<text x="{start + _MARGIN}" y="14" textLength="{inner}">{safe(text)}</text>'

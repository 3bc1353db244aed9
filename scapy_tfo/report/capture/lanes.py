"""What the path did to each fast open, by captures of both ends, as one HTML file with a diagram of
two lanes for each connection: the client's end and the server's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from scapy_tfo.capture.comparing.comparison import Compared, Comparison
from scapy_tfo.capture.comparing.fates import COPIED, DROPPED, INVENTED, Fate
from scapy_tfo.errors import SetupError
from scapy_tfo.report.capture.comparison import comparison_lines, of_pair, told
from scapy_tfo.report.page import head, safe, tail

_MOST = 200
"""Connections with a diagram."""

_MOST_PACKETS = 60
"""Rows of a diagram."""

_ROW, _TOP = 26, 30
_LEFT, _RIGHT, _WIDTH = 170, 590, 760
_CENTRE = (_LEFT + _RIGHT) // 2
_STYLE = """
.lanes{width:100%;max-width:48rem;font:12px system-ui,sans-serif}
.lanes text{fill:currentColor}.lanes line{stroke:currentColor}.lanes .time{fill:var(--calm)}
.lanes .lane{stroke:var(--edge);stroke-width:2}
.lanes .changed line,.lanes .delayed line{stroke:var(--warn);stroke-width:2}
.lanes .dropped line,.lanes .invented line,.lanes .copied line{stroke:var(--bad);stroke-width:2}
.lanes .changed text,.lanes .delayed text{fill:var(--warn)}
.lanes .dropped text,.lanes .invented text,.lanes .copied text{fill:var(--bad)}
.lanes .missing line{stroke-dasharray:4 4}
"""


def comparison_page(comparison: Comparison) -> str:
    """The whole comparison as an HTML document; every string of the captures is escaped."""
    return "\n".join(_parts(comparison)) + "\n"


def write_lanes(comparison: Comparison, path: Path) -> None:
    """Write the page. Raises SetupError where that is not possible."""
    try:
        path.write_text(comparison_page(comparison), encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error


def _parts(comparison: Comparison) -> Iterator[str]:
    title = "What the path did to each fast open"
    yield from head(title, _STYLE)
    yield f"<h1>{title}</h1>"
    for line in comparison_lines(comparison):
        if line.startswith(of_pair(comparison.pairs[0]) if comparison.pairs else "\n"):
            break
        yield f"<p>{safe(line)}</p>"
    for pair in comparison.pairs:
        yield f"<h2>{safe(of_pair(pair))}</h2><ul>"
        for deed in pair.deeds:
            yield f"<li><b>{safe(deed.name)}</b>: {safe(deed.says)}</li>"
        yield "</ul>" if pair.deeds else "<li>the path did nothing to them</li></ul>"
    touched = [each for each in comparison.connections if each.done]
    yield f"<h2>Connections to which something was done ({len(touched):,})</h2>"
    if len(touched) > _MOST:
        yield f"<p>The first {_MOST:,} of them; the JSON has all.</p>"
    for place, each in enumerate(touched[:_MOST]):
        yield from _connection(each, comparison.offset or 0, is_open=not place)
    yield tail()


def _connection(each: Compared, offset: int, *, is_open: bool) -> Iterator[str]:
    done = "; ".join(told(fate) for fate in each.done)
    yield f"<details{' open' if is_open else ''}><summary>"
    yield f"{safe(each.client)} &gt; {safe(each.server)}</summary><p>{safe(done)}</p>"
    fates = sorted(each.fates, key=lambda fate: moment(fate, offset))
    yield from _diagram(fates[:_MOST_PACKETS], offset)
    if len(fates) > _MOST_PACKETS:
        yield f"<p>and {len(fates) - _MOST_PACKETS:,} packets more</p>"
    yield "</details>"


def moment(fate: Fate, offset: int) -> int:
    """ns on the client's clock, of its sending where that was captured."""
    is_here = fate.to_server == (fate.sent is not None)
    return fate.when if is_here else fate.when - offset


def _diagram(fates: Sequence[Fate], offset: int) -> Iterator[str]:
    high = _TOP + _ROW * (len(fates) + 1)
    yield f'<svg class="lanes" viewBox="0 0 {_WIDTH} {high}" role="img">'
    for x, name in ((_LEFT, "client"), (_RIGHT, "server")):
        yield f'<line class="lane" x1="{x}" x2="{x}" y1="{_TOP - 8}" y2="{high}"/>'
        yield f'<text x="{x}" y="14" text-anchor="middle">{name}</text>'
    began = moment(fates[0], offset) if fates else 0
    for row, fate in enumerate(fates):
        yield from _arrow(fate, _TOP + _ROW * (row + 0.6), moment(fate, offset) - began)
    yield "</svg>"


def _arrow(fate: Fate, y: float, when: int) -> Iterator[str]:
    """From the lane where it was sent to that where it came; to the middle, or from there, where
    one of them is not known. when: ns since the first packet."""
    begin, end = (_LEFT, _RIGHT) if fate.to_server else (_RIGHT, _LEFT)
    start = begin if fate.sent is not None else _CENTRE
    stop = end if fate.arrived is not None else _CENTRE
    kind = fate.kind if fate.kind != "not captured" else "missing"
    tip = -7 if stop > start else 7
    slope = y + 9
    yield f'<g class="{kind}"><line x1="{start}" y1="{y}" x2="{stop}" y2="{slope}"/>'
    if fate.kind == DROPPED:
        yield f'<line x1="{stop - 5}" y1="{slope - 5}" x2="{stop + 5}" y2="{slope + 5}"/>'
        yield f'<line x1="{stop - 5}" y1="{slope + 5}" x2="{stop + 5}" y2="{slope - 5}"/>'
    else:
        for side in (-4, 4):
            yield (f'<line x1="{stop + tip}" y1="{slope + side}" x2="{stop}" y2="{slope}"/>')
    yield f'<text x="{_CENTRE}" y="{y - 1}" text-anchor="middle">{safe(_label(fate))}</text></g>'
    for x, anchor, number in _frames(fate):
        yield (f'<text class="time" x="{x}" y="{y + 4}" text-anchor="{anchor}">{number}</text>')
    yield f'<text class="time" x="4" y="{y + 4}">{when / 1e6:,.1f} ms</text>'


def _frames(fate: Fate) -> Iterator[tuple[int, str, int]]:
    """The numbers of its frames, each beside the lane of its capture."""
    here, there = (fate.sent, fate.arrived) if fate.to_server else (fate.arrived, fate.sent)
    if here is not None:
        yield _LEFT - 8, "end", here
    if there is not None:
        yield _RIGHT + 8, "start", there


def _label(fate: Fate) -> str:
    text = fate.what
    if fate.cookie:
        text += " + cookie"
    elif fate.option:
        text += " + option"
    if fate.size:
        text += f", {fate.size} B"
    if fate.changes:
        return f"{text}: {', '.join(fate.changes)}"
    return f"{text}: {fate.kind}" if fate.kind in (DROPPED, INVENTED, COPIED, "delayed") else text

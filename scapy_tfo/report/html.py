"""A run as one HTML file that needs nothing else: no script, no network, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from scapy_tfo import spec
from scapy_tfo.report.commands import Commands
from scapy_tfo.report.diagram import Trace
from scapy_tfo.report.escape import visible
from scapy_tfo.report.outline import (
    HEADINGS,
    Outline,
    Requirements,
    cite,
    evidence,
    family,
    label,
    why,
)
from scapy_tfo.suite.result import Result, Run, Standing

STYLE = """
:root{color-scheme:light dark;--bad:light-dark(#b3001b,#ff7b8a);--good:light-dark(#116329,#5fd07f);
--warn:light-dark(#8a5a00,#e8b64c);--calm:light-dark(#57606a,#9aa4af);--edge:light-dark(#d0d7de,#3d444d)}
body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2rem}
table{border-collapse:collapse;width:100%;margin:.7rem 0}
th,td{text-align:left;vertical-align:top;padding:.2rem .6rem;border-bottom:1px solid var(--edge)}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}td,summary{overflow-wrap:anywhere}
details{border:1px solid var(--edge);border-radius:6px;padding:.4rem .8rem;margin:.6rem 0}
summary{cursor:pointer;font-weight:600}pre{overflow-x:auto;font-size:.85rem;line-height:1.35}
.b{white-space:pre-wrap}.dim{color:var(--calm)}
.fail .v,.fixed .v{color:var(--bad);font-weight:600}.warning .v,.known .v{color:var(--warn)}
.pass .v{color:var(--good)}.inconclusive .v,.unsupported .v,.skipped .v{color:var(--calm)}
.pick{margin-right:.2rem}.pick+label{margin-right:1rem}
""".strip()


def html_page(
    run: Run,
    *,
    strict: bool = False,
    catalogue: Requirements | None = None,
    trace: Trace | None = None,
    commands: Commands | None = None,
) -> str:
    """The whole report as an HTML document; every string of the run is escaped.

    catalogue: the requirements, where not those of specs/. trace: the run's packets, where
    already indexed. commands: to tell with each failure, where there is a capture. Raises
    SetupError where specs/ is needed and cannot be read.
    """
    outline = Outline(run, strict=strict)
    page = _Page(outline, catalogue, trace or Trace(run.packets), commands)
    return "\n".join(page.parts()) + "\n"


class _Page:
    def __init__(
        self,
        outline: Outline,
        catalogue: Requirements | None,
        trace: Trace,
        commands: Commands | None,
    ) -> None:
        self.outline = outline
        self.catalogue = catalogue
        self.trace = trace
        self.commands = commands

    def parts(self) -> Iterator[str]:
        run, outline = self.outline.run, self.outline
        title = f"TCP Fast Open conformance of {_safe(run.target)}"
        yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
        yield '<meta name="viewport" content="width=device-width,initial-scale=1">'
        yield f"<title>{title}</title>\n<style>\n{STYLE}\n{_filter_rules()}\n</style>\n</head>"
        yield f"<body>\n<h1>{title}</h1>"
        strict = ", strict" if outline.strict else ""
        yield (
            f"<p>{_safe(run.tool)}, {outline.date}, {run.seconds:.2f} s, {len(run.results)} cases,"
            f" {len(run.packets)} packets{strict}</p>"
        )
        status = Standing.FAIL if outline.exit_status else Standing.PASS
        yield f'<p class="{status}"><span class="v">{_safe(outline.verdict_line())}</span></p>'
        yield from self._sections()
        for places, heading in HEADINGS:
            results = outline.of(*places)
            if results:
                yield f"<h2>{heading} ({len(results)})</h2>"
            for each in results:
                yield from self._failure(each)
        yield from self._cases()
        yield from self._observations()
        if run.notes:
            items = "".join(f"<li>{_safe(note)}</li>" for note in run.notes)
            yield f"<h2>Notes</h2>\n<ul>{items}</ul>"
        yield "</body>\n</html>"

    def _sections(self) -> Iterator[str]:
        columns = [place for place in Standing if self.outline.counts[place]]
        heads = "".join(f'<th class="n">{place}</th>' for place in columns)
        yield f"<table>\n<tr><th>section</th>{heads}</tr>"
        for name, row in [*self.outline.sections.items(), ("all", self.outline.counts)]:
            cells = "".join(
                f'<td class="n {place}"><span class="v">{row[place] or ""}</span></td>'
                for place in columns
            )
            yield f"<tr><td>{name}</td>{cells}</tr>"
        yield "</table>"

    def _failure(self, result: Result) -> Iterator[str]:
        place = self.outline.standing_of(result)
        yield (
            f'<details open class="{place}"><summary>{_safe(label(result))} '
            f'<span class="v">{place}, {result.level.value}</span></summary>'
        )
        yield f"<p>{_safe(result.title)}</p>"
        for each in result.requirements:
            yield f'<p class="dim">{_safe(cite(each, self._requirements()))}</p>'
        yield f"<p>Why: {_safe(why(result, place))}</p>"
        if result.expected or result.actual:
            yield (
                "<table><tr><th>expected</th><th>actual</th></tr>"
                f'<tr><td class="b">{_safe(result.expected)}</td>'
                f'<td class="b">{_safe(result.actual)}</td></tr></table>'
            )
        yield f"<p>{_safe(evidence(result))}</p>"
        command = self.commands.command(result) if self.commands else ""
        if command:
            yield f"<pre>{_safe(command)}</pre>"
        diagram = self.trace.draw(result)
        if diagram:
            yield f"<pre>{_safe(diagram)}</pre>"
        yield "</details>"

    def _cases(self) -> Iterator[str]:
        yield "<h2>Cases</h2>"
        yield (
            '<input class="pick" type="radio" name="pick" id="pick-all" checked>'
            '<label for="pick-all">all</label>'
        )
        for place in Standing:
            if self.outline.counts[place]:
                yield (
                    f'<input class="pick" type="radio" name="pick" id="pick-{place}">'
                    f'<label for="pick-{place}">{place} ({self.outline.counts[place]})</label>'
                )
        yield (
            '<table class="cases">\n<tr><th>case</th><th>family</th><th>requirements</th>'
            '<th>level</th><th>verdict</th><th>title and reason</th><th class="n">s</th></tr>'
        )
        for result, place in self.outline.standings:
            reason = why(result, place)
            yield (
                f'<tr class="{place}"><td>{_safe(result.case)}</td><td>{family(result)}</td>'
                f"<td>{_safe(', '.join(result.requirements))}</td><td>{result.level.value}</td>"
                f'<td class="v">{place}</td><td>{_safe(result.title)}'
                f"{f'<br><span class=dim>{_safe(reason)}</span>' if reason else ''}</td>"
                f'<td class="n">{result.seconds:.3f}</td></tr>'
            )
        yield "</table>"

    def _observations(self) -> Iterator[str]:
        observations = self.outline.observations()
        if not observations:
            return
        yield "<h2>What this target does where the sources leave it open</h2>"
        yield "<table>\n<tr><th>case</th><th>what</th><th>seen</th><th>family</th></tr>"
        for each in observations:
            cells = (each.case, each.what, each.seen, each.families)
            yield "<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in cells) + "</tr>"
        yield "</table>"

    def _requirements(self) -> Requirements:
        if self.catalogue is None:
            self.catalogue = spec.load()
        return self.catalogue


def _filter_rules() -> str:
    """Rules that hide the rows of other verdicts, so that the file needs no script."""
    return "\n".join(
        f"#pick-{place}:checked~table.cases tr[class]:not(.{place}){{display:none}}"
        for place in Standing
    )


def _safe(text: str) -> str:
    return escape(visible(text))

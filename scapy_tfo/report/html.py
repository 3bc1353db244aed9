"""A run as one HTML file: failures by cause, requirements, cases; no network, light and dark.

See `page` for what the file may do in a browser, which is next to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from scapy_tfo.report.commands import Commands
from scapy_tfo.report.diagram import Trace
from scapy_tfo.report.outline import (
    HEADINGS,
    Cause,
    Outline,
    Requirements,
    evidence,
    family,
    label,
    labels,
    load_requirements,
    why,
)
from scapy_tfo.report.page import SEARCH, Anchors, cited, head, safe, tail
from scapy_tfo.suite.result import Result, Run, Standing

_TOLD = tuple(place for places, _ in HEADINGS for place in places)
"""The standings of which each result has a block of its own."""

_WHERE = "The tshark commands are for the directory of this file, which holds what they name."


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
    requirements = load_requirements() if catalogue is None else catalogue
    page = _Page(outline, requirements, trace or Trace(run.packets), commands)
    return "\n".join(page.parts()) + "\n"


class _Page:
    def __init__(
        self,
        outline: Outline,
        catalogue: Requirements,
        trace: Trace,
        commands: Commands | None,
    ) -> None:
        self.outline = outline
        self.catalogue = catalogue
        self.trace = trace
        self.commands = commands
        self.causes = outline.causes(*_TOLD)
        self.explained = {id(each) for cause in self.causes for each in cause.explained}
        anchors = Anchors()
        self.anchors = {id(each): anchors.new(label(each)) for each in outline.run.results}
        found = {each for result in outline.run.results for each in result.requirements}
        known = [each for each in catalogue if each in found]
        self.requirements = {
            each: anchors.new(f"requirement-{each}")
            for each in [*known, *sorted(found - set(known))]
        }

    def parts(self) -> Iterator[str]:
        run, outline = self.outline.run, self.outline
        title = f"TCP Fast Open conformance of {safe(run.target)}"
        yield from head(title, _filter_rules(), script=True)
        yield f"<h1>{title}</h1>"
        strict = ", strict" if outline.strict else ""
        yield (
            f"<p>{safe(run.tool)}, {outline.date}, {run.seconds:.2f} s, {len(run.results)} cases,"
            f" {len(run.packets)} packets{strict}</p>"
        )
        status = Standing.FAIL if outline.exit_status else Standing.PASS
        yield f'<p class="{status}"><span class="v">{safe(outline.verdict_line())}</span></p>'
        yield from self._contents()
        yield SEARCH
        yield from self._sections()
        yield from self._by_cause()
        for places, heading in HEADINGS:
            results = outline.of(*places)
            if results:
                yield f'<h2 id="{places[0]}">{heading} ({len(results)})</h2>'
                if self.commands:
                    yield f"<p class=dim>{_WHERE}</p>"
            for each in results:
                yield from self._failure(each)
        yield from self._by_requirement()
        yield from self._cases()
        yield from self._observations()
        if run.notes:
            items = "".join(f"<li>{safe(note)}</li>" for note in run.notes)
            yield f'<h2 id="notes">Notes</h2>\n<ul>{items}</ul>'
        yield tail(script=True)

    def _contents(self) -> Iterator[str]:
        there = [("causes", "By cause", len(self.causes))]
        there += [
            (places[0], heading.partition(":")[0].capitalize(), len(self.outline.of(*places)))
            for places, heading in HEADINGS
        ]
        there.append(("requirements", "By requirement", len(self.requirements)))
        there.append(("cases", "By case", len(self.outline.run.results)))
        there.append(("observations", "Observed", len(self.outline.observations())))
        there.append(("notes", "Notes", len(self.outline.run.notes)))
        links = (f'<a href="#{aim}">{name} ({many})</a>' for aim, name, many in there if many)
        yield f"<nav>{' '.join(links)}</nav>"

    def _sections(self) -> Iterator[str]:
        columns = [place for place in Standing if self.outline.counts[place]]
        heads = "".join(f'<th class="n">{place}</th>' for place in columns)
        firsts: dict[str, str] = {}
        for each, anchor in self.requirements.items():
            firsts.setdefault(each.partition("-")[0].upper(), anchor)
        yield f'<div class="wide"><table>\n<tr><th>section</th>{heads}</tr>'
        for name, row in [*self.outline.sections.items(), ("all", self.outline.counts)]:
            cells = "".join(
                f'<td class="n {place}"><span class="v">{row[place] or ""}</span></td>'
                for place in columns
            )
            shown = f'<a href="#{firsts[name]}">{name}</a>' if name in firsts else name
            yield f"<tr><td>{shown}</td>{cells}</tr>"
        yield "</table></div>"

    def _by_cause(self) -> Iterator[str]:
        """What failed, each cause before all that it explains, the one that explains most first."""
        if not self.causes:
            return
        yield f'<h2 id="causes">By cause ({len(self.causes)})</h2>'
        for cause in self.causes:
            yield from self._cause(cause)

    def _cause(self, cause: Cause) -> Iterator[str]:
        if not cause.results:
            place, shown, reason = Standing.INCONCLUSIVE, safe(cause.name), ""
        else:
            first = cause.results[0]
            place = self.outline.standing_of(first)
            shown, reason = ", ".join(map(safe, labels(cause.results))), why(first, place)
        summary = f'<span class="v">{shown}</span>'
        if cause.explained:
            summary += f" explains {_number(len(cause.explained), 'other result')}"
        if reason:
            summary += f' <span class="dim">{safe(reason)}</span>'
        yield f'<details class="f s {place}"><summary>{summary}</summary>'
        concerns = dict.fromkeys(name for each in cause.results for name in each.concerns)
        if concerns:
            yield f"<p>Concerns {safe(', '.join(concerns))}.</p>"
        for results, heading in (
            (cause.results, "This case"),
            (cause.explained, "Explained by it"),
        ):
            if results:
                yield f"<p>{heading}:</p>\n<ul>{self._listed(results)}</ul>"
        yield "</details>"

    def _listed(self, results: Iterable[Result]) -> str:
        return "".join(
            f'<li class="{place}">{self._link(each)} <span class="v">{place}</span></li>'
            for each in results
            for place in (self.outline.standing_of(each),)
        )

    def _link(self, result: Result, text: str = "") -> str:
        return f'<a href="#{self.anchors[id(result)]}">{safe(text or label(result))}</a>'

    def _failure(self, result: Result) -> Iterator[str]:
        place = self.outline.standing_of(result)
        anchor = self.anchors[id(result)]
        is_open = "" if id(result) in self.explained else " open"
        yield (
            f'<details{is_open} class="f {place}" id="{anchor}"><summary>{safe(label(result))} '
            f'<span class="v">{place}, {result.level.value}</span> '
            f'<a class="to" href="#{anchor}" title="link to this">#</a></summary>'
        )
        yield f"<p>{safe(result.title)}</p>"
        for each in result.requirements:
            yield f'<p class="dim">{self._cited(each)}</p>'
        yield f"<p>Why: {safe(why(result, place))}</p>"
        if result.cause:
            yield f"<p>Explained by: {self._cause_link(result)}</p>"
        if result.expected or result.actual:
            yield (
                '<table><tr><th class="t">expected</th><th class="t">actual</th></tr>'
                f'<tr><td class="t b">{safe(result.expected)}</td>'
                f'<td class="t b">{safe(result.actual)}</td></tr></table>'
            )
        yield f"<p>{safe(evidence(result))}</p>"
        command = self.commands.command(result) if self.commands else ""
        if command:
            yield f"<pre>{safe(command)}</pre>"
        diagram = self.trace.draw(result)
        if diagram:
            yield f"<pre>{safe(diagram)}</pre>"
        yield "</details>"

    def _cause_link(self, result: Result) -> str:
        """To the case that explains it, at the same family if it was judged there."""
        found = [each for each in self.outline.run.results if each.case == result.cause]
        found.sort(key=lambda each: each.family != result.family)
        return self._link(found[0], result.cause) if found else safe(result.cause)

    def _cited(self, identity: str) -> str:
        """A requirement with its level, links to its sources, and its statement."""
        link = f'<a href="#{self.requirements[identity]}">{safe(identity)}</a>'
        requirement = self.catalogue.get(identity)
        if requirement is None:
            return f"{link}: not in the catalogue"
        sources = ", ".join(map(cited, requirement.source))
        return f"{link} ({requirement.level.value}; {sources}): {safe(requirement.statement)}"

    def _by_requirement(self) -> Iterator[str]:
        yield f'<h2 id="requirements">By requirement ({len(self.requirements)})</h2>'
        yield (
            '<table class="stack">\n<thead><tr><th>requirement</th><th>level</th>'
            '<th class="t">statement, sources and cases</th></tr></thead><tbody>'
        )
        checks: dict[str, list[Result]] = {each: [] for each in self.requirements}
        for result in self.outline.run.results:
            for each in dict.fromkeys(result.requirements):
                checks[each].append(result)
        for each, results in checks.items():
            yield from self._requirement(each, results)
        yield "</tbody></table>"

    def _requirement(self, identity: str, results: list[Result]) -> Iterator[str]:
        counts = Counter(self.outline.standing_of(each) for each in results)
        worst = next(place for place in Standing if counts[place])
        requirement = self.catalogue.get(identity)
        anchor = self.requirements[identity]
        level = requirement.level.value if requirement else ""
        statement, sources = "not in the catalogue", ""
        if requirement:
            statement = safe(requirement.statement)
            sources = f'<br><span class="dim">{", ".join(map(cited, requirement.source))}</span>'
        told = ", ".join(
            f'<span class="{place}"><span class="v">{counts[place]} {place}</span></span>'
            for place in Standing
            if counts[place]
        )
        yield (
            f'<tr class="f {worst}" id="{anchor}">'
            f'<td class="k"><a href="#{anchor}">{safe(identity)}</a></td><td class="k">{level}</td>'
            f'<td class="t">{statement}{sources}'
            f"<details><summary>{told}</summary><ul>{self._listed(results)}</ul></details></td></tr>"
        )

    def _cases(self) -> Iterator[str]:
        yield f'<h2 id="cases">By case ({len(self.outline.run.results)})</h2>'
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
            '<table class="cases stack">\n<thead><tr><th>case</th><th>family</th>'
            "<th>requirements</th><th>level</th><th>verdict</th>"
            '<th class="t">title and reason</th><th class="n">seconds</th></tr></thead><tbody>'
        )
        for result, place in self.outline.standings:
            reason = why(result, place)
            # What has a block of its own above is linked there; its id must not stand twice.
            own = "" if place in _TOLD else f' id="{self.anchors[id(result)]}"'
            requirements = ", ".join(
                f'<a href="#{self.requirements[each]}">{safe(each)}</a>'
                for each in result.requirements
            )
            yield (
                f'<tr class="f {place}"{own}><td>{self._link(result, result.case)}</td>'
                f'<td class="k">{family(result)}</td><td>{requirements}</td>'
                f'<td class="k">{result.level.value}</td><td class="k v">{place}</td>'
                f'<td class="t">{safe(result.title)}'
                f"{f'<br><span class=dim>{safe(reason)}</span>' if reason else ''}</td>"
                f'<td class="n">{result.seconds:.3f}</td></tr>'
            )
        yield "</tbody></table>"

    def _observations(self) -> Iterator[str]:
        observations = self.outline.observations()
        if not observations:
            return
        yield '<h2 id="observations">What this target does where the sources leave it open</h2>'
        yield (
            '<table class="stack">\n<thead><tr><th>case</th><th class="t">what</th>'
            '<th class="t">seen</th><th>family</th></tr></thead><tbody>'
        )
        for each in observations:
            yield (
                f'<tr class="f"><td>{safe(each.case)}</td><td class="t">{safe(each.what)}</td>'
                f'<td class="t">{safe(each.seen)}</td><td class="k">{safe(each.families)}</td></tr>'
            )
        yield "</tbody></table>"


def _filter_rules() -> str:
    """Rules that hide the rows of other verdicts, which needs no script."""
    return "\n".join(
        f"#pick-{place}:checked~table.cases tbody tr:not(.{place}){{display:none}}"
        for place in Standing
    )


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"

"""A run as JUnit XML, in the dialect that Jenkins, GitLab and GitHub actions read.

One suite for each section of specs/. A FAIL that fails the run is a `<failure>`; `<error>` is
never written, since a run that could not be judged ends before it has a report. INCONCLUSIVE,
UNSUPPORTED, SKIPPED and known failures are `<skipped>` with the reason: none of them says that
the target is wrong. A warning (level SHOULD without strict) passes; its `<system-out>` has the
warning. What a case observed is written there, too.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.report.diagram import Trace
from scapy_tfo.report.escape import one_line, visible
from scapy_tfo.report.outline import Outline, evidence, label, section, why
from scapy_tfo.suite.result import Result, Run, Standing

_SKIPPED = (Standing.INCONCLUSIVE, Standing.UNSUPPORTED, Standing.SKIPPED, Standing.KNOWN)


def junit_xml(run: Run, *, strict: bool = False, trace: Trace | None = None) -> bytes:
    """The run as a UTF-8 XML document. trace: the run's packets, where already indexed."""
    outline = Outline(run, strict=strict)
    trace = trace or Trace(run.packets)
    root = ET.Element("testsuites", name=one_line(run.tool))
    began = f"{datetime.fromtimestamp(run.started, UTC):%Y-%m-%dT%H:%M:%S}"
    for name in outline.sections:
        members = [(each, place) for each, place in outline.standings if section(each) == name]
        suite = ET.SubElement(root, "testsuite", name=f"scapy_tfo.{name}", timestamp=began)
        _count(suite, members)
        properties = ET.SubElement(suite, "properties")
        ET.SubElement(properties, "property", name="target", value=one_line(run.target))
        for result, place in members:
            _case(suite, name, result, place, trace)
    _count(root, outline.standings)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def write_junit(run: Run, path: Path, *, strict: bool = False, trace: Trace | None = None) -> None:
    """Write the XML to a file. Raises SetupError where that is not possible."""
    try:
        path.write_bytes(junit_xml(run, strict=strict, trace=trace))
    except OSError as error:
        raise SetupError(f"cannot write the JUnit report {path}: {error.strerror}") from error


def _count(element: ET.Element, members: list[tuple[Result, Standing]]) -> None:
    element.set("tests", str(len(members)))
    element.set("failures", str(sum(place.fails_run for _, place in members)))
    element.set("errors", "0")
    element.set("skipped", str(sum(place in _SKIPPED for _, place in members)))
    element.set("time", f"{sum(result.seconds for result, _ in members):.6f}")


def _case(suite: ET.Element, name: str, result: Result, place: Standing, trace: Trace) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname=f"scapy_tfo.{name}",
        name=one_line(label(result)),
        time=f"{result.seconds:.6f}",
    )
    reason = one_line(why(result, place))
    if place.fails_run:
        failure = ET.SubElement(case, "failure", type=result.level.value, message=reason)
        failure.text = _story(result, trace)
    elif place in _SKIPPED:
        message = reason if place is Standing.SKIPPED else f"{place.value}: {reason}"
        ET.SubElement(case, "skipped", message=message)
    out = []
    if place is Standing.WARNING:
        out += [f"WARNING ({result.level.value}): {reason}", _story(result, trace)]
    out += [one_line(f"observed {what}: {seen}") for what, seen in result.observed.items()]
    if out:
        ET.SubElement(case, "system-out").text = "\n".join(out)


def _story(result: Result, trace: Trace) -> str:
    lines = [
        visible(result.title),
        f"requirements: {visible(', '.join(result.requirements))}",
        f"expected: {visible(result.expected)}",
        f"actual: {visible(result.actual)}",
        evidence(result),
    ]
    diagram = trace.draw(result)
    return "\n".join([*lines, "", diagram] if diagram else lines)

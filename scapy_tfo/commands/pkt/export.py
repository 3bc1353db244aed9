"""`scapy-tfo pkt export`: turn a capture into scripts that replay it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from scapy_tfo.capture.connections import Connection
    from scapy_tfo.pkt.export.wishes import Wishes

SUMMARY = "write a script that replays a captured connection, or the run of a case"
DESCRIPTION = """Write a packetdrill script that replays a connection from a capture (pcap or
pcapng), or all connections of one case from the capture of a run ('scapy-tfo
test' and 'pkt run --out' write capture.pcapng). The kernel takes the place of
what was tested there, elsewhere that of the server, or with --side client that
of the client; the script sends the packets of the other end.
Sequence numbers count from 0, cookies become variables, and system calls are
inferred from the packets; the script's first lines say what was assumed.

This command does not touch the network.

exit status: 0 done, 2 no capture, nothing to replay, or a choice is needed"""
_SCHEMA = 1
_MOST_SHOWN = 20


@dataclass(frozen=True)
class _Job:
    """What becomes one script. name: of its file, without the suffix."""

    name: str
    case: str
    connections: Sequence[Connection]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of `pkt export`."""
    parser.set_defaults(command=_export)
    parser.add_argument("file", type=Path, metavar="FILE", help="a pcap or pcapng file")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--flow",
        action="append",
        metavar="SRC:PORT>DST:PORT",
        help="take this connection, its client first; may be repeated",
    )
    chosen.add_argument("--case", metavar="ID", help="take all connections of this case")
    family = parser.add_mutually_exclusive_group()
    for number in (4, 6):
        family.add_argument(
            f"-{number}",
            f"--ipv{number}",
            dest="family",
            action="store_const",
            const=number,
            help=f"take connections over IPv{number} only",
        )
    parser.add_argument(
        "--side",
        choices=("server", "client"),
        help="the end whose place the kernel takes (default: the one that was tested, where the "
        "capture says who sent each packet, else server)",
    )
    parser.add_argument(
        "--portable", action="store_true", help="use nothing that packetdrill does not know"
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="also check what depends on the target's set-up: windows, their scale, DSCP",
    )
    parser.add_argument(
        "--output",
        metavar="FILE|DIR",
        help="write to this file instead of standard output; in a directory, which is there or"
        " ends in /, write one script for each connection or case",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write a list of the scripts as JSON"
    )


def _export(chosen: argparse.Namespace) -> int:
    from scapy_tfo.capture.connections import captured, connections
    from scapy_tfo.capture.reader import read_frames
    from scapy_tfo.files.names import file_name
    from scapy_tfo.pkt.export.notes import cookies
    from scapy_tfo.pkt.export.wishes import Wishes

    name = str(chosen.file)
    found = connections(captured(read_frames(chosen.file), name))
    if not found:
        raise SetupError(f"{name} holds no TCP packets: capture while the connection is made")
    wishes = Wishes(portable=chosen.portable, exact=chosen.exact)
    # A path would lose the slash at the end.
    output = None if chosen.output is None else Path(chosen.output)
    directory = output is not None and (chosen.output.endswith("/") or output.is_dir())
    jobs = _chosen(found, chosen)
    if not directory:
        jobs = [_only(jobs, name)]
    granted = cookies(found)
    made: list[dict[str, Any]] = []
    for job in jobs:
        about: dict[str, Any] = {
            "case": job.case or None,
            "flows": [each.flow for each in job.connections],
            "file": None,
            "problem": None,
        }
        made.append(about)
        try:
            side = chosen.side or _side(job)
            text = _script(job, replace(wishes, side=side), granted, chosen.file.name)
        except SetupError as error:
            if not directory:
                raise
            about["problem"] = str(error)
            print(f"{job.name}: {error}", file=sys.stderr)
            continue
        name = f"{file_name(job.name)}.pkt"
        about["file"] = _put(text, output, name if directory else None)
    if directory:
        scripts = sum(each["file"] is not None for each in made)
        print(f"{scripts} scripts in {output}, {len(made) - scripts} could not be made")
    if chosen.json is not None:
        _write(chosen.json, json.dumps({"schema": _SCHEMA, "scripts": made}, indent=2) + "\n")
    return 0 if any(each["file"] is not None for each in made) or not directory else 2


def _side(job: _Job) -> str:
    """What was tested, as far as the capture tells."""
    return "client" if all(each.is_of_a_client for each in job.connections) else "server"


def _chosen(found: Sequence[Connection], chosen: argparse.Namespace) -> list[_Job]:
    """The connections that were asked for, as one job for each script."""
    from scapy_tfo.capture.connections import CONTROL

    kept = [each for each in found if chosen.family in (None, each.family)]
    if chosen.flow:
        flows = {each.replace(" ", "") for each in chosen.flow}
        kept = [each for each in kept if each.flow in flows]
        missing = flows - {each.flow for each in kept}
        if missing:
            raise SetupError(
                f"no connection {sorted(missing)[0]} in {chosen.file}: give it as"
                " SRC:PORT>DST:PORT, from its client"
            )
        return [_Job("flow", kept[0].case, kept)]
    if chosen.case:
        kept = [each for each in kept if each.case == chosen.case]
        if not kept:
            raise SetupError(f"{chosen.file} holds no packets of the case {chosen.case}")
    last: dict[tuple[str, int], int] = {}
    for each in kept:
        run = each.case, each.family
        last[run] = max(last.get(run, 1), each.attempt)
    # What a case was judged by is its last attempt.
    kept = [each for each in kept if each.attempt == last[each.case, each.family]]
    told = [each for each in kept if each.case and each.case != CONTROL]
    if not told:
        return [_Job(f"connection-{at}", "", [each]) for at, each in enumerate(kept, 1)]
    cases: dict[tuple[str, int], list[Connection]] = {}
    for each in told:
        cases.setdefault((each.case, each.family), []).append(each)
    return [_Job(f"{case}-ipv{family}", case, each) for (case, family), each in cases.items()]


def _only(jobs: Sequence[_Job], name: str) -> _Job:
    """The one job, or the list of what there is and an error."""
    if len(jobs) == 1:
        return jobs[0]
    if not jobs:
        raise SetupError(f"{name} holds no connection over that IP version")
    for job in jobs[:_MOST_SHOWN]:
        first = job.connections[0]
        size = sum(len(each.packets) for each in job.connections)
        what = f"--case {job.case} -{first.family}" if job.case else f"--flow '{first.flow}'"
        print(f"  {what}  ({size} packets)", file=sys.stderr)
    if len(jobs) > _MOST_SHOWN:
        print(f"  and {len(jobs) - _MOST_SHOWN} more", file=sys.stderr)
    what = "runs of cases" if jobs[0].case else "connections"
    raise SetupError(
        f"{name} holds {len(jobs)} {what}: choose one as listed above, or give --output an"
        " existing directory for all of them"
    )


def _script(job: _Job, wishes: Wishes, granted: Mapping[bytes, str], name: str) -> str:
    from scapy_tfo.pkt.export.script import export
    from scapy_tfo.pkt.language.printing import show_script

    about = list(_about(job, name))
    return show_script(export(job.connections, wishes, about=about, granted=granted))


def _about(job: _Job, name: str) -> Iterator[str]:
    from scapy_tfo.pkt.export.notes import verdict
    from scapy_tfo.suite.registry import all_cases

    if not job.case:
        yield f"From {name}."
        return
    known = next((each for each in all_cases() if each.id == job.case), None)
    if known is not None:
        yield ", ".join(known.requirements)
        yield known.title
    yield f"From {name}: case {job.case} over IPv{job.connections[0].family}."
    told = verdict(job.connections)
    if told:
        yield f"Its verdict: {told}"


def _put(text: str, output: Path | None, name: str | None) -> str | None:
    """Where it was written; name: of the file in the directory `output`."""
    from scapy_tfo.files.writing import put

    if output is None:
        sys.stdout.write(text)
        return None
    if name is None:
        _write(output, text)
        return str(output)
    path = output / name
    try:
        output.mkdir(parents=True, exist_ok=True)
        put(path, text)
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error
    return str(path)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error

"""What the path did to each fast open, by captures of both ends, as text and as JSON: schema 2."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scapy_tfo.capture.comparing.comparison import Comparison, Pair
from scapy_tfo.capture.comparing.fates import Fate
from scapy_tfo.errors import SetupError

SCHEMA = 2
_MILLISECOND = 1_000_000
_LISTED = 20


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """The report line by line: the clocks, the hosts, and each connection to which something was
    done."""
    touched = [each for each in comparison.connections if each.done]
    count = len(comparison.connections)
    yield f"{count:,} fast opens in both captures; the path did something to {len(touched):,}"
    if comparison.delay is not None and comparison.delay < 0:
        yield (
            "packets arrive before they are sent: give the capture of the clients' end first; "
            "if it is first, a clock drifts"
        )
    if comparison.offset is not None and comparison.delay is not None:
        yield (
            f"the server's clock is {comparison.offset / _MILLISECOND:+,.3f} ms off; the fastest "
            f"packets took {comparison.delay / _MILLISECOND:,.3f} ms one way"
        )
        for whither, taken in (("server", comparison.to_server), ("client", comparison.to_client)):
            if taken is not None:
                yield (
                    f"to the {whither}: median {taken.median / _MILLISECOND:,.3f} ms, "
                    f"slowest {taken.slowest / _MILLISECOND:,.3f} ms"
                )
    else:
        yield "the clocks cannot be compared: nothing of one direction is in both captures"
    for pair in comparison.pairs:
        yield of_pair(pair)
        for deed in pair.deeds:
            yield f"  {deed.name}: {deed.says}"
    for each in touched[:_LISTED]:
        yield f"{each.client} > {each.server}"
        for fate in each.done:
            yield f"  {told(fate)}"
    if len(touched) > _LISTED:
        yield f"and {len(touched) - _LISTED:,} connections more: give --json or --html"


def of_pair(pair: Pair) -> str:
    """`192.0.2.1 > 192.0.2.7: dropped 31 of 33 SYNs with data, 0 of 33 plain ones`."""
    return (
        f"{pair.client} > {pair.server}: dropped {pair.with_data_dropped:,} of "
        f"{pair.with_data:,} SYNs with data, {pair.plain_dropped:,} of {pair.plain:,} plain ones"
    )


def told(fate: Fate) -> str:
    """`SYN to the server dropped (frame 3 of the client)`."""
    ends = ("client", "server") if fate.to_server else ("server", "client")
    frames = [
        f"frame {number} of the {end}"
        for number, end in zip((fate.sent, fate.arrived), ends, strict=True)
        if number is not None
    ]
    details = list(fate.changes)
    if fate.kind == "delayed":
        details.append(f"{fate.delay / _MILLISECOND:,.0f} ms more than the fastest")
    text = f"{fate.what} to the {ends[1]} {fate.kind}"
    return f"{text}{': ' if details else ''}{', '.join(details)} ({', '.join(frames)})"


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Plain dicts and lists; times in nanoseconds, what is not known is null."""
    return {
        "schema": SCHEMA,
        "offset": comparison.offset,
        "delay": comparison.delay,
        "to_server": asdict(comparison.to_server) if comparison.to_server else None,
        "to_client": asdict(comparison.to_client) if comparison.to_client else None,
        "pairs": [asdict(each) for each in comparison.pairs],
        "connections": [asdict(each) for each in comparison.connections],
    }


def write_comparison(comparison: Comparison, path: Path) -> None:
    """Write the JSON to a file. Raises SetupError where that is not possible."""
    try:
        path.write_text(json.dumps(comparison_json(comparison)) + "\n", encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error

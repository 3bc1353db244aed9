"""Writes a result as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from scapy_tfo.path.evidence import Cost, Keys, Result
from scapy_tfo.path.observation import FAST_OPENS


def lines(title: str, result: Result) -> Iterator[str]:
    """What a terminal shows of one family's result."""
    yield f"{title}: {result.verdict.value}"
    for each in result.findings:
        yield f"  {each.name} ({each.where}): {each.says}"
        if each.no_client:
            yield f"    no client can help it: {each.no_client}"
    yield from _recovery(result)
    yield from _toll(result)
    if result.keys is not None:
        yield f"  keys: {_of_keys(result.keys)}"
    for note in result.notes:
        yield f"  note: {note}"
    if result.costs:
        heads = f"{'first echo':>12}{'than plain':>12}{result.counts:>8}"
        yield f"  {'connection begins with':<58}{heads}"
    for cost in result.costs:
        yield (
            f"  {cost.probe.value:<58}{_milliseconds(cost.seconds):>12}{_more(cost):>12}"
            f"{cost.whole:>5}/{cost.of}"
        )


def as_json(result: Result) -> dict[str, Any]:
    """Plain JSON values; times in seconds."""
    return {
        "verdict": result.verdict.value,
        "findings": [
            {
                "name": each.name,
                "verdict": each.verdict.value,
                "where": each.where,
                "says": each.says,
                "harm": each.harm,
                "no_client": each.no_client,
            }
            for each in result.findings
        ],
        "keys": None if result.keys is None else asdict(result.keys),
        "syn_data": None
        if result.syn_data is None
        else dict(zip(("passes", "fails"), result.syn_data, strict=True)),
        "toll": None if result.toll is None else asdict(result.toll),
        "notes": list(result.notes),
        "connections": [
            {
                "begins_with": each.probe.value,
                "seconds": each.seconds,
                "plain_seconds": each.plain,
                "whole": each.whole,
                "of": each.of,
            }
            for each in result.costs
        ],
    }


def _recovery(result: Result) -> Iterator[str]:
    """Whether a client gets over it, and what that costs it."""
    if result.has_far and any(each.harm for each in result.findings):
        for cost in result.costs:
            if cost.probe in FAST_OPENS:
                what = f"a SYN with {cost.probe.value}"
                if cost.whole == cost.of and cost.seconds is not None:
                    yield f"  {what}: the client recovers, {_more(cost)} beside a plain connection"
                else:
                    yield f"  {what}: {cost.of - cost.whole} of {cost.of} clients do not recover"


def _toll(result: Result) -> Iterator[str]:
    """What it costs a user, in time and connections."""
    toll = result.toll
    if toll is None:
        return
    late = "the first echo never comes"
    if toll.seconds is not None:
        late = f"{toll.seconds * 1000:.0f} ms a connection more than on a path that does no harm"
    yield f"  cost of fast open: {late}; {toll.lost} of {toll.of} connections are not whole"
    if toll.other_kind is not None:
        yield (
            f"  kind 254 passes: its fast opens are whole, the first echo comes after "
            f"{_milliseconds(toll.other_kind)}"
        )


def _of_keys(keys: Keys) -> str:
    holders = "one holder" if keys.holders == 1 else f"{keys.holders} holders of different ones"
    granted = f"{holders} granted {keys.granted} cookies"
    if not keys.tried:
        return granted
    return f"{granted}; {keys.accepted} of {keys.tried} fast opens with some data were accepted"


def _milliseconds(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds * 1000:.0f} ms"


def _more(cost: Cost) -> str:
    if cost.seconds is None or cost.plain is None:
        return ""
    return f"{round((cost.seconds - cost.plain) * 1000):+d} ms"

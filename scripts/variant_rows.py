"""Writes array.py of scapy_tfo/variants and of scapy_tfo/client_variants: stacks that use many
freedoms at once.

A covering array of strength 2: any two variants of different freedoms that can go together do so
in at least one row. allpairspy of the extra `test` makes it; --check says whether the files are as
they would be made now, by the freedoms and the variants that they name.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scapy_tfo.client_variants.registry import all_client_variants
from scapy_tfo.variants.registry import Variant, all_variants, joined

PACKAGE = Path(__file__).resolve().parent.parent / "scapy_tfo"

SHELVES: dict[str, Callable[[], Sequence[Variant]]] = {
    "variants": all_variants,
    "client_variants": all_client_variants,
}
"""The rooms that have an array, and how their variants are found."""

APART = (
    {"answers-after-the-handshake", "answers-in-the-syn-ack"},
    {"no-mss-for-the-default", "mss-of-the-path"},
    {"syn-ack-waits", "answers-in-the-syn-ack"},
    {"acknowledges-no-early-text", "acknowledges-early-text-later"},
    # What nobody reads yet would shrink the window.
    {"keeps-the-data-of-a-plain-syn", "drops-acks-while-none-is-accepted"},
    {"keeps-the-data-of-a-plain-syn", "resets-while-none-is-accepted"},
    {"one-path-mtu", "forgets-the-path-mtu"},
    {"ignores-unreachable", "hard-errors-end-connections"},
    {"cubic", "counts-bytes"},
    {"waits-for-the-timer", "sends-new-text-on-duplicates"},
    {"waits-for-the-timer", "recovers-like-reno"},
)
"""Variants that are legal each, and not together, or of which one would hide the other."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; 1 if one is out of date"
    )
    check = parser.parse_args().check
    stale = 0
    for room, find in SHELVES.items():
        variants = find()
        levels = factors(variants)
        if check:
            array = importlib.import_module(f"scapy_tfo.{room}.array")
            stale |= levels != array.LEVELS
            continue
        file = PACKAGE / room / "array.py"
        file.write_text(_text(levels, made(levels, variants)), encoding="utf-8")
        print(file)
    return int(stale)


def factors(variants: Sequence[Variant]) -> dict[str, tuple[str, ...]]:
    """Those that combine, by the first freedom that they use."""
    found: dict[str, list[str]] = {}
    for each in variants:
        if each.combines:
            found.setdefault(next(iter(each.uses)), []).append(each.name)
    return {freedom: tuple(names) for freedom, names in sorted(found.items())}


def together(one: Variant, other: Variant) -> bool:
    """Whether two variants can be one stack that does what each does."""
    if {one.name, other.name} in APART:
        return False
    try:
        joined("both", [one, other])
    except (ValueError, TypeError):
        return False
    return not any(_hides(a, b) for a, b in itertools.product(one.parts, other.parts) if a is not b)


def _hides(one: type[Any], other: type[Any]) -> bool:
    """Whether both replace one method, and one of them asks no further."""
    ours, theirs = _methods(one), _methods(other)
    both = [name for name in ours.keys() & theirs.keys() if ours[name] is not theirs[name]]
    return any(
        "super()" not in inspect.getsource(each[name]) for name in both for each in (ours, theirs)
    )


def _methods(part: type[Any]) -> dict[str, Any]:
    own = [each for each in part.__mro__ if SHELVES.keys() & set(each.__module__.split("."))]
    return {
        name: value
        for each in reversed(own)
        for name, value in vars(each).items()
        if inspect.isfunction(value)
    }


def made(levels: dict[str, tuple[str, ...]], every: Sequence[Variant]) -> list[tuple[int, ...]]:
    """The rows: for each freedom 0 for the reference's choice, or the number of a variant."""
    from allpairspy import AllPairs

    variants = {each.name: each for each in every}
    apart = {
        frozenset(pair)
        for a, b in itertools.combinations(levels.values(), 2)
        for pair in itertools.product(a, b)
        if not together(variants[pair[0]], variants[pair[1]])
    }
    # The freedoms with most choices first: the others fit in beside them.
    order = sorted(levels, key=lambda freedom: -len(levels[freedom]))

    def allowed(row: Sequence[str]) -> bool:
        last = row[-1]
        return all(frozenset((last, each)) not in apart for each in row[:-1] if each and last)

    rows = AllPairs([["", *levels[each]] for each in order], filter_func=allowed)
    places = [order.index(freedom) for freedom in levels]
    found = [tuple(row) for row in rows if any(row)]
    found += _missing(found, order, levels, apart)
    return [
        tuple(
            (levels[freedom].index(row[at]) + 1) if row[at] else 0
            for freedom, at in zip(levels, places, strict=True)
        )
        for row in found
    ]


def _missing(
    rows: Sequence[Sequence[str]],
    order: Sequence[str],
    levels: dict[str, tuple[str, ...]],
    apart: set[frozenset[str]],
) -> list[tuple[str, ...]]:
    """Rows for the pairs that the filter kept out of all others."""
    seen = {frozenset(pair) for row in rows for pair in itertools.combinations(row, 2)}
    more: list[dict[str, str]] = []
    for a, b in itertools.combinations(order, 2):
        for one, other in itertools.product(levels[a], levels[b]):
            if frozenset((one, other)) in seen | apart:
                continue
            place = next((row for row in more if _fits(row, {a: one, b: other}, apart)), None)
            if place is None:
                place = {}
                more.append(place)
            place |= {a: one, b: other}
    return [tuple(row.get(each, "") for each in order) for row in more]


def _fits(row: dict[str, str], new: dict[str, str], apart: set[frozenset[str]]) -> bool:
    """Whether a row has room for these choices."""
    return all(
        row.get(freedom, name) == name
        and not any(frozenset((name, each)) in apart for each in row.values())
        for freedom, name in new.items()
    )


def _text(levels: dict[str, tuple[str, ...]], rows: list[tuple[int, ...]]) -> str:
    lines = [
        '"""Which variants the rows of the covering array join; scripts/variant_rows.py made it.',
        "",
        "LEVELS: the variants of each freedom, by its id. ROWS: a digit for each freedom, in their",
        "order: 0 for the reference's choice, else the number of the variant, from 1.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "LEVELS: dict[str, tuple[str, ...]] = {",
    ]
    for freedom, names in levels.items():
        listed = ", ".join(f'"{each}"' for each in names)
        line = f'    "{freedom}": ({listed},),'
        if len(line) <= 100:
            lines.append(line if len(names) == 1 else line.replace(",),", "),"))
        else:
            lines += [f'    "{freedom}": (', *(f'        "{each}",' for each in names), "    ),"]
    lines += ["}", "", "ROWS: tuple[str, ...] = ("]
    for row in rows:
        digits = "".join(map(str, row))
        cut = [digits[at : at + 80] for at in range(0, len(digits), 80)]
        lines += [f'    "{each}"' + ("," if each is cut[-1] else "") for each in cut]
    return "\n".join([*lines, ")", ""])


if __name__ == "__main__":
    sys.exit(main())

"""`scapy-tfo fuzz corpus minimise`: a corpus of fewer programs that covers as much."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from scapy_tfo.errors import SetupError

NAME = "corpus"

_DESCRIPTION = """Run the programs that campaigns kept because they reached something new, and
write few and short ones that together cover as much, as JSON files for --corpus.

exit status: 0 written, 2 wrong usage or set-up, 3 the target could not be judged"""


def add_command(group: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`corpus`, below `fuzz`."""
    below = group.add_parser(
        NAME, help="make the corpus of a campaign smaller", allow_abbrev=False
    ).add_subparsers(metavar="COMMAND", required=True)
    parser = below.add_parser(
        "minimise",
        help="write a few programs that cover as much",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=_minimise)
    add = parser.add_argument
    add("corpora", nargs="+", type=Path, metavar="FILE|DIR", help="a store, or programs")
    add("--target", required=True, metavar="TARGET", help="where they are run, as for 'fuzz'")
    add(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="directory to make; one with other files is refused",
    )


def _minimise(chosen: argparse.Namespace) -> int:
    from scapy_tfo.commands.fuzz.run import programs_of
    from scapy_tfo.files.writing import make_directory, put
    from scapy_tfo.fuzz.campaign.minimise import minimised
    from scapy_tfo.program.fingerprint import text_hash
    from scapy_tfo.program.program import dumps
    from scapy_tfo.targets.benches import open_bench

    programs = [each for path in chosen.corpora for each in programs_of(path).values()]
    if not programs:
        raise SetupError(f"no programs in {chosen.corpora[0]}")
    out: Path = chosen.output
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SetupError(f"{out} is not empty: give a new directory")
    with closing(open_bench(chosen.target)) as bench:
        kept, covered = minimised(bench, programs)
    try:
        make_directory(out)
        for each in kept:
            put(out / f"{text_hash(repr(each)):016x}.json", dumps(each) + "\n")
    except OSError as error:
        raise SetupError(f"cannot write into {out}: {error.strerror}") from error
    print(
        f"{out}: {len(kept):,} of {len({repr(each) for each in programs}):,} programs,"
        f" which cover {covered:,} states, edges and pairs of edges"
    )
    return 0

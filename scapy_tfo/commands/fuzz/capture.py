"""`scapy-tfo fuzz capture`: write a capture of fuzzed packets, and test a dissector with it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from scapy_tfo.errors import SetupError

NAME = "capture"

_DESCRIPTION = """Write a capture of fuzzed packets, and let tshark read it.

The capture holds the packets of generated programs and the reference stack's
replies; some packets are repeated with damage. With a plugin (--plugin, or this
package's own tfo.lua), tshark's Lua errors are reported, too. Nothing is sent.

exit status: 0 no errors, 1 an error of the plugin or of tshark, 2 wrong usage
or set-up"""


def add_command(
    group: argparse._SubParsersAction[argparse.ArgumentParser],
    count: Callable[[str], int],
    number: Callable[[str], int],
) -> None:
    """`capture`, below `fuzz`. count, number: read an argument of 1, or of 0, or more."""
    parser = group.add_parser(
        NAME,
        help="write a capture of fuzzed packets",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=_command)
    add = parser.add_argument
    add("packets", type=count, metavar="N", help="number of packets")
    add(
        "--out",
        type=Path,
        default=Path("fuzzed.pcapng"),
        metavar="FILE",
        help="the capture to write (default: %(default)s)",
    )
    add("--seed", type=number, default=0, metavar="N", help="random seed (default: 0)")
    add("--plugin", type=Path, metavar="FILE", help="Lua plugin to load in tshark")
    add("--no-dissect", action="store_true", help="write the capture without running tshark")


def _command(chosen: argparse.Namespace) -> int:
    from scapy_tfo.dissector.files import own_plugin
    from scapy_tfo.dissector.trial import dissect
    from scapy_tfo.dissector.tshark import has_tshark
    from scapy_tfo.fuzz.captures import write_capture

    plugin = chosen.plugin or own_plugin()
    if chosen.plugin is not None and not os.access(chosen.plugin, os.R_OK):
        raise SetupError(f"cannot read the plugin {chosen.plugin}")
    if chosen.plugin is not None and chosen.no_dissect:
        raise SetupError("--plugin needs tshark, which --no-dissect leaves out: give one of them")
    write_capture(chosen.out, chosen.packets, chosen.seed)
    print(f"{chosen.out}: {chosen.packets:,} packets of seed {chosen.seed}")
    if chosen.no_dissect:
        return 0
    if not has_tshark():
        if chosen.plugin is not None:
            raise SetupError("cannot try the plugin: there is no tshark on PATH; install it")
        print("scapy-tfo: not dissected: there is no tshark on PATH", file=sys.stderr)
        return 0
    result = dissect(chosen.out, plugin)
    how = f"with {plugin}" if plugin is not None else "without a plugin"
    if not result.problems:
        print(f"{result.version} {how}: no errors")
        return 0
    print(f"{result.version} {how}:")
    for each in result.problems:
        print(f"  {each}")
    return 1

"""A build hook of hatch: compiles the fuzzer's inner loop with mypyc, in a wheel for this machine.

    HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 pip install .

Off by default: it needs a C compiler, Python's headers and a minute or two. The sources and their
behaviour are the same; only the speed differs (docs/fuzzing.md). SCAPY_TFO_OPT=0 makes the
compiler fast, and the result slow.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HOT = (
    "option",
    "packet",
    "segment",
    "seq",
    "executor/digest",
    "executor/live/addresses",
    "executor/live/engine",
    "executor/live/ports",
    "executor/live/volley",
    "executor/live/volley_recipes",
    "executor/live/volley_shapes",
    "executor/packet_builder",
    "executor/play",
    "executor/verdict",
    "executor/watched",
    "oracle/arrives/acknowledgment",
    "oracle/arrives/arrival",
    "oracle/arrives/reset",
    "oracle/arrives/segment",
    "oracle/arrives/syn",
    "oracle/arrives/text",
    "oracle/counters",
    "oracle/obligations",
    "oracle/oracle",
    "oracle/parts/application",
    "oracle/parts/attribution",
    "oracle/parts/events",
    "oracle/parts/handshake",
    "oracle/parts/pending",
    "oracle/parts/reassembly",
    "oracle/parts/rules",
    "oracle/parts/state",
    "oracle/parts/streams",
    "oracle/parts/syn",
    "oracle/parts/timing",
    "oracle/parts/violation",
    "oracle/parts/watch",
    "oracle/replies/acknowledgment",
    "oracle/replies/dispatch",
    "oracle/replies/reset",
    "oracle/replies/segment",
    "oracle/replies/syn_ack",
    "oracle/replies/syn_ack_options",
    "oracle/replies/text",
    "oracle/replies/timestamps",
    "program/cookies",
    "program/fingerprint",
    "program/options",
    "program/payload",
    "program/program",
    "wire/links/batch",
)
"""Modules that every packet of a campaign passes through, and modules that derive from them: an
interpreted class cannot derive from a compiled one."""

# The types of other projects are not installed here, and not needed: `make lint` checks them.
_MYPY = ("--ignore-missing-imports", "--follow-imports=silent", "--no-warn-unused-ignores")


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel, next to their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile. An editable install (version "editable") stays as it is."""
        if version != "standard":
            return
        from mypyc.build import mypycify
        from setuptools import Distribution
        from setuptools.command.build_ext import build_ext

        # Deleted when this process ends: the wheel is made from it after this method returns.
        self._directory = tempfile.TemporaryDirectory(prefix="scapy-tfo-compiled-")
        place = Path(self._directory.name)
        with chdir(self.root):
            extensions = mypycify(
                [*_MYPY, *(f"scapy_tfo/{each}.py" for each in HOT)],
                opt_level=os.environ.get("SCAPY_TFO_OPT", "2"),
                target_dir=str(place / "c"),
            )
            command = build_ext(Distribution({"name": "scapy-tfo", "ext_modules": extensions}))
            command.build_lib = str(place / "lib")
            command.build_temp = str(place / "objects")
            command.parallel = os.cpu_count()
            command.ensure_finalized()
            command.run()
        lib = place / "lib"
        for each in lib.rglob("*"):
            if each.is_file():
                build_data["force_include"][str(each)] = str(each.relative_to(lib))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

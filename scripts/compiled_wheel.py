"""A build hook of hatch: the fuzzer's inner loop compiled by mypyc, in a wheel for this machine.

    HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 pip install .

Off unless asked for: it takes a C compiler, Python's headers and a minute or two. The sources are
the same, and what they say is; only their speed differs (docs/fuzzing.md). SCAPY_TFO_OPT=0 makes
the compiler quick, and the result slow.
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
    "segment",
    "seq",
    "fuzz/assembly",
    "fuzz/balance",
    "fuzz/clauses",
    "fuzz/cookies",
    "fuzz/debts",
    "fuzz/digest",
    "fuzz/fingerprint",
    "fuzz/frames",
    "fuzz/grants",
    "fuzz/knowledge",
    "fuzz/live_engine",
    "fuzz/live_ports",
    "fuzz/live_range",
    "fuzz/model",
    "fuzz/options",
    "fuzz/outgoing",
    "fuzz/play",
    "fuzz/program",
    "fuzz/replies",
    "fuzz/room",
    "fuzz/streams",
    "fuzz/syn_acks",
    "fuzz/syn_rules",
    "fuzz/text",
    "fuzz/verdict",
    "fuzz/volley",
    "fuzz/volley_recipes",
    "fuzz/volley_shapes",
    "fuzz/watched",
    "wire/batch",
)
"""Modules that every packet of a campaign passes through, and those that derive from them: an
interpreted class cannot derive from a compiled one."""

# What the types of other projects would need is not there, nor wanted: lint checks them.
_MYPY = ("--ignore-missing-imports", "--follow-imports=silent", "--no-warn-unused-ignores")


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel beside their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile. An editable install (version "editable") stays as it is."""
        if version != "standard":
            return
        from mypyc.build import mypycify
        from setuptools import Distribution
        from setuptools.command.build_ext import build_ext

        # Emptied when this process ends: the wheel is made of it after this returns.
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

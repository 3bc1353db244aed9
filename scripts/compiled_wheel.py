"""A build hook of hatch: compiles the inner loops of fuzzer and explorer with mypyc, in a wheel.

    HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 pip install .

Off by default: it needs a C compiler, Python's headers and a minute or two. The wheel is for this
machine. The sources and their behaviour are the same; only the speed differs (docs/fuzzing.md).
SCAPY_TFO_OPT=0 makes the compiler fast, and the result slow.
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
    "executor/coverage",
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
    "explore/conversation/connecting",
    "explore/conversation/deeds",
    "explore/conversation/doing",
    "explore/conversation/handshake",
    "explore/conversation/judge",
    "explore/conversation/met",
    "explore/conversation/owed",
    "explore/conversation/path",
    "explore/conversation/play",
    "explore/conversation/run",
    "explore/conversation/schedule",
    "explore/conversation/watching",
    "explore/conversation/world",
    "explore/conversation/wrong",
    "explore/ends/actor",
    "explore/ends/actors",
    "explore/ends/client",
    "explore/ends/context",
    "explore/ends/dressing",
    "explore/ends/opening",
    "explore/ends/steps",
    "explore/live/observed",
    "explore/live/play",
    "explore/live/setting",
    "oracle/arrives/acknowledgment",
    "oracle/arrives/arrival",
    "oracle/arrives/reset",
    "oracle/arrives/segment",
    "oracle/arrives/syn",
    "oracle/arrives/text",
    "oracle/conduct/acknowledgment",
    "oracle/conduct/conduct",
    "oracle/conduct/congestion",
    "oracle/conduct/ecn",
    "oracle/conduct/handshake",
    "oracle/conduct/header",
    "oracle/conduct/history",
    "oracle/conduct/oddities",
    "oracle/conduct/parts/came",
    "oracle/conduct/parts/challenge",
    "oracle/conduct/parts/conditions",
    "oracle/conduct/parts/facts",
    "oracle/conduct/parts/isns",
    "oracle/conduct/parts/oddity",
    "oracle/conduct/parts/peer_record",
    "oracle/conduct/parts/pieces",
    "oracle/conduct/parts/place",
    "oracle/conduct/parts/stamps",
    "oracle/conduct/reset",
    "oracle/conduct/rule",
    "oracle/conduct/sack",
    "oracle/conduct/stream",
    "oracle/conduct/timers",
    "oracle/conduct/timestamps",
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
"""Modules that every packet of a campaign or an exploration passes through, and modules that derive
from them: an interpreted class cannot derive from a compiled one. Those of the reference stay as
they are: stacks that are wrong on purpose derive from them, also in other repositories."""

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

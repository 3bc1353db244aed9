"""Packet-level conformance suite for TCP Fast Open (RFC 7413).

What is public is exported here, and loaded when it is first used: see docs/library.md for the
promise on it. `__init__.pyi` tells type checkers the same.
"""

import importlib as _importlib

__version__ = "0.1.0"

_PUBLIC = {
    "AesCookie": "cookie",
    "Broken": "option",
    "FastOpen": "option",
    "Flow": "suite.flow",
    "Form": "option",
    "KeyRing": "cookie",
    "Level": "spec",
    "MalformedPacketError": "segment",
    "OneTimeCookies": "cookie",
    "Options": "runner.runner",
    "Oracle": "oracle.oracle",
    "Peer": "suite.peer",
    "RESULTS_SCHEMA": "report.json_report:SCHEMA_FILE",
    "RawOption": "option",
    "Request": "runner.session",
    "Result": "suite.result",
    "Run": "suite.result",
    "Segment": "segment",
    "SetupError": "errors",
    "SipHashCookie": "cookie",
    "Stack": "reference.stack",
    "StackSettings": "reference.settings:Settings",
    "TargetError": "errors",
    "Verdict": "suite.result",
    "case": "suite.registry",
    "fast_open": "option",
    "find_fast_open": "option",
    "judge_option": "option:judge",
    "mutant": "mutants.registry",
    "read_run": "report.runs.reading",
    "run": "runner.session",
    "stimulus": "suite.registry",
    "variant": "variants.registry",
}
"""Where each name is defined, and by which name, if by another."""

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'scapy_tfo' has no attribute '{name}'")
    module, _, other = _PUBLIC[name].partition(":")
    found: object = getattr(_importlib.import_module(f"scapy_tfo.{module}"), other or name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})

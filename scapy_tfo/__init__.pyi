"""The public names, for type checkers."""

from scapy_tfo.cookie import AesCookie as AesCookie
from scapy_tfo.cookie import KeyRing as KeyRing
from scapy_tfo.cookie import OneTimeCookies as OneTimeCookies
from scapy_tfo.cookie import SipHashCookie as SipHashCookie
from scapy_tfo.errors import SetupError as SetupError
from scapy_tfo.errors import TargetError as TargetError
from scapy_tfo.mutants.registry import mutant as mutant
from scapy_tfo.option import Broken as Broken
from scapy_tfo.option import FastOpen as FastOpen
from scapy_tfo.option import Form as Form
from scapy_tfo.option import RawOption as RawOption
from scapy_tfo.option import fast_open as fast_open
from scapy_tfo.option import find_fast_open as find_fast_open
from scapy_tfo.option import judge as judge_option
from scapy_tfo.oracle.oracle import Oracle as Oracle
from scapy_tfo.reference.settings import Settings as StackSettings
from scapy_tfo.reference.stack import Stack as Stack
from scapy_tfo.report.json_report import SCHEMA_FILE as RESULTS_SCHEMA
from scapy_tfo.report.runs.reading import read_run as read_run
from scapy_tfo.runner.runner import Options as Options
from scapy_tfo.runner.session import Request as Request
from scapy_tfo.runner.session import run as run
from scapy_tfo.segment import MalformedPacketError as MalformedPacketError
from scapy_tfo.segment import Segment as Segment
from scapy_tfo.spec import Level as Level
from scapy_tfo.suite.flow import Flow as Flow
from scapy_tfo.suite.peer import Peer as Peer
from scapy_tfo.suite.registry import case as case
from scapy_tfo.suite.registry import stimulus as stimulus
from scapy_tfo.suite.result import Result as Result
from scapy_tfo.suite.result import Run as Run
from scapy_tfo.suite.result import Verdict as Verdict
from scapy_tfo.variants.registry import variant as variant

__all__ = [
    "RESULTS_SCHEMA",
    "AesCookie",
    "Broken",
    "FastOpen",
    "Flow",
    "Form",
    "KeyRing",
    "Level",
    "MalformedPacketError",
    "OneTimeCookies",
    "Options",
    "Oracle",
    "Peer",
    "RawOption",
    "Request",
    "Result",
    "Run",
    "Segment",
    "SetupError",
    "SipHashCookie",
    "Stack",
    "StackSettings",
    "TargetError",
    "Verdict",
    "case",
    "fast_open",
    "find_fast_open",
    "judge_option",
    "mutant",
    "read_run",
    "run",
    "stimulus",
    "variant",
]

__version__: str

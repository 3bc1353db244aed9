"""Files of a wrong shape are refused with a sentence, never with Python's words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.program.program import ProgramError, loads
from scapy_tfo.shape import fault_of, sentence

KNOWN = '[[known]]\ncase = "ACC-2.x"\nreason = "why"\n'
FINDING = {"requirement": "ACC-3", "state": "s", "reply": "r", "rule": "u", "reason": "y"}
PYTHON = re.compile(
    r"object|attribute|subscript|\('|Error|indices|argument|<class|__|\bdict\b|\bint\b"
)
"""What only programmers understand."""


def toml(**fields: str) -> str:
    return "[[known]]\n" + "".join(f"{name} = {json.dumps(it)}\n" for name, it in fields.items())


FIGURES = {
    **dict.fromkeys(("tool", "target", "system", "impairment"), "x"),
    **dict.fromkeys(("runs", "case_runs", "failed_runs", "retries", "contradictions"), 1),
    "verdicts": {"fail": 0, "inconclusive": 0},
    "seconds": 1,
    "flake_rate": [0, 0, 0],
    "troubles": [],
}
SOAK = "soak --from FILE"
TEST = "test sim:reference --only OPT-1 --known FILE"
FUZZ = "fuzz sim:reference --programs 1 --known FILE"
REPLAY = "fuzz replay FILE.json --target sim:reference"

WRONG = [
    (TEST, "[known]\ncase = 'x'\n", "its 'known' is a table, not a list of [[known]] tables"),
    (TEST, "known = [3]\n", "its known 1 is a number, not a table"),
    (TEST, "known = [\n", "it is not TOML: "),
    (TEST, "", "it has none"),
    (TEST, "[[known]]\ncase = 'x'\n", "known 1 has no 'reason'"),
    (TEST, KNOWN + "family = 5\n", "the 'family' of known 1 is not 4 or 6"),
    (
        TEST,
        "[[known]]\ncase = ['x']\nreason = 'y'\n",
        "the 'case' of known 1 is a list, not a text",
    ),
    (TEST, "\xff", "it is not text in UTF-8 (see byte 0)"),
    (FUZZ, "known = 'x'\n", "its 'known' is a text, not a list"),
    (FUZZ, toml(**FINDING), "known 1 has no 'program'"),
    (FUZZ, toml(**FINDING, program="[]"), "the 'program' of known 1 is none: it is a list"),
    (FUZZ, toml(**FINDING, program="{"), "the 'program' of known 1 is none: it is not JSON"),
    (SOAK, "[]", "it is a list, not a table"),
    (SOAK, "nonsense", "it is not JSON: "),
    (SOAK, json.dumps({**FIGURES, "runs": "many"}), "the 'runs' of it is a text, not a number"),
    (SOAK, json.dumps({**FIGURES, "verdicts": []}), "its 'verdicts' is a list, not a table"),
    (SOAK, json.dumps({**FIGURES, "verdicts": {}}), "its 'verdicts' has no 'fail'"),
    (SOAK, json.dumps({**FIGURES, "flake_rate": [1]}), "its 'flake_rate' is not three numbers"),
    (SOAK, json.dumps({"system": "x", "failed_runs": 1}), "it has no 'tool'"),
    (REPLAY, "[]", "it is a list, not a table"),
    (REPLAY, "7", "it is a number, not a table"),
    (REPLAY, '{"schema": 1}', "the field 'steps' is missing"),
    (REPLAY, '{"reduced": []}', "it is a list, not a table"),
]


@pytest.mark.parametrize(("line", "text", "says"), WRONG)
def test_the_command_says_what_is_wrong(
    line: str,
    text: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("FILE", "FILE.json"):
        (tmp_path / name).write_text(text, encoding="latin-1")
    assert main(line.split()) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert says in told
    assert not PYTHON.search(told)


@pytest.mark.parametrize(
    "text",
    [
        '{"schema": 1, "steps": 3, "flows": [], "end": "fin"}',
        '{"schema": 1, "steps": [3], "flows": [], "end": "fin"}',
        '{"schema": 1, "steps": [[]], "flows": [{}], "end": "fin"}',
        '{"schema": 1, "steps": [{"do": "send"}], "flows": [{}], "end": "fin"}',
        '{"schema": 1, "steps": [], "flows": [{"colour": 1}], "end": "fin"}',
        '{"schema": 1, "steps": [], "flows": ["x"], "end": "fin"}',
        '{"schema": 1, "steps": [{"do": []}], "flows": [{}], "end": "fin"}',
    ],
)
def test_a_program_of_the_wrong_shape(text: str) -> None:
    with pytest.raises(ProgramError) as raised:
        loads(text)
    assert not PYTHON.search(str(raised.value))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: {}["reason"], "the field 'reason' is missing"),
        (lambda: [].get, "a list stands where something else belongs"),
        (lambda: list("ab").__getitem__("x"), "a list stands where something else belongs"),
        (lambda: "x".__getitem__("y"), "a text stands where something else belongs"),
        (lambda: len(7), "a value is not of the kind that belongs there"),
        (lambda: json.loads("{"), "it is not JSON: "),
    ],
)
def test_errors_of_python_become_sentences(wrong: Callable[[], object], says: str) -> None:
    with pytest.raises((KeyError, AttributeError, TypeError, ValueError)) as raised:
        wrong()
    assert sentence(raised.value).startswith(says)


def test_a_table_of_the_right_shape_has_no_fault() -> None:
    assert fault_of(FIGURES, {"tool": str, "seconds": float, "verdicts": {"fail": int}}) == ""
    assert fault_of({"runs": True}, {"runs": int}) == (
        "the 'runs' of it is true or false, not a number"
    )

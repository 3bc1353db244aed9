"""Many scripts at a time, each in its own namespace, with nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.local import pool
from scapy_tfo.pkt.play.outcome import Failure, Outcome
from tests.pkt.locally import LISTEN, OPEN, PATIENCE, SOCKET, answers, soon, task

ROOT = Path(__file__).parents[2]


def test_scripts_do_not_disturb_each_other() -> None:
    other = OPEN.replace("mss 1460", "mss 1360")
    tasks = [task(OPEN if number % 2 else other, mtu=1500) for number in range(8)]
    tasks += [task(other, mtu=1400)]
    found = [len(each.failures) for each in answers(*tasks, jobs=9) if isinstance(each, Outcome)]
    assert found == [1, 0, 1, 0, 1, 0, 1, 0, 0]


def test_each_has_a_namespace_of_its_own() -> None:
    # A number of a namespace may come again, what is set in it may not.
    path = "/proc/sys/net/ipv4/tcp_fin_timeout"
    code = f"print(open('{path}').read().strip()); open('{path}', 'w').write('123')"
    tasks = [task(f"{SOCKET}+0 %{{ {code} }}%\n") for _ in range(4)]
    notes = [
        note for each in answers(*tasks, jobs=2) if isinstance(each, Outcome) for note in each.notes
    ]
    assert len(notes) == 4
    assert "line 2: 123" not in notes
    assert Path(path).read_text() != "123\n"


def test_one_that_is_not_in_the_language_spoils_no_other() -> None:
    bad, good = answers(task("0 close(\n"), task(OPEN), jobs=1)
    assert isinstance(bad, ScriptError)
    assert isinstance(good, Outcome)
    assert good.failures == []


def test_one_that_takes_too_long_is_ended() -> None:
    (answer,) = answers(task(SOCKET + "+0 `sleep 100`\n"), longest=0.5)
    assert isinstance(answer, Outcome)
    assert answer.failures == [Failure(line=0, problem="the script did not end within 0.5 s")]


def test_one_whose_process_is_killed_says_so() -> None:
    (answer,) = answers(task(SOCKET + "+0 `kill -9 $PPID`\n"))
    assert isinstance(answer, Outcome)
    assert [each.problem for each in answer.failures] == [
        "the process that ran the script ended without a word"
    ]


def test_a_mistake_of_ours_is_traced_and_ends_no_run(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    answers(task(""))

    def broken(*_arguments: object) -> Outcome:
        raise RuntimeError("a mistake")

    monkeypatch.setattr(pool, "run_script", broken)
    (answer,) = answers(task(OPEN))
    assert isinstance(answer, Outcome)
    assert len(answer.failures) == 1
    assert "RuntimeError: a mistake" in capfd.readouterr().err


def test_nothing_to_run() -> None:
    assert list(pool.run_all([], jobs=3)) == []
    assert pool.default_jobs() >= 1


def test_no_process_is_left_behind() -> None:
    before = children()
    answers(*[task(f"`sleep 302 &`\n{OPEN}") for _ in range(3)], jobs=2)
    assert children() == before
    run = pool.run_all([task(OPEN), task(SOCKET + "+0 `sleep 303`\n")], jobs=2)
    next(run)
    run.close()
    assert children() == before
    assert soon(lambda: not named("sleep", "302") + named("sleep", "303"))


# However the run ends.


RUN = """
import sys
from pathlib import Path
from scapy_tfo.cli import main
sys.exit(main(["pkt", "run", sys.argv[1], "--jobs", "2"]))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_however_a_run_ends_nothing_goes_on(how: signal.Signals, tmp_path: Path) -> None:
    answers(task(""))
    mark = str(310 + int(how))
    script = tmp_path / "hangs.pkt"
    script.write_text(
        LISTEN + f"+0 `sleep {mark} & readlink /proc/self/ns/net > {tmp_path}/name`\n"
        f"+0 `touch {tmp_path}/there; true; sleep {mark}; true`\n"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)},
        # What a shell starts in the background ignores it, and so would all below.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert soon((tmp_path / "there").exists)
    process.send_signal(how)
    said, _ = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in said
    if how is signal.SIGKILL:
        assert process.returncode == -how
    else:
        assert process.returncode == 130
        assert "interrupted" in said
        assert "nothing is left behind" in said
    assert soon(lambda: not named("sleep", mark))
    assert soon(lambda: not holders((tmp_path / "name").read_text().strip()))
    assert list(temporary.iterdir()) == []


def children() -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[1]) == os.getpid():
            found.add(int(stat.parent.name))
    return found


def named(*words: str) -> list[str]:
    """Live processes of this command line."""
    found = []
    wanted = b"\0".join(map(os.fsencode, words)) + b"\0"
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if line.read_bytes() == wanted:
                found.append(line.parent.name)
        except OSError:
            continue
    return found


def holders(namespace: str) -> list[str]:
    """Processes that live in a network namespace."""
    assert namespace.startswith("net:")
    found = []
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            if os.readlink(link) == namespace:
                found.append(link.parts[2])
        except OSError:
            continue
    return found


@pytest.mark.parametrize(("can_hurry", "failures"), [(True, 1), (False, 0)])
def test_one_that_was_disturbed_is_run_again(
    can_hurry: bool, failures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it may not hurry: here it fails whenever it is run for the first time."""
    monkeypatch.setattr(pool, "can_hurry", lambda: can_hurry)
    once = LISTEN + "+0 `test -e was-here || { touch was-here; false; }`\n"
    first, second = answers(task(once, tmp_path), task(LISTEN, tmp_path))
    assert isinstance(first, Outcome)
    assert isinstance(second, Outcome)
    assert (len(first.failures), second.failures) == (failures, [])

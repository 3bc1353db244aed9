"""Explorations on the wire: in memory for all, and at this kernel where that is allowed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.explore.campaign.known import load_known
from scapy_tfo.explore.conversation.judge import judged
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.schedule import DELAYED, LOST, Fault, Schedule, Wrong
from scapy_tfo.explore.explorer import Result
from scapy_tfo.explore.live.causes import cause_of
from scapy_tfo.explore.live.engine import Engine
from scapy_tfo.explore.live.explorer import LiveExplorer
from scapy_tfo.explore.live.opened import open_site
from scapy_tfo.explore.live.play import LivePlay
from scapy_tfo.explore.live.run import LiveRequest, explored_live
from scapy_tfo.explore.live.scan import lacks
from scapy_tfo.explore.live.site import Site
from scapy_tfo.explore.stages.plan import CLIENTS, SERVERS
from scapy_tfo.targets.reached import Reach


def opened(name: str) -> Iterator[Site]:
    try:
        site = open_site(Reach(target=name))
    except SetupError as error:
        pytest.skip(str(error))
    yield site
    site.close()


@pytest.fixture(scope="module")
def linux() -> Iterator[Site]:
    yield from opened("lab:linux")


@pytest.fixture(scope="module")
def reference() -> Iterator[Site]:
    yield from opened("lab:reference")


def rules(site: Site, *schedules: Schedule) -> dict[str, set[str]]:
    """What is wrong with schedules, by their texts; each is played again where something is."""
    explorer = LiveExplorer(site)
    found = {}
    for play in Engine(site).run(schedules):
        problems = judged(play.run)
        if problems:
            problems = explorer.problems_of(play.schedule)
        found[str(play.schedule)] = {each.rule for each in problems}
    return found


PLAYED = 200
"""Schedules after which a target goes."""

EVERY_PAIR = [Schedule("good", server, client) for server in SERVERS for client in CLIENTS[:5]]


@pytest.mark.parametrize("name", ["reference", "linux"])
def test_applications_get_what_they_should(name: str, request: pytest.FixtureRequest) -> None:
    found = rules(request.getfixturevalue(name), *EVERY_PAIR)
    assert len(found) == len(EVERY_PAIR)
    assert {text: wrong for text, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("name", ["reference", "linux"])
def test_what_says_nothing_is_skipped(name: str, request: pytest.FixtureRequest) -> None:
    contexts = [
        (("family", family), ("below", size)) for family in "46" for size in ("short", "long")
    ]
    some = [Schedule("good", context=each) for each in contexts]
    assert set().union(*rules(request.getfixturevalue(name), *some).values()) == set()


@pytest.mark.parametrize("name", ["reference", "linux"])
def test_what_befalls_a_packet_is_made_good(name: str, request: pytest.FixtureRequest) -> None:
    some = [
        Schedule("good", faults=(Fault(to_target, index, kind),))
        for to_target in (True, False)
        for index in (0, 1)
        for kind in (LOST, DELAYED)
    ]
    # The last acknowledgement is lost: the target's FIN comes again.
    some.append(Schedule("plain", "echo", "write-end:100", faults=(Fault(True, 4, LOST),)))
    assert set().union(*rules(request.getfixturevalue(name), *some).values()) == set()


def test_a_client_that_rests_takes_no_time_of_the_others(
    reference: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung = []
    on_timer = LivePlay.on_timer

    def counted(play: LivePlay, now: float) -> None:
        rung.append(now)
        on_timer(play, now)

    monkeypatch.setattr(LivePlay, "on_timer", counted)
    # It rests for three seconds, longer than nothing is waited for where nothing is wrong.
    (play,) = Engine(reference).run([Schedule("good", "echo", "write-rest:100")])
    assert play.run.client.received
    assert len(rung) < 50


@pytest.mark.parametrize("name", ["reference", "linux"])
def test_an_older_key_is_good(name: str, request: pytest.FixtureRequest) -> None:
    site = request.getfixturevalue(name)
    play = next(iter(Engine(site).run([Schedule("old-key")], keep=True)))
    assert judged(play.run) == []
    assert play.run.trace[0].to_target
    assert play.run.acked == 100


def test_a_duplicate_report_of_text_before_the_first_is_right(linux: Site) -> None:
    schedule = Schedule("good", wrong=Wrong("text-far-below", 5))
    assert rules(linux, schedule)[str(schedule)] == set()


@pytest.mark.parametrize("name", ["reference", "linux"])
@pytest.mark.parametrize("after", [2, 3, 4])
def test_packets_are_kept_in_the_order_in_which_they_left_and_came(
    name: str, after: int, request: pytest.FixtureRequest
) -> None:
    site = request.getfixturevalue(name)
    schedule = Schedule("good", client="write-end:100", wrong=Wrong("rst-before", after))
    (play,) = Engine(site).run([schedule], keep=True)
    kept = [(each.to_target, each.data) for each in play.run.trace]
    assert kept == [(each.outbound, each.data) for each in play.packets]
    assert [each.fate for each in play.run.trace].count("wrong") == 1


def test_linux_believes_a_reset_with_the_number_of_the_fin(linux: Site) -> None:
    # The fifth packet acknowledges the FIN; the application thinks for 300 ms before it writes.
    schedule = Schedule("good", "think:300", "write-end:100", wrong=Wrong("rst-before", 5))
    found = [each for play in Engine(linux).run([schedule] * 3) for each in judged(play.run)]
    assert "does-not-end, rst-before" in {cause_of(each, schedule) for each in found}


@pytest.fixture
def from_outside(linux: Site) -> Iterator[Site]:
    """Where nobody tells what the application got."""
    hooks, linux.hooks = linux.hooks, None
    yield linux
    linux.hooks = hooks


@pytest.mark.parametrize("kind", ["rst-exact", "syn-ack", "port-unreachable"])
def test_a_right_stack_without_hooks_is_not_blamed(from_outside: Site, kind: str) -> None:
    some = [Schedule(client="write-end:100", wrong=Wrong(kind, after)) for after in (2, 3, 4)]
    some.append(Schedule("plain", client="write-abort:100", faults=(Fault(True, 1, LOST),)))
    assert set().union(*rules(from_outside, *some).values()) == set()


def test_a_wrong_stack_is_found_on_the_wire(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["--for", "3s", "--out", str(out), "--json", str(tmp_path / "r.json")]
    assert main(["explore", "lab:accepts-any-cookie", *arguments]) == 1
    assert "refused-text-acknowledged" in capsys.readouterr().out
    path = out / "refused-text-acknowledged.json"
    assert main(["explore", "replay", str(path)]) == 1
    assert "client -> target" in capsys.readouterr().out
    assert main(["explore", "replay", str(path), "--target", "lab:reference"]) == 0


def children() -> set[int]:
    return {
        int(each)
        for task in Path("/proc/self/task").iterdir()
        for each in (task / "children").read_text().split()
    }


def test_what_was_found_is_kept_where_the_target_is_gone() -> None:
    before = children()

    def is_over(result: Result) -> bool:
        if result.total >= PLAYED:
            for each in children() - before:
                os.kill(each, signal.SIGKILL)
        return False

    try:
        result = explored_live(LiveRequest(Reach(target="lab:linux")), is_over)
    except SetupError as error:
        pytest.skip(str(error))
    assert result.total >= PLAYED
    assert not result.complete
    assert "agent ended" in result.gone


def test_what_a_target_cannot_show_leaves_the_model(reference: Site) -> None:
    assert lacks(reference, Schedule()) == ""
    assert "not ours" in lacks(reference, Schedule("of:31"))
    old, reference.old = reference.old, {}
    try:
        assert "keys" in lacks(reference, Schedule("old-key"))
    finally:
        reference.old = old


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["lab:nginx"], "needs an echo"),
        (["lab:linux", "--source", "192.0.2.9"], "brings its own"),
        (["lab:linux", "--jobs", "2"], "one process"),
        (["sim:reference", "--rate", "9"], "on the wire"),
        (["nowhere.invalid"], "no such host"),
    ],
)
def test_wrong_usage_is_told(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_the_known_findings_of_this_kernel_can_be_read() -> None:
    path = Path(__file__).parents[2] / "fuzz" / "explored-linux.toml"
    found = Path(__file__).parents[2] / "docs" / "found"
    for each in load_known(path):
        page = each.reason.rpartition("/")[2]
        assert (found / page).is_file()


def test_findings_of_one_cause_are_one() -> None:
    wrong = Schedule(wrong=Wrong("rst-before", 5))
    first, second = (Problem(rule, -1, "", "") for rule in ("client-failed", "server-failed"))
    assert cause_of(first, wrong) == cause_of(second, wrong) == "does-not-end, rst-before"
    assert cause_of(first, wrong) != cause_of(first, Schedule())
    assert cause_of(Problem("text-changed", -1, "", ""), wrong) == "text-changed, rst-before"
    assert cause_of(Problem("iss-on-a-line", -1, "", ""), wrong) == "iss-on-a-line"

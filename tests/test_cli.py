"""The command line: its exit statuses, its error messages, and what it writes."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from scapy_tfo import spec, tcp_rules
from scapy_tfo.cli import main, parser_of_all
from scapy_tfo.suite.registry import all_conversations, all_stimuli

ONE = ("--only", "ACC-2.syn-data-is-acknowledged")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs write into a directory of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on standard error."""
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("scapy-tfo: ")
    return line


def test_what_changed_between_two_runs(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, target in (("old", "reference"), ("new", "accepts-any-cookie")):
        main(["test", f"sim:{target}", "--only", "ACC-3", "--json", f"{name}.json", "--quiet"])
    capsys.readouterr()
    assert main(["diff", "old.json", "old.json"]) == 0
    assert main(["diff", "new.json", "old.json"]) == 0
    assert main(["diff", "old.json", "new.json", "--json", "d.json"]) == 1
    assert "NEW FAILURES" in capsys.readouterr().out
    assert json.loads((elsewhere / "d.json").read_text())["exit_status"] == 1
    assert main(["diff", "absent.json", "new.json"]) == 2
    assert "cannot read absent.json" in complaint(capsys)


def test_tap_on_standard_output_stands_there_alone(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ("--tap", "-", "--sarif", "r.sarif")
    assert main(["test", "sim:accepts-any-cookie", "--only", "ACC-3", *files]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "TAP version 14"
    assert all(line.startswith(("ok ", "not ok ", "# ", "1..", "TAP ")) for line in lines)
    found = json.loads((elsewhere / "r.sarif").read_text())["runs"][0]["results"]
    assert len(found) == sum(line.startswith("not ok ") for line in lines) > 0


def test_a_badge_is_drawn_of_a_file(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["test", "sim:reference", *ONE, "--json", "r.json", "--quiet"])
    capsys.readouterr()
    assert main(["badge", "r.json"]) == 0
    assert "2 of 2 passed" in capsys.readouterr().out
    assert main(["badge", "r.json", "--out", "b.svg"]) == 0
    assert (elsewhere / "b.svg").read_text().startswith("<svg")
    assert main(["badge", "r.json", "--out", "absent/b.svg"]) == 2


def test_the_cases_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json", "--only", "LIM-1"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert written["schema"] == 1
    (first, *_) = written["cases"]
    assert first["requirements"][0] == "LIM-1"
    assert set(first) >= {"id", "title", "level", "needs", "slow", "intrusive", "exclusive"}


def test_list_and_spec_take_what_test_takes(capsys: pytest.CaptureFixture[str]) -> None:
    every = [each.id for each in all_conversations()]
    assert main(["list", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["cases"]
    assert [each["id"] for each in written] == every
    assert {each["id"] for each in written if each["stimulus"]} == {
        each.id for each in all_stimuli()
    }
    stimulus = all_stimuli()[0].id
    for only in (stimulus, stimulus.partition(".")[0], "TCP"):
        assert main(["list", "--only", only]) == 0
        assert stimulus in capsys.readouterr().out
        assert main(["spec", "--only", f"{only},ACC-2.*"]) == 0
        shown = capsys.readouterr().out
        assert f"brought about by {stimulus}" in shown
        assert "ACC-2  step" in shown


@pytest.mark.parametrize(
    "line", ["test sim:", "test lab:", "soak sim:", "explore sim:", "fuzz sim:"]
)
@pytest.mark.usefixtures("elsewhere")
def test_a_client_is_no_target_and_the_error_says_what_judges_it(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(f"{line}client-row-1".split()) == 2
    assert "'scapy-tfo client sim:client-row-1'" in complaint(capsys)


def test_runs_beside_each_other(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("reference", "accepts-any-cookie"):
        main(["test", f"sim:{name}", "--only", "ACC-3", "--out", f"runs/{name}", "--quiet"])
    files = [f"runs/{name}/results.json" for name in ("reference", "accepts-any-cookie")]
    capsys.readouterr()
    assert main(["matrix", *files]) == 0
    text = capsys.readouterr().out
    assert "](./runs/accepts-any-cookie/report.html#ACC-3." in text
    assert main(["matrix", *files, "--differs", "--html", "runs/m.html"]) == 0
    page = (elsewhere / "runs" / "m.html").read_text()
    (link, *_) = re.findall(r'href="(\./accepts[^"#]*)#([^"]*)"', page)
    assert f'id="{link[1]}"' in (elsewhere / "runs" / link[0]).read_text()
    assert main(["matrix", *files, "--only", "ACC-33"]) == 2
    assert "matches no requirement" in complaint(capsys)


def test_a_run_writes_its_reports_and_names_their_directory_last(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", "sim:reference", *ONE, "--json", "r.json", "--junit", "r.xml"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    made = (elsewhere / "tfo-results").iterdir()
    (directory,) = [each for each in made if each.is_dir() and not each.is_symlink()]
    assert last.endswith(f"tfo-results/{directory.name}")
    assert (elsewhere / "tfo-results" / "latest").resolve() == directory
    assert {each.name for each in directory.iterdir()} >= {
        "results.json",
        "junit.xml",
        "report.txt",
        "capture.pcapng",
    }
    assert (elsewhere / "r.xml").exists()
    written = json.loads((elsewhere / "r.json").read_text())
    assert written["schema"] == 1
    assert [each["family"] for each in written["results"]] == [4, 6]
    for result in written["results"]:
        assert (result["case"], result["verdict"]) == (ONE[1], "pass")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["test"], "no target"),
        (["test", "nosuch.invalid"], "no such host"),
        (["test", "[::1"], "is not a target"),
        (["test", "127.0.0.1:99999"], "is not a target"),
        (["test", "lab:nothing"], "no such lab target"),
        (["test", "sim:nothing"], "no such stack"),
        (["test", "sim:reference", "--only", "XYZ-1"], "matches no case"),
        (["test", "sim:reference", "--exclude", "XYZ-1"], "matches no case"),
        (["test", "sim:reference", "--known", "absent.toml"], "cannot read"),
        (["test", "sim:reference", "--json", "absent/r.json"], "there is no directory"),
        (["test", "sim:reference", "--sysctl", "nonsense"], "NAME=VALUE"),
        (
            ["test", "sim:reference", "--sysctl", "net.ipv4.tcp_fastopen=1"],
            "--sysctl works only with lab: targets",
        ),
        (["test", "sim:reference", "--exclude", "*"], "no case is left"),
        (["test", "sim:reference", "--json", "."], "it is a directory"),
        (["test", "127.0.0.1", "--source", "nonsense"], "not an IP address"),
        (["test", "127.0.0.1", "--iface", "absent0"], "no such interface"),
        (["test", "absent.toml"], "cannot read the target file absent.toml: No such file"),
        (["fuzz", "absent.toml"], "cannot read the target file absent.toml: No such file"),
        (["fuzz", "absent.toml", "--iface", "lo"], "cannot be given for absent.toml"),
        (["test", "sim:reference", "--small-port", "9"], "brings its own"),
        (["test", "sim:reference", "--app-port", "echo=9"], "brings its own"),
        (["test", "sim:reference", "--impair", "rain=5%"], "is not an impairment"),
        (["test", "lab:linux", "--impair", "loss=5%"], "--impair works only with"),
        (["test", "127.0.0.1", "--seed", "7"], "--seed works only with"),
        (["soak"], "either a TARGET, or"),
        (["soak", "sim:reference", "--from", "kept.json"], "either a TARGET, or"),
        (["soak", "sim:nothing", "--runs", "1"], "no such stack"),
        (["soak", "127.0.0.1", "--impair", "loss=5%"], "--impair works only with"),
        (["soak", "sim:reference", "--only", "XYZ-1", "--runs", "1"], "matches no case"),
        (["soak", "sim:reference", "--json", "absent/s.json"], "there is no directory"),
        (["soak", "--from", "absent.json"], "cannot read"),
        (["client", "sim:reference", "--seed", "5"], "give --seed 5 --times 1"),
        (["client", "sim:reference", "--times=-1"], "no negative number"),
        (["list", "--only", "XYZ-1"], "matches no case"),
        (["spec", "--only", "XYZ-1"], "matches no requirement"),
        (["spec", "--rules", "--only", "ACC-2"], "matches no rule"),
        (["spec", "--rules", "--write", "/nowhere/rules.md"], "there is no directory /nowhere"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], elsewhere: Path
) -> None:
    assert main(arguments) == 2
    assert says in complaint(capsys)
    assert not list(elsewhere.iterdir())


def test_a_seed_repeats_a_run_on_an_impaired_path(elsewhere: Path) -> None:
    found = []
    for seed in ("5", "5", "6"):
        options = ["--impair", "loss=30%,jitter=5ms", "--seed", seed, "--json", "r.json"]
        assert main(["test", "sim:reference", *ONE, *options]) == 0
        found.append(json.loads((elsewhere / "r.json").read_text())["results"])
    first, again, other = ([each["flow"], each["seconds"]] for each, *_ in found)
    assert first == again != other


def test_figures_are_kept_and_put_into_a_document(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    soak = ["soak", "sim:reference", *ONE, "--runs", "2", "--jobs", "1", "--json"]
    assert main([*soak, "clean.json"]) == 0
    assert main([*soak, "lossy.json", "--impair", "loss=1%"]) == 0
    told = capsys.readouterr().out
    assert "sim:reference (loss=1%): 2 runs, 4 case-runs" in told
    assert "runs that fail  0: 0 % (95 % interval 0 % to 65.8 %)" in told
    document = elsewhere / "trust.md"
    document.write_text("Before.\n<!-- soak: begin -->\nold\n<!-- soak: end -->\nAfter.\n")
    arguments = ["soak", "--from", "clean.json", "lossy.json", "--markdown", "trust.md"]
    assert main(arguments) == 0
    once = document.read_text()
    assert main(arguments) == 0
    assert document.read_text() == once
    assert "old" not in once
    assert once.startswith("Before.\n<!-- soak: begin -->\n| target |")
    assert "| `sim:reference` | clean | 2 | 4 | 0 | 0 | 0 |" in once
    assert "**4 simulated runs, 8 case-runs: 0 FAIL in 0 runs**" in once
    assert once.endswith("<!-- soak: end -->\nAfter.\n")


def test_a_mutant_fails_a_soak(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["sim:data-is-not-acknowledged", *ONE, "--runs", "1"]
    assert main(["soak", *arguments]) == 1
    assert f"FAIL in 1 (seed 0) {ONE[1]} [ipv4]" in capsys.readouterr().out


def test_a_document_without_a_place_for_the_table_is_left_alone(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = elsewhere / "trust.md"
    document.write_text("No place.\n")
    arguments = ["sim:reference", *ONE, "--runs", "1", "--markdown", "trust.md"]
    assert main(["soak", *arguments]) == 2
    assert "it lacks the lines" in complaint(capsys)
    assert document.read_text() == "No place.\n"


def test_a_damaged_spec_is_one_line_and_status_2(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    specs = elsewhere / "specs"
    specs.mkdir()
    for group in spec.GROUPS:
        name = f"{group.lower()}.toml"
        (specs / name).write_bytes((spec.directory() / name).read_bytes())
    (specs / "acc.toml").write_text('title = "broken')
    monkeypatch.setenv(spec.ENVIRONMENT, str(specs))
    assert main(["test", "sim:reference"]) == 2
    assert "acc.toml" in complaint(capsys)


@pytest.mark.skipif(os.geteuid() != 0, reason="raw sockets need root")
def test_a_closed_port_is_status_3(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        assert main(["test", f"127.0.0.1:{port}"]) == 3
    assert "the port is closed" in complaint(capsys)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop a capability")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv (util-linux) is missing")
def test_a_missing_privilege_is_one_line_and_status_2() -> None:
    unprivileged = ["setpriv", "--bounding-set=-net_raw"]
    done = subprocess.run(
        [*unprivileged, sys.executable, "-m", "scapy_tfo.cli", "test", "127.0.0.1:9"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "CAP_NET_RAW" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_listing_touches_no_network_and_names_what_is_unchecked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_sockets(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_sockets)
    assert main(["list"]) == 0
    assert ONE[1] in capsys.readouterr().out
    assert main(["spec"]) == 0
    told = capsys.readouterr().out
    assert "Not checked by any case or script yet: " in told
    assert "PERF-1" in told.partition("Not checked by any case or script yet: ")[2]


def test_rules_of_tcp_are_listed_by_id_by_topic_and_by_pattern(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["spec", "--rules", "--only", "TCP-ACK-4"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("TCP-ACK-4  MUST  RFC 9293 section 3.8.6.3\n    An end acknowledges ")
    assert "- must within 0.5 s; any end in ESTABLISHED, FIN-WAIT-1, FIN-WAIT-2; " in told
    assert "; the oracle's no-ack, ack-late - allowed: " in " ".join(told.split())
    assert told.endswith(
        f"\n\n1 of {len(tcp_rules.load())} rules; the oracle judges 1 of them today\n"
    )
    assert main(["spec", "--rules", "--only", "isn", "--exclude", "TCP-ISN-[12]"]) == 0
    assert re.findall("^TCP-[A-Z]+-[0-9]+", capsys.readouterr().out, re.MULTILINE) == [
        "TCP-ISN-3",
        "TCP-ISN-4",
    ]


def test_rules_of_tcp_are_written_as_markdown(tmp_path: Path) -> None:
    assert main(["spec", "--rules", "--write", str(tmp_path / "rules.md")]) == 0
    assert (tmp_path / "rules.md").read_text().startswith("# Rules of plain TCP\n")


def test_sources_may_stand_before_the_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "--source", "127.0.0.1", "127.0.0.2", "nosuch.invalid"]) == 2
    assert "no such host: 'nosuch.invalid'" in complaint(capsys)


def test_each_command_is_found_by_its_name_alone(capsys: pytest.CaptureFixture[str]) -> None:
    (below,) = (each for each in parser_of_all()._actions if each.choices)
    names = list(below.choices or ())
    assert {"test", "pkt", "gain", "completion"} <= set(names)
    for name in names:
        with pytest.raises(SystemExit) as ended:
            main([name, "--help"])
        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith(f"usage: scapy-tfo {name} ")


def test_a_command_does_not_load_the_others() -> None:
    """They take longer to load than a script to run."""
    asked = (
        "import sys; from scapy_tfo.cli import main; main(['pkt', 'check', '/dev/null']);"
        "print(*(each for each in sys.modules if each.startswith('scapy_tfo.commands.')))"
    )
    found = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    loaded = [each for each in found.stdout.split() if each.startswith("scapy_tfo.")]
    assert "scapy_tfo.commands.pkt.group" in loaded
    others = ("fuzz", "gain", "explore", "captures", "results", "client", "lab")
    assert not [each for each in loaded if each.split(".")[2] in others]

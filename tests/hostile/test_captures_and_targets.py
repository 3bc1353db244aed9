"""Captures and targets, as an enemy would make them, under the laws of conftest.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.capture.writer import write_pcapng
from scapy_tfo.lab import apps
from scapy_tfo.report.diagram import draw
from scapy_tfo.suite.application import Echo, Http
from scapy_tfo.suite.result import CapturedPacket
from tests.hostile.outside import LONG, NASTY, acts, commands_of, quick
from tests.pkt.captures import Talk, fast_opens

Lawful = Callable[..., int]


@pytest.mark.parametrize("text", NASTY)
def test_comments_of_a_capture(text: str, lawful: Lawful, tmp_path: Path) -> None:
    forms = (
        "{}",
        "sent by {} [ipv4]",
        "sent by {} [ipv4]: {}",
        "sent by ACC-2.x [ipv4]: {}; FAIL: {}",
        "for ACC-2.x [ipv4]: before it, port 80 opened for {}: 1 pending, backlog 1",
    )
    Path("plain.pcapng").write_bytes(b"")
    for number, form in enumerate(forms):
        comment = form.replace("{}", text)
        packets = [each._replace(comment=comment) for talk in fast_opens() for each in talk.packets]
        write_pcapng(Path("c.pcapng"), packets, comment=text, interface=text)
        place = Path("out", str(number))
        place.mkdir()
        assert lawful("pkt", "export", "c.pcapng", "--output", str(place)) in (0, 2)
        for script in (tmp_path / place).iterdir():
            assert lawful("pkt", "check", str(script)) == 0
            shell = [str(each) for each in commands_of(script.read_text())]
            assert all("sysctl -q net.ipv4.tcp_fastopen=" in each for each in shell)
    lawful("pkt", "export", "c.pcapng", "--case", text)
    lawful("pkt", "export", "c.pcapng", "--flow", text)


def test_long_comments_of_a_capture(lawful: Lawful) -> None:
    comment = f"sent by ACC-2.x [ipv4]: {LONG[:65_000]}"
    packets = [each._replace(comment=comment) for each in fast_opens()[1].packets]
    write_pcapng(Path("c.pcapng"), packets)
    assert lawful("pkt", "export", "c.pcapng", "--output", "out") == 0


@pytest.fixture(scope="module")
def whole_capture(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "c.pcapng"
    packets = [each for talk in fast_opens() for each in talk.packets]
    write_pcapng(path, [each._replace(comment="sent by A.b [ipv4]: c") for each in packets])
    return path.read_bytes()


_DAMAGE = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6)


@quick
@given(damage=_DAMAGE, cut=st.floats(0, 1))
def test_damaged_captures(
    damage: list[tuple[float, int]], cut: float, whole_capture: bytes, lawful: Lawful
) -> None:
    data = bytearray(whole_capture)
    for place, value in damage:
        data[int(place * len(data))] = value
    Path("out/d.pcapng").write_bytes(data[: int(cut * len(data)) + 1])
    lawful("pkt", "export", "out/d.pcapng", "--output", "out")


@quick
@given(head=st.sampled_from([b"", b"\x0a\x0d\x0d\x0a", b"\xd4\xc3\xb2\xa1"]), rest=st.binary())
def test_what_is_no_capture(head: bytes, rest: bytes, lawful: Lawful) -> None:
    Path("out/d.pcapng").write_bytes(head + rest)
    lawful("pkt", "export", "out/d.pcapng", "--output", "out")


@quick
@given(options=st.binary(max_size=40), data=st.binary(max_size=64), flags=st.integers(0, 4095))
def test_option_bytes(options: bytes, data: bytes, flags: int, lawful: Lawful) -> None:
    options += bytes(-len(options) % 4)
    first, second = Talk(5000), Talk(5001)
    for talk in (first, second):
        talk.out(2, options=options)
        talk.back(18, 0, 1, options=options)
        talk.back(flags & 0x1FF, 1, 1, options=options, payload=data)
    captured = [
        CapturedPacket(number=number, when=0.0, outbound=each.outbound, data=each.data, comment="x")
        for number, each in enumerate(first.packets, 1)
    ]
    assert not acts(draw(captured, [1]))
    write_pcapng(Path("out/o.pcapng"), [*first.packets, *second.packets])
    lawful("pkt", "export", "out/o.pcapng", "--output", "out")


@pytest.mark.parametrize("text", NASTY[:8:2])
def test_answers_of_an_application(
    text: str, lawful: Lawful, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = text.encode(errors="replace")
    monkeypatch.setattr(apps.Echo, "read", lambda self, _data: self.transport.write(said))
    words = ["test", "sim:reference", "--only", "ACC-2", "-4", "--out", "out"]
    assert lawful(*words) in (1, 3)
    for name in ("report.txt", "report.html", "junit.xml", "results.json"):
        path = Path("out", name)
        assert not path.exists() or not acts(path.read_text())


@given(st.binary() | st.sampled_from([each.encode(errors="replace") for each in NASTY]))
def test_what_is_said_of_a_wrong_answer(answer: bytes) -> None:
    for app in (Echo(), Http("example.org")):
        for said in (answer, b"HTTP/1.1 200 \r\n\r\n" + answer):
            assert not acts(app.judge([app.request()], said) or "")

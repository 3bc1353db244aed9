"""Display of single frames: the Info column, roles, kinds; other frames stay as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from crafted import ANOTHER, COOKIE, DATA, Talk, write
from tshark import fields, needs_tshark, tshark

from scapy_tfo import option as opt

pytestmark = needs_tshark

HTTP = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
EXPERIMENTAL = opt.padded(
    opt.push_options([opt.fast_open(COOKIE, form=opt.Form.EXPERIMENT_2)]), opt.NOP
)


def info(capture: Path, *arguments: str) -> list[str]:
    """The column as it is printed: its field lacks, since 4.4, what post-dissectors write."""
    column = ("-o", 'gui.column.format:"Info","%i"')
    return tshark(capture, *column, *arguments).splitlines()


@pytest.fixture
def refused(tmp_path: Path) -> Path:
    talk = Talk()
    talk.syn(COOKIE, DATA)
    talk.syn_ack(0, ANOTHER)
    talk.data(DATA)
    talk.answer()
    return write(tmp_path / "refused.pcapng", [talk])


def test_a_few_words_before_what_wireshark_says(refused: Path) -> None:
    syn, syn_ack, data, answer = info(refused)
    assert "[SYN]" in syn
    assert syn.startswith("[TFO: cookie and 20 bytes] ")
    assert "[SYN, ACK]" in syn_ack
    assert syn_ack.startswith("[TFO: refused-cookie] ")
    assert data.startswith("[TFO: data of the SYN again] ")
    assert "TFO:" not in answer


def test_the_outcome_stands_on_the_syn_when_the_capture_was_read_before(refused: Path) -> None:
    assert info(refused, "-2")[0].startswith("[TFO: cookie and 20 bytes: refused-cookie] ")


def test_syn_is_kept_where_http_rides_on_it(tmp_path: Path) -> None:
    talk = Talk()
    talk.syn(COOKIE, HTTP)
    made = write(tmp_path / "http.pcapng", [talk])
    (said,) = info(made, "-d", "tcp.port==4433,http")
    assert said.startswith("[TFO: cookie and 30 bytes] [SYN] GET /")


def test_a_preference_keeps_it_silent(refused: Path) -> None:
    assert not any("TFO:" in each for each in info(refused, "-o", "tfo.info:FALSE"))


def test_the_fields_of_a_frame(refused: Path) -> None:
    names = ("tfo.role", "tfo.kind", "tfo.cookie", "tfo.cookie.length", "tfo.data.sent")
    rows = fields(refused, *names)
    assert rows[0] == ["use", "34", COOKIE.hex(), "8", "20"]
    assert rows[1] == ["grant", "34", ANOTHER.hex(), "8", "20"]


def test_the_experimental_form(tmp_path: Path) -> None:
    talk = Talk()
    talk.syn(data=DATA, options=EXPERIMENTAL)
    talk.syn_ack(len(DATA))
    capture = write(tmp_path / "experimental.pcapng", [talk])
    first = fields(capture, "tfo.role", "tfo.kind", "tfo.cookie", "tfo.cookie.length")[0]
    assert first == ["use", "254", COOKIE.hex(), "8"]
    assert fields(capture, "tfo.outcome")[-1] == ["accepted"]


def test_a_segment_that_an_icmp_error_quotes_was_not_sent(tmp_path: Path) -> None:
    talk = Talk()
    talk.syn(COOKIE, DATA)
    quoted = talk.packets[0].data[:68]
    head = bytearray(talk.packets[0].data[:20])
    total = 20 + 8 + len(quoted)
    head[2:4], head[9], head[12:20] = total.to_bytes(2, "big"), 1, head[16:20] + head[12:16]
    error = bytes(head) + bytes([3, 1, 0, 0, 0, 0, 0, 0]) + quoted
    talk.packets[0] = type(talk.packets[0])(talk.when, error, False)
    capture = write(tmp_path / "icmp.pcapng", [talk])
    assert fields(capture, "tfo.role") == [[""]]


@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one pass", "two passes"])
def test_frames_without_fast_open_are_shown_as_without_the_plugin(
    passes: tuple[str, ...], tmp_path: Path
) -> None:
    plain = Talk()
    plain.syn()
    plain.syn_ack()
    plain.data(HTTP)
    plain.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", len(HTTP))
    six = Talk(sport=41000, family=6)
    six.syn()
    six.reset()
    used = Talk(sport=42000)
    used.syn(COOKIE, DATA)
    used.syn_ack(len(DATA))
    capture = write(tmp_path / "some.pcapng", [plain, six, used])
    only = ("-Y", "tcp.port != 42000", *passes)
    for how in (("-V",), ("-T", "text")):
        assert tshark(capture, *only, *how) == tshark(capture, *only, *how, plugin=False)

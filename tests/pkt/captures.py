"""Makes captures for tests, and checks what holds for every script exported from one."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from scapy_tfo import option as opt
from scapy_tfo.capture.writer import write_pcapng
from scapy_tfo.cli import main
from scapy_tfo.pkt.checks.lint import refuse_nonsense
from scapy_tfo.pkt.checks.portable import refuse_additions
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.printing import show_script
from scapy_tfo.segment import ACK, PSH, RST, SYN, Segment

CLIENT, SERVER = ip_address("192.0.2.1"), ip_address("192.0.2.7")
MY_ISN, ITS_ISN = 1_000_000, 5_000_000
COOKIE = bytes.fromhex("a1a2a3a4a5a6a7a8")
MSS = opt.push_options([opt.mss(1460)])
REQUEST = opt.padded(opt.push_options([opt.mss(1460), opt.fast_open()]))
GRANT = opt.padded(opt.push_options([opt.mss(1460), opt.fast_open(COOKIE)]))


class Sent(NamedTuple):
    when: float
    outbound: bool
    data: bytes
    comment: str = ""


class Talk:
    """Both sides of a connection, as packets of a capture; numbers count from the ISNs."""

    def __init__(self, port: int = 5000, client: Any = CLIENT, server: Any = SERVER) -> None:
        self.ends = {
            True: {"src": client, "dst": server, "sport": port, "dport": 80},
            False: {"src": server, "dst": client, "sport": 80, "dport": port},
        }
        self.isns = {True: MY_ISN, False: ITS_ISN}
        self.packets: list[Sent] = []

    def _say(self, mine: bool, flags: int, seq: int, ack: int, when: float, **more: Any) -> Segment:
        segment = Segment(
            **self.ends[mine],
            flags=flags,
            seq=(self.isns[mine] + seq) % 2**32,
            ack=(self.isns[not mine] + ack) % 2**32 if flags & ACK else 0,
            **more,
        )
        self.packets.append(Sent(when, mine, segment.to_bytes()))
        return segment

    def out(self, flags: int, seq: int = 0, ack: int = 0, when: float = 0, **more: Any) -> Segment:
        return self._say(True, flags, seq, ack, when, **more)

    def back(self, flags: int, seq: int = 0, ack: int = 0, when: float = 0, **more: Any) -> Segment:
        return self._say(False, flags, seq, ack, when, **more)

    def shake_hands(self) -> None:
        self.out(SYN, options=MSS)
        self.back(SYN | ACK, 0, 1, options=MSS)
        self.out(ACK, 1, 1)


def exported(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """The events of the one script, having looked at the rules that hold for every script."""
    assert main(["pkt", "export", str(path), *options]) == 0
    text = capsys.readouterr().out
    script = parse(text)
    refuse_nonsense(script, text, "exported")
    assert show_script(script) == text
    if "--portable" in options:
        refuse_additions(script, text, "exported")
    return text


def events(text: str) -> list[str]:
    lines = text.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("     0 "))
    return [line.strip().removeprefix("+0 ") for line in lines[begin:]]


def saved(folder: Path, *talks: Talk) -> Path:
    packets = sorted((each for talk in talks for each in talk.packets), key=lambda each: each.when)
    write_pcapng(folder / "run.pcapng", packets)
    return folder / "run.pcapng"


def fast_opens() -> tuple[Talk, Talk]:
    first, second = Talk(5000), Talk(5001)
    first.out(SYN, options=REQUEST)
    first.back(SYN | ACK, 0, 1, options=GRANT)
    first.out(RST, 1)
    second.out(SYN, when=1, options=GRANT, payload=b"hello")
    second.back(SYN | ACK, 0, 6, 1, options=MSS)
    second.back(ACK | PSH, 1, 6, 1, payload=b"hi")
    second.out(ACK, 6, 3, 1)
    return first, second

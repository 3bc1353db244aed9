"""Agents that keep to the rules are asked; one that does not is asked nothing more."""

from __future__ import annotations

import asyncio
import socket

import pytest

from scapy_tfo.errors import TargetError
from scapy_tfo.lab.hooks import HooksBrokenError, ListenerOptions, NotOfferedError
from scapy_tfo.stacks import agent as agents
from scapy_tfo.stacks.agent import AgentHooks, connected


def conversation(answers, talk, *, within=30.0, **options):
    """`await talk(hooks)` with an agent that has these answers, one for each question, and then
    hangs up; None is silence. Returns the questions."""
    asked = []

    async def agent(reader, writer):
        for answer in answers:
            asked.append((await reader.readline()).decode().rstrip())
            if answer is None:
                await reader.read()
                break
            writer.write(answer)
        writer.close()

    async def whole():
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=theirs)
        playing = asyncio.create_task(agent(reader, writer))
        try:
            hooks = await AgentHooks.on(ours, within=within, **options)
            await talk(hooks)
            hooks.abort()
        finally:
            await playing

    asyncio.run(whole())
    return asked


def test_an_agent_with_all_verbs():
    async def talk(hooks):
        port = await hooks.listen(ListenerOptions("send:5", 4, (b"\x01" * 16, b"\x02" * 16), 8))
        assert port == 7001
        assert await hooks.sessions(port) == []
        assert await hooks.counters() == {"a": 1}
        await hooks.close_listener(port)
        await hooks.restart()
        await hooks.end()

    hello = b"ok 1 listen close sessions keys counters restart\n"
    answers = [hello, b"ok 7001\n", b"ok\n", b"ok\n", b"ok a=1\n", b"ok\n", b"ok\n"]
    assert conversation(answers, talk) == [
        "hello 1",
        "listen send:5 4 8",
        f"keys 7001 {'01' * 16},{'02' * 16}",
        "sessions 7001",
        "counters",
        "close 7001",
        "restart",
    ]


def test_ports_may_be_numbered_here_and_what_was_opened_is_closed():
    async def talk(hooks):
        for port in (20_000, 20_001):
            assert await hooks.listen(ListenerOptions()) == port
        await hooks.end()

    answers = [b"ok 1 listen close\n", b"ok 20000\n", b"ok 20001\n", b"ok\n", b"ok\n"]
    asked = conversation(answers, talk, first_port=20_000)
    assert asked[1:] == [
        "listen echo 256 16384 20000",
        "listen echo 256 16384 20001",
        "close 20000",
        "close 20001",
    ]


def test_cases_that_run_together_ask_for_ports_of_their_own():
    async def talk(hooks):
        await asyncio.gather(*(hooks.listen(ListenerOptions()) for _ in range(2)))

    answers = [b"ok 1 listen\n", b"ok 20000\n", b"ok 20001\n"]
    asked = conversation(answers, talk, first_port=20_000)
    assert asked[1:] == ["listen echo 256 16384 20000", "listen echo 256 16384 20001"]


def test_what_an_agent_lacks_is_not_asked_for():
    async def talk(hooks):
        with pytest.raises(NotOfferedError, match="'keys'"):
            await hooks.listen(ListenerOptions(keys=(b"\x01" * 16,)))
        for asking in (
            hooks.close_listener(7),
            hooks.sessions(7),
            hooks.set_keys(7, []),
            hooks.restart(),
        ):
            with pytest.raises(NotOfferedError):
                await asking
        assert await hooks.counters() == {}

    assert conversation([b"ok 1 listen\n"], talk) == ["hello 1"]


def test_no_and_error_leave_the_agent_usable():
    async def talk(hooks):
        with pytest.raises(NotOfferedError):
            await hooks.listen(ListenerOptions("http"))
        with pytest.raises(HooksBrokenError, match="EADDRINUSE"):
            await hooks.listen(ListenerOptions())
        assert await hooks.listen(ListenerOptions()) == 7
        assert not hooks.broken

    conversation([b"ok 1 listen\n", b"no http\n", b"error EADDRINUSE\n", b"ok 7\n"], talk)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"ok 70000\n", "without a port"),
        (b"garbage\n", "not ok, no or error"),
        (b"ok 7", "hung up"),
        (b"x" * 5000 + b"\n", "over 4096 bytes"),
        (b"x" * 50_000, "over 4096 bytes"),
        (b"", "hung up"),
    ],
)
def test_an_agent_that_breaks_the_rules_is_asked_nothing_more(monkeypatch, answer, why):
    monkeypatch.setattr(agents, "MAX_LINE", 4096)

    async def talk(hooks):
        for _ in range(2):
            with pytest.raises(HooksBrokenError, match=why):
                await hooks.listen(ListenerOptions())
        assert why in hooks.broken
        await hooks.end()

    assert len(conversation([b"ok 1 listen close\n", answer], talk)) == 2


def test_silence_is_bounded():
    async def talk(hooks):
        hooks._within = 0.01
        with pytest.raises(HooksBrokenError, match=r"no answer to 'listen' in 0\.01 s"):
            await hooks.listen(ListenerOptions())

    conversation([b"ok 1 listen\n", None], talk)


@pytest.mark.parametrize("hello", [b"ok 2 listen\n", b"no\n", b"HTTP/1.1 400 Bad Request\n", b""])
def test_who_is_no_agent_is_refused_at_once(hello):
    async def talk(hooks):
        raise AssertionError(f"{hooks} was taken for an agent")

    with pytest.raises(TargetError, match=r"^the hooks cannot be used: (?!the hooks)"):
        conversation([hello], talk)


def test_nobody_at_the_socket(tmp_path):
    with pytest.raises(TargetError, match=r"cannot connect to the hooks at .*hooks\.socket"):
        asyncio.run(connected(tmp_path / "ctl", 0.01))

"""Clients that a command starts, in a namespace whose packets all reach us."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.clients.application import MD5, Application, Dialogue, Ended, KernelWord
from scapy_tfo.clients.dialogue import Http, Raw, make_dialogue
from scapy_tfo.clients.environment import Place
from scapy_tfo.clients.launch import Started, Starter, output
from scapy_tfo.clients.relay.dialogue import Relayed
from scapy_tfo.clients.relay.upstream import Upstream
from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.segment import Address

HOST, PORT, FILE = "{host}", "{port}", "{file}"
_IN_URL = "://{host}"
_SENDER = Path(__file__).with_name("linux_client.py")
_THERE = '"$file"'
"""The file to send, on a host that is reached by ssh."""

_MOST_SAID = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """name: in reports. words: what to start; {host}, {port} and {file} are put in. plain: the
    same without fast open, None where that is not known. crowded: the same with TCP MD5 among its
    options, None likewise. dialogue: of dialogue.DIALOGUES, "" for what the words suggest. tells:
    its last words are TCP_INFO in hex. own: it is `linux_client.py`. at_once: it is
    known to have its text when it connects. relay: a real server
    that it speaks with, None for our own."""

    name: str
    words: tuple[str, ...]
    plain: tuple[str, ...] | None = None
    crowded: tuple[str, ...] | None = None
    dialogue: str = ""
    tells: bool = False
    own: bool = False
    at_once: bool = False
    relay: Upstream | None = None

    def __post_init__(self) -> None:
        joined = " ".join(self.words)
        missing = [each for each in (HOST, PORT) if each not in joined]
        if missing:
            raise SetupError(
                f"the command has no {' and no '.join(missing)}: write where the address and the "
                f"port go, as in  curl --tcp-fastopen http://{HOST}:{PORT}/"
            )
        if shutil.which(self.words[0]) is None:
            raise SetupError(
                f"there is no command {self.words[0]} on PATH: install it, or give its path"
            )

    def dialogue_or_guess(self) -> Dialogue:
        """What it speaks: the text it is given where there is a place for that, else HTTP."""
        if self.relay is not None:
            return Relayed(self.relay)
        takes_file = any(FILE in each for each in self.words)
        return make_dialogue(self.dialogue or (Raw.name if takes_file else Http.name))

    def filled(
        self, address: Address, port: int, file: str, *, ask: bool, crowded: bool
    ) -> list[str]:
        """The words for one run."""
        words = self.words if ask or self.plain is None else self.plain
        if crowded and self.crowded is not None:
            words = self.crowded
        host = str(address)
        quoted = f"[{host}]" if address.version == 6 else host
        return [
            each.replace(_IN_URL, f"://{quoted}")
            .replace(HOST, host)
            .replace(PORT, str(port))
            .replace(FILE, file)
            for each in words
        ]


def _sender(way: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(_SENDER), way, HOST, PORT, FILE)


def ready_made(name: str) -> Command:
    """`curl`, `python-msg` (MSG_FASTOPEN) or `python-connect` (TCP_FASTOPEN_CONNECT).

    Raises SetupError for another, and where there is no curl.
    """
    if name == "curl":
        # Without its configuration file, and whatever proxy the environment names.
        own = ("curl", "-q", "--noproxy", "*")
        url = ("-sS", "-g", "-H", "Expect:", "--data-binary", f"@{FILE}", f"http://{HOST}:{PORT}/")
        return Command(
            name=name,
            words=(*own, "--tcp-fastopen", *url),
            plain=(*own, *url),
            dialogue="post",
            at_once=True,
        )
    ways = {"python-msg": "msg", "python-connect": "connect"}
    if name not in ways:
        raise SetupError(
            f"no such client: '{name}'; there are curl, {', '.join(ways)}"
            + did_you_mean(name, ["curl", *ways])
        )
    way = ways[name]
    return Command(
        name=name,
        words=_sender(way),
        plain=_sender("plain"),
        crowded=_sender(f"{way}+md5"),
        tells=True,
        own=True,
        at_once=True,
    )


class Running:
    """One run of a command, with a file of its own."""

    def __init__(self, starter: Starter, started: Started, *, tells: bool) -> None:
        self._starter = starter
        self._started = started
        self._tells = tells

    async def ended(self) -> Ended:
        status = await asyncio.shield(self._started.ended)
        lines = output(self._started.err, last=True).decode(errors="replace").split("\n")
        said = [each.strip() for each in lines if each.strip()]
        word = None
        if self._tells and said and not status:
            word = KernelWord.read(bytes.fromhex(said.pop()))
        return Ended(status, output(self._started.out), "; ".join(said)[-_MOST_SAID:], word)

    def kill(self) -> None:
        self._starter.kill(self._started)


class CommandClient:
    """See Client. It owns the place."""

    def __init__(self, command: Command, place: Place) -> None:
        self.name = command.name
        self.dialogue = command.dialogue_or_guess()
        self.can_be_plain = command.plain is not None
        self.writes_at_once = command.at_once
        self.is_fresh = self.direct = place.is_fresh
        self.unchanged = True
        self.crowding = "" if command.crowded is None else MD5
        self._command = command
        self._place = place
        self.families = tuple(place.servers)
        self.link = place.link
        self._starter = Starter(place.enter)
        self._next = dict.fromkeys(self.families, 0)

    def server(self, family: int) -> Address:
        at, servers = self._next[family], self._place.servers[family]
        if at == len(servers):
            raise SetupError(
                f"the run has used all {at} server addresses: choose cases with --only, or give a "
                "larger network with --address"
            )
        self._next[family] += 1
        return servers[at]

    async def start(
        self, address: Address, port: int, text: bytes, *, ask: bool, crowded: bool = False
    ) -> Application:
        file = self._starter.file(text)
        words = self._command.filled(address, port, file, ask=ask, crowded=crowded)
        started = self._starter.start(words, own=self._command.own)
        return Running(self._starter, started, tells=self._command.tells)

    async def run(self, words: Sequence[str]) -> Ended:
        """Run another command where the client's runs, to its end."""
        return await Running(self._starter, self._starter.start(words), tells=False).ended()

    def counters(self) -> dict[str, int]:
        """What the client's kernel counted, by TcpExt names."""
        return self._place.counters()

    def close(self) -> None:
        self._starter.close()
        self._place.close()


def commands(
    words: Sequence[str],
    *,
    dialogue: str = "",
    ssh: str = "",
    plain: str = "",
    relay: Upstream | None = None,
) -> Command:
    """A user's command. ssh: the host on which it runs, as `USER@HOST`; "" for this one. plain:
    the same without fast open, as a shell would read it; "" where there is none. relay: see
    Command.

    Raises SetupError where it cannot be one.
    """
    if not words:
        raise SetupError("no command: give one after --, or a ready-made client such as lab:curl")
    name, there = " ".join(words), _by_ssh(words, ssh) if ssh else tuple(words)
    return Command(
        name=f"{ssh}: {name}" if ssh else name,
        words=there,
        plain=_plain(plain, ssh) if plain else None,
        dialogue=dialogue,
        relay=relay,
    )


def _plain(text: str, ssh: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise SetupError(f"--plain '{text}' is no command: {error}") from None
    Command(name=text, words=words or ("",))
    return _by_ssh(words, ssh) if ssh else words


def _by_ssh(words: Sequence[str], host: str) -> tuple[str, ...]:
    """The same words on another host; the file to send goes there by ssh's own input."""
    if host.startswith("-"):
        raise SetupError(f"--ssh '{host}' is not a host: write USER@HOST")
    if shutil.which("ssh") is None:
        raise SetupError("--ssh needs the command ssh, which is not on PATH: install it")
    start = f"ssh -T -o BatchMode=yes {shlex.quote(host)} "
    if not any(FILE in each for each in words):
        return ("sh", "-c", f"exec {start}-n {shlex.quote(shlex.join(words))}")
    command = " ".join(_THERE.join(map(_quoted, each.split(FILE))) for each in words)
    there = f'file=$(mktemp) && cat >"$file" && {command}; said=$?; rm -f "$file"; exit $said'
    return ("sh", "-c", f"exec {start}{shlex.quote(there)} <{FILE}")


def _quoted(text: str) -> str:
    return shlex.quote(text) if text else ""

"""The laws as cases, one for each situation of a kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from scapy_tfo.client_laws import onset, promptness
from scapy_tfo.clients.server import Server
from scapy_tfo.suite.registry import Case


def _case(identity: str, title: str, run: Callable[[Server], Awaitable[None]]) -> Case:
    return Case(
        id=identity.replace(" ", "-").replace(",", ""),
        title=title,
        requirements=(identity.partition(".")[0],),
        needs=frozenset(),
        slow=False,
        intrusive=False,
        exclusive=False,
        run=run,
    )


def _onset(name: str, start: onset.Step, number: int, *, is_back: bool) -> Case:
    async def run(server: Server) -> None:
        await (onset.heals if is_back else onset.stays)(server, start, number)

    end = "comes back" if is_back else "stays"
    return _case(
        f"CLI-6a.{name}, silence after {number} steps {end}",
        f"{name.capitalize()}; the path carries {number} steps of ours, then none; silence {end}.",
        run,
    )


def all_laws() -> tuple[Case, ...]:
    """Onset of silence after each number of steps, and promptness in each way to owe data."""
    silent = [
        _onset(name, start, number, is_back=is_back)
        for name, start in onset.STARTS.items()
        for number in range(onset.MOST + 1)
        for is_back in (True, False)
        if number or name == "all is taken"
    ]
    prompt = [
        _case(f"CLI-21a.owed, {name}", f"Data is owed: {name}. It comes before any timer.", run)
        for name, run in promptness.WAYS.items()
    ]
    return (*silent, *prompt)

"""The laws as cases, one for each situation of a kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from scapy_tfo.client_laws import carried, onset, promptness
from scapy_tfo.clients.server import Server
from scapy_tfo.suite.registry import Case


def _case(
    identity: str, title: str, run: Callable[[Server], Awaitable[None]], *, slow: bool = False
) -> Case:
    return Case(
        id=identity.replace(" ", "-").replace(",", ""),
        title=title,
        requirements=(identity.partition(".")[0],),
        slow=slow,
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


def _carried(way: str, *, is_back: bool, every: bool = False) -> Case:
    which, end = "every byte" if every else "so many bytes", "comes back" if is_back else "stays"
    return _case(
        f"CLI-6a.silence after {which} of {way} {end}",
        f"The path carries {which} of {way}, then nothing; it {end}.",
        carried.silence(way, is_back=is_back, every=every),
        slow=every,
    )


def all_laws() -> tuple[Case, ...]:
    """Onset of silence after so many steps or bytes, and promptness in each way to owe data."""
    silent = [
        _onset(name, start, number, is_back=is_back)
        for name, start in onset.STARTS.items()
        for number in range(onset.MOST + 1)
        for is_back in (True, False)
        if number or name == "all is taken"
    ]
    silent += [_carried(way, is_back=is_back) for way in carried.WAYS for is_back in (True, False)]
    silent.append(_carried(carried.SHORT, is_back=True, every=True))
    prompt = [
        _case(f"CLI-21a.owed, {name}", f"Data is owed: {name}. It comes before any timer.", run)
        for name, run in promptness.WAYS.items()
    ]
    return (*silent, *prompt)

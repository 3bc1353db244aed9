"""Errors that a user can act on: the message says what failed, why, and what to do."""

from __future__ import annotations

from collections.abc import Iterable

_ALIKE = 0.6


class SetupError(Exception):
    """The run cannot start: wrong usage, no permission, an absent tool, a damaged file.

    The command line prints the message as one line and exits with status 2.
    """


class TargetError(Exception):
    """The target cannot be judged: no control handshake succeeds.

    The command line prints the message as one line and exits with status 3.
    """


def none_of(wanted: int, what: str) -> KeyboardInterrupt:
    """What to raise where Ctrl-C came before the first of so many: `cases was judged`."""
    return KeyboardInterrupt(f"interrupted: none of {wanted} {what}; nothing is left behind")


def did_you_mean(name: str, known: Iterable[str], *, alike: float = _ALIKE) -> str:
    """`; did you mean 'lab:linux'?`, for the end of a message, or "" where no name is near.

    alike: how near a name has to be, from 0, anything, to 1, the same.
    """
    from difflib import get_close_matches

    # The dashes of options, which all have in common, make no two of them alike.
    names = {each.casefold().lstrip("-"): each for each in known}
    near = get_close_matches(name.casefold().lstrip("-"), names, n=1, cutoff=alike)
    return f"; did you mean '{names[near[0]]}'?" if near else ""

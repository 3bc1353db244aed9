"""Errors that a user can act on: what failed, why, and what to do."""

from __future__ import annotations


class SetupError(Exception):
    """The run cannot start: wrong usage, no permission, an absent tool, a damaged file.

    The command line prints the message as one line and exits with status 2.
    """


class TargetError(Exception):
    """The target cannot be judged: no control handshake succeeds.

    The command line prints the message as one line and exits with status 3.
    """

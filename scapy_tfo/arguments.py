"""Readers of arguments that several commands take; what they refuse argparse tells."""

from __future__ import annotations

import argparse


def limit(text: str) -> int:
    """A number from 0 on. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is no limit: give 0 or more")
    return int(text)


def port(text: str) -> int:
    """A port from 1 on. Raises ArgumentTypeError."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 0 < number < 65536:
        raise argparse.ArgumentTypeError(f"'{text}' is no port: give 1 to 65535")
    return number


def listed(text: str) -> list[str]:
    """`A,B`, one entry at least. Raises ArgumentTypeError."""
    parts = [part for part in text.split(",") if part]
    if not parts:
        raise argparse.ArgumentTypeError("no id given")
    return parts


def seconds(text: str) -> float:
    """A time above 0. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is no time: give seconds above 0")
    return value


def count(text: str) -> int:
    """A number from 1 on. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"'{text}' is no number: give 1 or more")
    return int(text)


def described(
    below: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    description: str,
) -> argparse.ArgumentParser:
    """A command whose description stands as it is written, and whose options are spelled out."""
    return below.add_parser(
        name,
        help=summary,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )

"""Takes what a user's repository adds: cases, mutants and variants, and the target to judge."""

from __future__ import annotations

import argparse
from pathlib import Path


def extend(chosen: argparse.Namespace) -> None:
    """Load what --cases, pyproject.toml here and installed packages name, before a command asks for
    cases; fill in what the command line leaves to pyproject.toml. Raises SetupError."""
    from scapy_tfo.extensions.loading import load_files, load_installed
    from scapy_tfo.extensions.settings import read_settings

    settings = read_settings(Path())
    load_installed()
    load_files([*settings.cases, *chosen.case_files])
    # Only `test` has both: it judges what the repository is about.
    if not (hasattr(chosen, "target") and hasattr(chosen, "known")) or chosen.target is not None:
        return
    if settings.target and len(chosen.source) < 2:
        chosen.target = settings.target
        chosen.known = chosen.known or settings.known
        chosen.app = chosen.app or settings.app or None

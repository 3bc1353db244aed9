"""Draws docs/run.svg: the terminal output of a run against this machine's kernel."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from scapy_tfo.report.text import print_summary
from scapy_tfo.runner.session import Request, run

FONT_FACES = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
"""Removed: they would be fetched from elsewhere, and the reader's own monospace font is enough."""


def main() -> None:
    console = Console(record=True, force_terminal=True, width=100, file=io.StringIO())
    console.print("$ scapy-tfo test lab:linux", highlight=False)
    print_summary(run(Request(target="lab:linux")), console)
    drawn = console.export_svg(title="scapy-tfo")
    place = Path(__file__).parent.parent / "docs" / "run.svg"
    place.write_text(FONT_FACES.sub("", drawn).replace("Fira Code", "ui-monospace"))


if __name__ == "__main__":
    main()

"""Runs the command line for `python -m scapy_tfo`."""

import sys

from scapy_tfo.cli import main

if __name__ == "__main__":
    sys.exit(main())

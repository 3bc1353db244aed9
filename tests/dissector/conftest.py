"""The ways to read a capture, which the tests with real kernels have, are for these tests, too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "lab"))

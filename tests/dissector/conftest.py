"""Makes the ways to read a capture, written for tests with real kernels, available here too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "lab"))

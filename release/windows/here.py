"""Run the Python tests with this Python, on Windows itself: what `make test-windows` runs under wine."""

from __future__ import annotations

import os
import subprocess
import sys

from release.targets import ROOT
from release.windows import suite


def main() -> int:
    """Run them; 1 when one fails."""
    files, _ = suite.test_files()
    command = [sys.executable, "-m", "pytest", *suite.OPTIONS, *files]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

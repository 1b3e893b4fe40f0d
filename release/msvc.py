"""The wheel for Windows, built on one by its own linker and completed as the others. ``python -m release.msvc``."""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path

from release.macos import built_and_checked
from release.targets import ROOT, WINDOWS

__all__ = ["main"]

#: The target by what `platform.machine` says.
MACHINES = {"AMD64": WINDOWS["windows-x86_64"], "ARM64": WINDOWS["windows-aarch64"]}


def main() -> int:
    """Build and check the wheel of this machine; 1 where it is no Windows, or something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m release.msvc", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder of what is built (dist/)")
    asked = parser.parse_args()
    if sys.platform != "win32":
        print("wheels for Windows are built on it; `make test-windows` builds one for tests by mingw", file=sys.stderr)
        return 1
    return built_and_checked(MACHINES[platform.machine()], asked.out)


if __name__ == "__main__":
    sys.exit(main())

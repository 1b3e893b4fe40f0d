"""The command line, behind the extra ``cli``."""

from __future__ import annotations

import sys

__all__ = ["main"]

_NEEDED = frozenset({"rich", "typer"})


def main() -> None:
    """Run the command line with the arguments of the process, and exit."""
    try:
        from septet.cli.app import run
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in _NEEDED:
            raise
        print("the command line needs the extra: pip install 'septet[cli]'", file=sys.stderr)
        sys.exit(2)
    sys.exit(run())
